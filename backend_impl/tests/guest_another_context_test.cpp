// A lost context stays lost for what the program has of it. When that is freed, another one takes its place: the same devices, and
// nothing of the lost one in any call.
#include <atomic>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

constexpr auto worker_lost = static_cast<uint32_t>(ReturnCode::worker_lost);
constexpr auto past_a_pause = 1100ms; // the first one of the library's is a second

// A host that can be made to say that its worker has ended, in answer to one call.
struct MortalHost : ScriptedHost {
    // From when `dead` is set on.
    void dies_of(Call call, Handler alive) {
        script(call, [this, alive = std::move(alive)](Reader &request, Writer &reply) { return dead ? worker_lost : alive(request, reply); });
    }

    std::atomic<bool> dead{false};
};

// A registry on one host after the other.
struct Succession {
    explicit Succession(std::vector<ScriptedHost *> all, DevicePlan behaviour = {}) : hosts(std::move(all)), plan(std::move(behaviour)) {}

    // Of the next host.
    std::unique_ptr<Device> device() {
        expect(begun < hosts.size(), "more contexts than hosts");
        return std::make_unique<FakeDevice>(plan, *hosts.at(begun++));
    }

    size_t free_memory() {
        size_t free_bytes = 0;
        size_t total_bytes = 0;
        ggml_backend_dev_memory(bench.registry->device(), &free_bytes, &total_bytes);
        return free_bytes;
    }

    // By a graph, as a program notices it.
    void lose(Doubling &doubling) {
        hosts.front()->refuse(Call::backend_graph_compute, worker_lost);
        expect(doubling.compute() == GGML_STATUS_FAILED, "a graph of a dead worker");
    }
    void lose() { bench.registry->session().channel().lose("the test says so"); }

    const std::vector<ScriptedHost *> hosts;
    const DevicePlan plan;
    std::atomic<size_t> begun{0}; // contexts
    Bench bench{make_registry(device(), [this] { return device(); })};
};

// The host tells so much free memory.
void tells(ScriptedHost &host, uint64_t bytes) {
    host.script(Call::device_get_memory, [bytes](Reader &, Writer &writer) {
        write(writer, DeviceGetMemoryReply{bytes, 2 * bytes});
        return ScriptedHost::ok;
    });
}

void test_all_freed() {
    ScriptedHost first;
    ScriptedHost second;
    tells(second, 4711);
    Succession run({&first, &second});
    ggml_backend_dev_t device = run.bench.registry->device();
    const std::string name = ggml_backend_dev_name(device);
    CapturedLog log;
    {
        Doubling doubling(run.bench);
        run.lose(doubling);
        // As long as the program has something of it:
        expect(run.bench.buffer(64) == nullptr && run.free_memory() == 0 && run.begun == 1, "a lost device with a buffer and a stream");
        doubling.backend.reset();
        expect(run.bench.buffer(64) == nullptr && run.free_memory() == 0 && run.begun == 1, "with a buffer");
        doubling.buffer.reset();
        expect(run.begun == 1, "nobody has asked for anything");
    }
    expect(run.free_memory() == 4711 && run.begun == 2, "the memory of the other one: " + log.text());
    expect(log.has("the device is back"), "is told: " + log.text());
    expect(run.bench.registry->device() == device && name == ggml_backend_dev_name(device), "the device is the same for the program");
    expect(first.open_blobs() == 0, "nothing is left of the lost one");
    const size_t before = first.all().size();
    Doubling doubling(run.bench);
    expect(doubling.compute() == GGML_STATUS_SUCCESS, "a graph");
    expect(first.all().size() == before && second.sent(Call::backend_graph_compute).size() == 1, "goes to the other one");
    doubling.backend.reset();
    expect(run.bench.buffer(64) != nullptr && run.begun == 2, "which stays");
}

// A stream alone keeps a lost context, too.
void test_stream_left() {
    ScriptedHost first;
    ScriptedHost second;
    Succession run({&first, &second});
    Doubling doubling(run.bench);
    run.lose(doubling);
    doubling.buffer.reset();
    expect(run.bench.buffer(64) == nullptr && run.begun == 1, "a lost device with a stream");
    doubling.backend.reset();
    const Backend backend = run.bench.backend();
    expect(run.begun == 2, "a new stream is of another context");
    expect(run.bench.buffer(64) != nullptr, "which has buffers");
}

// Whoever asks first finds the loss, and is answered by the other one.
void test_found_by_the_call() {
    for (Call call : {Call::device_get_memory, Call::device_supports_op, Call::buffer_type_get_alloc_size, Call::buffer_type_alloc_buffer}) {
        ScriptedHost first;
        ScriptedHost second;
        tells(second, 4711);
        second.answer(Call::buffer_type_get_alloc_size, from_hex("4000000000000000"));
        Succession run({&first, &second});
        first.refuse(call, worker_lost);
        Context memory = context();
        ggml_tensor *weight = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 32);
        const std::string what = std::string("a loss that is found by ") + call_name(static_cast<uint32_t>(call));
        if (call == Call::device_get_memory) expect(run.free_memory() == 4711, what);
        else if (call == Call::device_supports_op) expect(ggml_backend_dev_supports_op(run.bench.registry->device(), ggml_sqr(memory.get(), weight)), what);
        else if (call == Call::buffer_type_get_alloc_size) expect(ggml_backend_buft_get_alloc_size(run.bench.buft(), weight) == 64, what);
        else expect(run.bench.buffer(64) != nullptr, what);
        expect(run.begun == 2 && second.sent(call).size() == 1, what + ": another context is asked");
    }
}

// A question that ends each worker is not asked of one after the other without an end. On a machine that stands still now and then less can be told.
void test_always_lost() {
    std::vector<ScriptedHost> hosts(8);
    std::vector<ScriptedHost *> in_order;
    for (ScriptedHost &host : hosts) {
        host.refuse(Call::buffer_type_alloc_buffer, worker_lost);
        in_order.push_back(&host);
    }
    Succession run(in_order);
    auto since = Clock::now();
    for (int i = 0; i < 100; ++i) expect(run.bench.buffer(64) == nullptr, "a buffer of a worker that dies of it");
    expect(run.begun == 2 || Clock::now() - since > 900ms, "one context more: " + std::to_string(run.begun));
    std::this_thread::sleep_for(past_a_pause);
    since = Clock::now();
    expect(run.bench.buffer(64) == nullptr && run.begun >= 3, "and another one after the pause");
    const size_t begun = run.begun;
    std::this_thread::sleep_for(past_a_pause);
    expect(run.bench.buffer(64) == nullptr, "and again");
    expect(run.begun == begun || Clock::now() - since > 1900ms, "the next one has to wait for longer");
}

// libggml aborts when it is told more for a tensor than it was for its buffer.
void test_alloc_sizes_stay() {
    ScriptedHost first;
    ScriptedHost second;
    first.answer(Call::buffer_type_get_alloc_size, from_hex("4000000000000000"));
    second.answer(Call::buffer_type_get_alloc_size, from_hex("4100000000000000"));
    Succession run({&first, &second});
    Context memory = context();
    ggml_tensor *weight = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 32);
    expect(ggml_backend_buft_get_alloc_size(run.bench.buft(), weight) == 64, "a size of the first");
    run.lose();
    expect(ggml_backend_buft_get_alloc_size(run.bench.buft(), weight) == 64 && run.begun == 2, "stands");
    expect(second.sent(Call::buffer_type_get_alloc_size).empty(), "and is not asked again");
    ggml_tensor *other = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 64);
    expect(ggml_backend_buft_get_alloc_size(run.bench.buft(), other) == 68, "others are: at least the tensor's bytes");
    expect(second.sent(Call::buffer_type_get_alloc_size).size() == 1, "of the second");
}

// The program knows the first one's name, alignment and the rest.
void test_another_device() {
    ScriptedHost first;
    ScriptedHost other;
    ScriptedHost third;
    other.script(Call::device_get_description, [](Reader &, Writer &writer) {
        write(writer, DeviceGetDescriptionReply{"something else"});
        return ScriptedHost::ok;
    });
    tells(other, 1);
    tells(third, 4711);
    Succession run({&first, &other, &third});
    CapturedLog log;
    run.lose();
    expect(run.free_memory() == 0 && run.begun == 2, "another device is not taken for the lost one");
    expect(log.has("does not come back: the host has another device now"), "is told: " + log.text());
    std::this_thread::sleep_for(past_a_pause);
    expect(run.free_memory() == 4711 && run.begun == 3, "later it is");
    expect(other.open_blobs() == 0, "what was not taken is closed");
}

// A host library that was replaced by a newer one is asked for no more than the first one had.
void test_host_with_more() {
    ScriptedHost first;
    ScriptedHost second;
    tells(second, 4711);
    second.script(Call::negotiate, [](Reader &request, Writer &writer) {
        NegotiateRequest offer;
        read(request, offer);
        write(writer, NegotiateReply{offer.offered & static_cast<uint64_t>(Extension::buffer_base)});
        return ScriptedHost::ok;
    });
    Succession run({&first, &second});
    CapturedLog log;
    run.lose();
    expect(run.free_memory() == 4711, "a host that has more: " + log.text());
    expect(run.bench.buffer(64) != nullptr && second.sent(Call::alloc_with_base).empty(), "serves as the first one did");
}

void test_host_that_refuses() {
    ScriptedHost first;
    ScriptedHost second;
    second.load_code = 4;
    Succession run({&first, &second});
    CapturedLog log;
    run.lose();
    expect(run.free_memory() == 0 && log.has("does not come back: the host library cannot be opened"), "is told: " + log.text());
}

// What a program held that was lost with calls that nobody answers, some of which may yet be answered.
void test_silent_host() {
    const Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    for (bool shared : {false, true}) {
        ScriptedHost first;
        ScriptedHost second;
        first.takes_pointers = second.takes_pointers = shared;
        tells(second, 4711);
        Succession run({&first, &second});
        std::vector<Buffer> buffers;
        for (int i = 0; i < 4; ++i) buffers.push_back(run.bench.buffer(64));
        first.silence(Call::buffer_free_buffer);
        first.silence(Call::device_get_memory);
        run.free_memory(); // from here on no freed buffer is kept
        CapturedLog log;
        buffers.clear();
        const std::string what = shared ? "shared: " : "copied: ";
        expect(log.has("leaves calls without a reply"), what + "lost by silence: " + log.text());
        expect(run.free_memory() == 4711 && run.begun == 2, what + "another context: " + log.text());
        expect(first.open_blobs() == 0, what + "blobs that the host may use are closed with their context");
        expect(run.bench.buffer(64) != nullptr, what + "a buffer");
    }
}

// Both contexts may not have room for their slots side by side.
void test_room() {
    ScriptedHost first;
    ScriptedHost second;
    tells(second, 4711);
    Succession run({&first, &second});
    {
        Doubling doubling(run.bench);
        run.lose(doubling);
    }
    const size_t before = first.open_blobs();
    size_t left = SIZE_MAX; // when the other one begins
    second.script(Call::device_get_count, [&](Reader &, Writer &writer) {
        left = first.open_blobs();
        write(writer, DeviceGetCountReply{1});
        return ScriptedHost::ok;
    });
    expect(run.free_memory() == 4711, "another context");
    expect(before > 1 && left == 0, "slots of the lost one are closed first: " + std::to_string(before) + ", then " + std::to_string(left));
}

// A call without a reply keeps the last reply slot, and nothing can make room for another one: no call could ever fail, so that is the device's end.
void test_no_reply_slot_left() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    ScriptedHost first;
    ScriptedHost second;
    tells(second, 4711);
    first.silence(Call::device_get_memory);
    DevicePlan plan;
    plan.window = data_page_size + blob_granularity;
    Succession run({&first, &second}, plan);
    CapturedLog log;
    {
        const Backend backend = run.bench.backend();
        run.bench.registry->session().data_slots().take(Clock::now()).retire(); // as a transfer without a reply does
        expect(run.free_memory() == 0 && !log.has("device lost"), "a call without a reply: " + log.text());
        expect(run.free_memory() == 0 && run.begun == 1, "a call without a reply slot");
        expect(log.has("device lost") && log.has("hostmem"), "is told: " + log.text());
    }
    expect(run.free_memory() == 4711 && run.begun == 2, "another context: " + log.text());
}

// Whoever holds a buffer may place tensors in it, as with a host that lives.
void test_sizes_while_held() {
    ScriptedHost first;
    ScriptedHost second;
    second.answer(Call::buffer_type_get_alloc_size, from_hex("4000000000000000"));
    Succession run({&first, &second});
    Context memory = context();
    ggml_tensor *weight = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 32);
    Buffer buffer = run.bench.buffer(4096);
    run.lose();
    expect(ggml_backend_buft_get_alloc_size(run.bench.buft(), weight) == 34, "the tensor's bytes");
    buffer.reset();
    expect(ggml_backend_buft_get_alloc_size(run.bench.buft(), weight) == 64 && run.begun == 2, "are not what the other one says");
}

// A thread is in a call to the lost context when another one takes its place: what it is at stays, and goes when it has ended.
void test_thread_in_a_call() {
    ScriptedHost first;
    ScriptedHost second;
    std::mutex gate;
    std::atomic<bool> there{false};
    first.script(Call::device_get_memory, [&](Reader &, Writer &writer) {
        there = true;
        const std::lock_guard wait(gate);
        write(writer, DeviceGetMemoryReply{1, 1});
        return ScriptedHost::ok;
    });
    Succession run({&first, &second});
    std::unique_lock closed(gate);
    std::thread asker([&] { run.free_memory(); });
    while (!there) std::this_thread::sleep_for(1ms);
    const auto since = Clock::now();
    run.lose();
    const Backend backend = run.bench.backend();
    expect(backend != nullptr && run.begun == 2, "another context");
    const bool is_there = first.open_blobs() != 0;
    expect(is_there || Clock::now() - since > 1500ms, "the lost one is there for who waits for its answer, which is not for long");
    closed.unlock();
    asker.join();
    expect(first.open_blobs() == 0, "and not any longer");
}

// Who takes a backend of a lost device for a sign of life would keep it lost.
void test_no_backend_of_a_lost_device() {
    ScriptedHost first;
    ScriptedHost second;
    Succession run({&first, &second});
    const Buffer held = run.bench.buffer(64);
    run.lose();
    CapturedLog log;
    expect(run.bench.backend() == nullptr && run.begun == 1, "a backend of a lost device");
    expect(log.has("init: the device is lost"), "is told: " + log.text());
}

// Threads ask all the while; the context goes under their feet, again and again.
void test_threads() {
    std::vector<MortalHost> hosts(4);
    Succession run({&hosts[0], &hosts[1], &hosts[2], &hosts[3]});
    for (MortalHost &host : hosts) {
        host.dies_of(Call::device_get_memory, [](Reader &, Writer &writer) {
            write(writer, DeviceGetMemoryReply{4711, 4711});
            return ScriptedHost::ok;
        });
    }
    std::atomic<bool> over{false};
    std::atomic<size_t> answered{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] {
            Context memory = context();
            ggml_tensor *op = ggml_sqr(memory.get(), ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 8 + i));
            while (!over) {
                if (run.free_memory() == 4711) ++answered;
                ggml_backend_dev_supports_op(run.bench.registry->device(), op);
                if (i == 0) run.bench.buffer(64 + answered % 4096); // freed at once
                if (i == 1) run.bench.backend();
            }
        });
    }
    for (size_t round = 2; round <= 3; ++round) {
        hosts[round - 2].dead = true;
        const auto until = Clock::now() + 60s;
        while (run.begun < round && Clock::now() < until) std::this_thread::sleep_for(1ms);
        const size_t before = answered;
        while (answered < before + 10 && Clock::now() < until) std::this_thread::sleep_for(1ms);
        expect(run.begun == round && answered >= before + 10, "another context, and answers: " + std::to_string(round));
    }
    over = true;
    for (std::thread &each : threads) each.join();
    run.bench.buffer(64);
    for (size_t i = 0; i < 2; ++i) expect(hosts[i].open_blobs() == 0, "what was lost is closed: " + std::to_string(i));
}

// A forked child's device is lost, but its parent's is not.
void test_fork() {
    ScriptedHost first;
    ScriptedHost second;
    Succession run({&first, &second});
    const pid_t child = fork();
    if (child == 0) _exit(run.free_memory() == 0 && run.bench.buffer(64) == nullptr && run.begun == 1 ? 0 : 1);
    int status = 0;
    expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child begins no context");
    expect(run.bench.buffer(64) != nullptr && run.begun == 1, "and its parent goes on");
}

} // namespace

int main() {
    test_all_freed();
    test_stream_left();
    test_found_by_the_call();
    test_always_lost();
    test_alloc_sizes_stay();
    test_another_device();
    test_host_with_more();
    test_host_that_refuses();
    test_silent_host();
    test_room();
    test_no_reply_slot_left();
    test_sizes_while_held();
    test_thread_in_a_call();
    test_no_backend_of_a_lost_device();
    test_threads();
    test_fork();
    return failures();
}
