// The whole stack without a virtual machine: what only shows between guest library, component, worker and host library.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <thread>

#include "call_log.hpp"
#include "guest_fake.hpp"
#include "host_expect.hpp"
#include "stack_device.hpp"

using namespace apir;
using namespace apir::test;

namespace {

using apir::guest::test::CapturedLog;
using apir::guest::test::Variable;
using Clock = std::chrono::steady_clock;
using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using Buffer = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using Backend = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;
using Event = std::unique_ptr<ggml_backend_event, decltype(&ggml_backend_event_free)>;

std::unique_ptr<guest::Registry> set_up() { return guest::make_registry(std::make_unique<StackDevice>()); }

// What is lost comes back, as in a program.
std::unique_ptr<guest::Registry> set_up_to_come_back() {
    auto device = [] { return std::make_unique<StackDevice>(); };
    return guest::make_registry(device(), device);
}

Backend backend_of(guest::Registry &registry, size_t device) {
    return {ggml_backend_dev_init(registry.device(device), nullptr), ggml_backend_free};
}

// rms_norm(a * b) + view(a) with a stride that needs 64 bits, or an ordinary one.
std::vector<float> compute(ggml_backend_t backend, size_t unused_stride) {
    Context context{ggml_init({size_t{1} << 20, nullptr, true}), ggml_free};
    ggml_tensor *a = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 4);
    ggml_tensor *b = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 4);
    ggml_tensor *view = ggml_view_4d(context.get(), a, 64, 4, 1, 1, 256, unused_stride, unused_stride, 0);
    ggml_tensor *result = ggml_add(context.get(), ggml_rms_norm(context.get(), ggml_mul(context.get(), a, b), 1e-6F), view);
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend), ggml_backend_buffer_free};
    if (buffer == nullptr) return {};
    std::vector<float> numbers(256);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
    ggml_backend_tensor_set(a, numbers.data(), 0, 1024);
    ggml_backend_tensor_set(b, numbers.data(), 0, 1024);
    if (!ggml_backend_supports_op(backend, result) || ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return {};
    ggml_backend_tensor_get(result, numbers.data(), 0, 1024);
    // Within the host, through a stride beyond 32 bits too.
    ggml_tensor *copy = ggml_dup_tensor(context.get(), view);
    std::memcpy(copy->nb, view->nb, sizeof copy->nb);
    auto *base = static_cast<char *>(ggml_backend_buffer_get_base(buffer.get()));
    ggml_backend_tensor_alloc(buffer.get(), copy, static_cast<char *>(b->data) - base + base);
    ggml_backend_tensor_copy(view, copy);
    std::vector<float> copied(256);
    ggml_backend_tensor_get(copy, copied.data(), 0, 1024);
    ggml_backend_tensor_set(view, copied.data(), 0, 1024);
    for (size_t i = 0; i < copied.size(); ++i)
        if (copied[i] != std::sin(static_cast<float>(i))) return {};
    return numbers;
}

constexpr size_t beyond_32_bits = size_t{3} << 33;

// Both devices, ordinary and wide: a conversation with every kind of call. VIRGL_APIR_TRACE, when set, records it.
void conversation() {
    StackHost host(TWO_DEVICES);
    Variable copied("GGML_VIRTGPU_DATA_PATH", "copied");
    std::unique_ptr<guest::Registry> registry = set_up();
    expect_equal(registry->devices.size(), size_t{2}, "devices");
    std::vector<float> first;
    for (size_t device = 0; device < registry->devices.size(); ++device) {
        Backend backend = backend_of(*registry, device);
        std::vector<float> ordinary = compute(backend.get(), 1024);
        if (first.empty()) first = ordinary;
        expect(!ordinary.empty() && ordinary == first, "the same bits on each device");
        expect(compute(backend.get(), beyond_32_bits) == first, "the same bits with strides beyond 32 bits");
    }
}

// Writes too long for a command of which two go along with others, by EXECBUFFER, and a read behind them.
void write_and_read(ggml_backend_t backend) {
    constexpr size_t piece = 8192;
    Context context{ggml_init({size_t{1} << 16, nullptr, true}), ggml_free};
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, 3 * piece);
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend), ggml_backend_buffer_free};
    std::vector<uint8_t> bytes(3 * piece);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i / 3 + i / piece);
    for (size_t at = 0; at < bytes.size(); at += piece) ggml_backend_tensor_set(tensor, bytes.data() + at, at, piece);
    std::vector<uint8_t> back(bytes.size());
    ggml_backend_tensor_get(tensor, back.data(), 0, back.size());
    expect(back == bytes, "what was written is read");
}

void writes_along() {
    StackHost host(TWO_DEVICES);
    Variable copied("GGML_VIRTGPU_DATA_PATH", "copied");
    Variable ring("GGML_VIRTGPU_RING", "off");
    std::unique_ptr<guest::Registry> registry = set_up();
    for (size_t device = 0; device < registry->devices.size(); ++device) write_and_read(backend_of(*registry, device).get());
}

// The same results bit for bit, whichever way commands go; from one thread and from four at once.
void ring_on_and_off() {
    StackHost host(GGML_CPU_LIBRARY);
    std::vector<float> first;
    for (const char *way : {"auto", "off"}) {
        Variable ring("GGML_VIRTGPU_RING", way);
        std::unique_ptr<guest::Registry> registry = set_up();
        expect(registry->session().has(Extension::ring) == (std::string(way) == "auto"), std::string("the way of commands: ") + way);
        auto one = [&] {
            Backend backend = backend_of(*registry, 0);
            return compute(backend.get(), 1024);
        };
        if (first.empty()) first = one();
        expect(!first.empty(), "a result");
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int round = 0; round < 20; ++round)
                    if (one() != first) return expect(false, "another result in one of four threads");
            });
        for (std::thread &thread : threads) thread.join();
    }
}

// There and back through data slots, in as many pieces as it takes: all bytes, and none beside them.
void transfers_of_all_sizes() {
    StackHost host(GGML_CPU_LIBRARY);
    Variable copied("GGML_VIRTGPU_DATA_PATH", "copied");
    constexpr size_t kib = 1024;
    constexpr size_t beside = 64;
    constexpr uint8_t untouched = 0xee;
    constexpr size_t most = 33 * 1024 * kib + 7;
    std::vector<uint8_t> pattern(most);
    for (size_t i = 0; i < most; ++i) pattern[i] = static_cast<uint8_t>(i * 167 + i / 251);
    const std::pair<const char *, const char *> ways[] = {{"auto", "all"}, {"off", "all"}, {"auto", "-pipes"}, {"off", "-pipes"}};
    for (const auto &[way, chosen] : ways) {
        Variable ring("GGML_VIRTGPU_RING", way);
        Variable extensions("GGML_VIRTGPU_EXTENSIONS", chosen);
        std::unique_ptr<guest::Registry> registry = set_up();
        expect(registry->session().has(Extension::pipes) == (std::string(chosen) == "all"), std::string("pipes with extensions ") + chosen);
        Backend backend = backend_of(*registry, 0);
        for (size_t size : {16 * kib - 1, 16 * kib + 1, 128 * kib - 1, 128 * kib, 128 * kib + 1, 256 * kib, 256 * kib + 1, 300 * kib, 513 * kib,
                            1024 * kib + 5, 2048 * kib + 4096, 4096 * kib + 3, most}) {
            Context context{ggml_init({size_t{1} << 16, nullptr, true}), ggml_free};
            ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, static_cast<int64_t>(size + 2 * beside));
            Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend.get()), ggml_backend_buffer_free};
            std::vector<uint8_t> expected(size + 2 * beside, untouched);
            ggml_backend_tensor_memset(tensor, untouched, 0, expected.size());
            std::copy_n(pattern.begin(), size, expected.begin() + beside);
            ggml_backend_tensor_set(tensor, expected.data() + beside, beside, size);
            std::vector<uint8_t> back(size + 2 * beside);
            ggml_backend_tensor_get(tensor, back.data(), 0, back.size());
            const std::string what = std::to_string(size) + " bytes, ring " + way + ", extensions " + chosen;
            expect(back == expected, what + ", written");
            std::vector<uint8_t> part(size + 2 * beside, untouched);
            ggml_backend_tensor_get(tensor, part.data() + beside, beside, size);
            expect(part == expected, what + ", read");
        }
    }
}

bool is_graph(const CallRecord &record) {
    const Call call = static_cast<Call>(record.call);
    return record.type == static_cast<uint32_t>(CommandType::forward) &&
           (call == Call::backend_graph_compute || call == Call::wide_graph_compute || call == Call::graph_keep || call == Call::graph_run ||
            call == Call::graph_patch);
}

// What the guest's record has of the host's own times (extension timing): both within the call, or nothing.
void expect_host_times(const CallRecord &record, bool timed) {
    const std::string call = "call " + std::to_string(record.call);
    const uint64_t host_ns = record.host_queue_ns + record.host_compute_ns;
    if (!timed) return expect_equal(host_ns, uint64_t{0}, "the host's time for " + call + " without the extension");
    if (is_graph(record)) expect(record.host_compute_ns > 0, "the host took time for " + call);
    expect(host_ns <= record.duration_ns, "the host's time for " + call + " is a part of the guest's: " + std::to_string(host_ns) + " of " +
                                              std::to_string(record.duration_ns));
}

// What both sides' record files tell of one context, by whichever way its commands went, with the host's own times and without.
void call_records() {
    const struct {
        const char *ring, *extensions;
    } ways[] = {{"auto", "all"}, {"off", "all"}, {"auto", "-timing"}};
    for (const auto &way : ways) {
        const std::string what = std::string("ring ") + way.ring + ", extensions " + way.extensions;
        const bool timed = way.extensions != std::string("-timing");
        char folder[] = "stack-test-XXXXXX";
        expect(mkdtemp(folder) != nullptr, "a folder");
        Variable copied("GGML_VIRTGPU_DATA_PATH", "copied");
        Variable ring("GGML_VIRTGPU_RING", way.ring);
        Variable extensions("GGML_VIRTGPU_EXTENSIONS", way.extensions);
        Variable guest_log("GGML_VIRTGPU_CALL_LOG", folder);
        Variable host_log("VIRGL_APIR_CALL_LOG", folder);
        {
            StackHost host(GGML_CPU_LIBRARY);
            std::unique_ptr<guest::Registry> registry = set_up();
            expect(registry->session().has(Extension::timing) == timed, what);
            Backend backend = backend_of(*registry, 0);
            for (int round = 0; round < 60; ++round) {
                compute(backend.get(), 1024);
                write_and_read(backend.get());
            }
        }
        uint64_t counted[2] = {0, 0};
        uint64_t bytes_out[2] = {0, 0};
        int64_t graphs = 0;
        for (const auto &entry : std::filesystem::directory_iterator(folder)) {
            std::ifstream file(entry.path(), std::ios::binary);
            CallLogHeader header{};
            file.read(reinterpret_cast<char *>(&header), sizeof header);
            counted[header.side & 1] = header.counted;
            expect_equal(header.written, header.counted, "records of side " + std::to_string(header.side));
            std::vector<CallRecord> records(header.written);
            file.read(reinterpret_cast<char *>(records.data()), static_cast<std::streamsize>(records.size() * sizeof(CallRecord)));
            for (const CallRecord &record : records) {
                bytes_out[header.side & 1] += record.bytes_out;
                expect(record.start_ns != 0 && record.status >= 0 && record.reply_resource != 0 && record.queue_ns < 1'000'000'000,
                       "a record of call " + std::to_string(record.call));
                if (header.side == static_cast<uint32_t>(CallSide::guest)) expect_host_times(record, timed);
            }
            if (header.side == static_cast<uint32_t>(CallSide::guest)) graphs += std::count_if(records.begin(), records.end(), is_graph);
        }
        std::filesystem::remove_all(folder);
        expect(counted[0] > 50, "calls are recorded");
        expect(graphs >= 60, "graphs are among them: " + std::to_string(graphs));
        expect_equal(counted[1], counted[0], "both sides count the same calls, " + what);
        expect_equal(bytes_out[1], bytes_out[0], "and the same bytes, " + what);
    }
}

// The graph's worker is killed from outside while it computes.
void worker_killed_in_a_graph() {
    StackHost host(GGML_CPU_LIBRARY);
    std::unique_ptr<guest::Registry> registry = set_up();
    expect(registry->session().has(Extension::liveness), "the component watches");
    Backend backend = backend_of(*registry, 0);
    Context context{ggml_init({size_t{4} << 20, nullptr, true}), ggml_free};
    ggml_tensor *a = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 2048, 2048);
    ggml_tensor *result = a;
    for (int i = 0; i < 400; ++i) result = ggml_mul_mat(context.get(), a, result);
    ggml_cgraph *graph = ggml_new_graph_custom(context.get(), 1024, false);
    ggml_build_forward_expand(graph, result);
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend.get()), ggml_backend_buffer_free};
    Clock::time_point killed;
    CapturedLog log;
    std::thread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        killed = Clock::now();
        for (int pid : worker_pids()) kill(pid, SIGKILL);
    });
    ggml_status status = ggml_backend_graph_compute(backend.get(), graph);
    auto noticed = Clock::now();
    killer.join();
    expect(status == GGML_STATUS_FAILED, "a graph whose worker was killed");
    expect(noticed >= killed && noticed - killed < std::chrono::seconds(1), "is noticed within a second");
    expect(log.has("the host's worker process has ended"), "and told");
    noticed = Clock::now();
    expect(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_FAILED, "a graph behind it");
    expect(Clock::now() - noticed < std::chrono::seconds(1), "fails at once");

    // The device is lost, not the host: a session that begins now has a worker and a ring of its own.
    std::unique_ptr<guest::Registry> next = set_up();
    expect(next->devices.size() == 1 && next->session().has(Extension::ring), "a new context with a ring: " + log.text());
    if (next->devices.size() == 0) return;
    expect(!compute(backend_of(*next, 0).get(), 1024).empty(), "and it computes");
    expect(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_FAILED, "which does not bring the lost one back");
}

// A program whose worker was killed frees what it has and goes on with the same device.
void worker_killed_and_back() {
    for (const char *way : {"auto", "off"}) {
        StackHost host(GGML_CPU_LIBRARY);
        Variable ring("GGML_VIRTGPU_RING", way);
        std::unique_ptr<guest::Registry> registry = set_up_to_come_back();
        const std::vector<float> right = compute(backend_of(*registry, 0).get(), 1024);
        const size_t blobs = StackDevice::open_blobs();
        const std::string what = std::string("ring ") + way + ": ";
        for (int pause_ms : {0, 1100}) { // before the second time there is one
            std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
            Backend backend = backend_of(*registry, 0);
            Event event{ggml_backend_event_new(registry->device()), ggml_backend_event_free};
            ggml_backend_event_record(event.get(), backend.get());
            for (int pid : worker_pids()) kill(pid, SIGKILL);
            CapturedLog log;
            expect(compute(backend.get(), 1024).empty(), what + "a graph whose worker was killed");
            expect(log.has("device lost: the host's worker process has ended"), what + "is told: " + log.text());
            expect(ggml_backend_alloc_buffer(backend.get(), 64) == nullptr, what + "as long as a stream is there, it stays lost");
            backend.reset();
            backend = backend_of(*registry, 0);
            expect(log.has("the device is back"), what + log.text());
            if (backend == nullptr) continue;
            expect(compute(backend.get(), 1024) == right, what + "and computes as before");
            ggml_backend_event_synchronize(event.get()); // of the stream that was lost
            ggml_backend_event_record(event.get(), backend.get());
            ggml_backend_event_synchronize(event.get());
        }
        expect(StackDevice::open_blobs() <= blobs + 2, what + "blobs are open as at first, or a slot more: " + std::to_string(StackDevice::open_blobs()));
    }
}

// A program that has nothing on the device when its worker dies never sees it: the ring says so.
void idle_worker_killed() {
    StackHost host(GGML_CPU_LIBRARY);
    std::unique_ptr<guest::Registry> registry = set_up_to_come_back();
    const std::vector<float> right = compute(backend_of(*registry, 0).get(), 1024);
    for (int pid : worker_pids()) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::seconds(2)); // the component notices
    Backend backend = backend_of(*registry, 0);
    expect(backend != nullptr && compute(backend.get(), 1024) == right, "the first graph after an idle worker's death");
}

// The worker is killed from outside in the middle of a transfer.
void worker_killed_in_a_transfer() {
    Variable copied("GGML_VIRTGPU_DATA_PATH", "copied");
    for (const char *way : {"auto", "off"}) {
        StackHost host(GGML_CPU_LIBRARY);
        Variable ring("GGML_VIRTGPU_RING", way);
        std::unique_ptr<guest::Registry> registry = set_up();
        expect(registry->session().has(Extension::pipes), "pipes");
        Backend backend = backend_of(*registry, 0);
        Context context{ggml_init({size_t{1} << 16, nullptr, true}), ggml_free};
        ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, int64_t{64} << 20);
        Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend.get()), ggml_backend_buffer_free};
        std::vector<uint8_t> bytes(size_t{64} << 20, 7);
        CapturedLog log;
        std::atomic<bool> over{false};
        Clock::time_point killed;
        std::thread killer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            killed = Clock::now();
            for (int pid : worker_pids()) kill(pid, SIGKILL);
            over = true;
        });
        bool set = false;
        while (!over || !registry->session().channel().lost()) {
            set = !set;
            if (set) ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
            else ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
        }
        const auto noticed = Clock::now();
        killer.join();
        expect(noticed - killed < std::chrono::seconds(2), std::string("is noticed soon, ring ") + way);
        expect(log.has("the host's worker process has ended"), "and told: " + log.text());
        std::fill(bytes.begin(), bytes.end(), 7);
        ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
        expect(bytes == std::vector<uint8_t>(bytes.size(), 0), "what cannot be read any more is zeros");
    }
}

// Seconds that a graph of so many products took; 0 when it failed.
double seconds_of(ggml_backend_t backend, int nodes) {
    Context context{ggml_init({size_t{32} << 20, nullptr, true}), ggml_free};
    ggml_tensor *a = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 128, 128);
    ggml_cgraph *graph = ggml_new_graph_custom(context.get(), static_cast<size_t>(nodes) + 16, false);
    ggml_tensor *result = a;
    for (int i = 0; i < nodes; ++i) result = ggml_mul_mat(context.get(), a, result);
    ggml_build_forward_expand(graph, result);
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend), ggml_backend_buffer_free};
    ggml_backend_buffer_clear(buffer.get(), 0);
    Clock::time_point start = Clock::now();
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return 0;
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Nodes that are done count: a graph that takes longer than the stall limit is computed.
void long_graph() {
    setenv("VIRGL_APIR_STALL_LIMIT_MS", "1500", 1);
    StackHost host(GGML_CPU_LIBRARY);
    std::unique_ptr<guest::Registry> registry = set_up();
    Backend backend = backend_of(*registry, 0);
    // As long as this machine needs for some seconds.
    int nodes = 100;
    double seconds = seconds_of(backend.get(), nodes);
    while (seconds > 0 && seconds < 2.0 && nodes < 50000) {
        nodes = std::min(50000, static_cast<int>(nodes * std::min(20.0, 3.0 / seconds)) + 1);
        seconds = seconds_of(backend.get(), nodes);
    }
    expect(seconds > 0, "a graph that got on was ended");
    expect(seconds > 1.6, "the graph was shorter than the limit");
}

std::string content(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A guest has a worker started, and lets it load its library only when another one has long done so: what that one had to say stays.
void log_of_a_late_library() {
    const std::string path = "stack-test-" + std::to_string(getpid()) + ".log";
    std::ofstream(path) << "of the QEMU before\n";
    Variable log("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str());
    StackHost host(GGML_CPU_LIBRARY);
    StackDevice late;
    guest::Blob page;
    expect(late.init_context(4).ok() && late.create_blob(reply_page_size, page).ok() && worker_pids().size() == 1, "a worker");
    expect(content(path).empty(), "with the first worker the log begins anew: " + content(path));
    set_up();
    const std::string before = content(path);
    expect(before.find("is ready") != std::string::npos, "another one's library: " + before);
    const CommandHeader load{static_cast<uint32_t>(CommandType::load_library) + venus_command_offset, 0, page.resource};
    std::vector<uint8_t> bytes(12);
    Writer writer(bytes.data(), bytes.size());
    write(writer, load);
    expect(late.submit(bytes.data(), bytes.size()).ok(), "LoadLibrary");
    const auto end = Clock::now() + std::chrono::seconds(20);
    const auto *code = reinterpret_cast<const uint32_t *>(page.memory);
    while (__atomic_load_n(code, __ATOMIC_ACQUIRE) == 0 && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect(content(path).rfind(before, 0) == 0 && content(path).size() > before.size(), "the log, of both: " + content(path));
    late.close_blob(page);
    unlink(path.c_str());
}

struct Footprint {
    long guest_kib, worker_kib;
    size_t blobs;
    uint32_t contexts;
};

Footprint footprint() {
    std::vector<int> workers = worker_pids();
    return {private_kib(getpid()), workers.empty() ? -1 : private_kib(workers[0]), StackDevice::open_blobs(), StackDevice::contexts()};
}

// Buffers of many sizes allocated, used and freed in one process: on the host, or into the pool, which is bounded.
void soak(const char *path, int rounds, const char *pool_mib) {
    StackHost host(GGML_CPU_LIBRARY);
    Variable pool("GGML_VIRTGPU_BUFFER_POOL_MIB", pool_mib);
    const size_t kept = pool_mib == std::string("0") ? 4 : 64;
    Variable data_path("GGML_VIRTGPU_DATA_PATH", path);
    std::unique_ptr<guest::Registry> registry = set_up();
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(registry->device());
    auto turn = [&](int count) {
        for (int i = 0; i < count; ++i) {
            Buffer buffer{ggml_backend_buft_alloc_buffer(type, 64 + static_cast<size_t>(i * 7919 % 50000)), ggml_backend_buffer_free};
            if (buffer == nullptr) return expect(false, "a buffer");
            if (i % 16 == 0) ggml_backend_buffer_clear(buffer.get(), 1);
        }
    };
    turn(rounds / 10);
    Footprint before = footprint();
    turn(rounds);
    Footprint after = footprint();
    std::printf("%s, %d buffers: guest side %ld -> %ld KiB, worker %ld -> %ld KiB, blobs %zu -> %zu\n", path, rounds, before.guest_kib,
                after.guest_kib, before.worker_kib, after.worker_kib, before.blobs, after.blobs);
    expect(after.blobs <= before.blobs + kept, "blobs are left");
#ifndef APIR_SANITIZED
    expect(after.guest_kib - before.guest_kib < 512, "the guest side grows");
    expect(after.worker_kib - before.worker_kib < 512, "the worker grows");
#endif
}

// Sanitizers keep what is freed: whether memory grows is not looked at with them.
#ifdef APIR_SANITIZED
constexpr int soak_rounds = 4000;
#else
constexpr int soak_rounds = 20000;
#endif

void soak_shared() {
    for (const char *pool : {"0", "64"}) soak("shared", soak_rounds, pool);
}
void soak_copied() {
    for (const char *pool : {"0", "64"}) soak("copied", soak_rounds, pool);
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"conversation", conversation},
                      {"writes_along", writes_along},
                      {"ring_on_and_off", ring_on_and_off},
                      {"transfers_of_all_sizes", transfers_of_all_sizes},
                      {"call_records", call_records},
                      {"worker_killed_in_a_graph", worker_killed_in_a_graph},
                      {"worker_killed_in_a_transfer", worker_killed_in_a_transfer},
                      {"worker_killed_and_back", worker_killed_and_back, true},
                      {"idle_worker_killed", idle_worker_killed, true},
                      {"long_graph", long_graph},
                      {"log_of_a_late_library", log_of_a_late_library},
                      {"soak_shared", soak_shared},
                      {"soak_copied", soak_copied}},
                     count > 1 ? values[1] : nullptr);
}
