// Several threads on one device: each call has its own slot, none waits for another's lock, records are not mixed up.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "guest_fake.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

constexpr int thread_count = 4;
constexpr int rounds = 300;

// Sets and gets of its own tensor, with bytes that only this thread uses.
void work(Registry &registry, int number) {
    ggml_init_params memory{size_t{1} << 16, nullptr, true};
    std::unique_ptr<ggml_context, decltype(&ggml_free)> context{ggml_init(memory), ggml_free};
    for (int round = 0; round < rounds; ++round) {
        size_t size = static_cast<size_t>(1 + (round * 37) % 500);
        ggml_backend_buffer_t buffer =
            ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(registry.device()), 1024);
        expect(buffer != nullptr, "no buffer");
        if (buffer == nullptr) return;
        ggml_tensor tensor = *ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, 512);
        ggml_backend_tensor_alloc(buffer, &tensor, ggml_backend_buffer_get_base(buffer));
        std::vector<uint8_t> in(size, static_cast<uint8_t>(number * 50 + round % 50));
        std::vector<uint8_t> out(size);
        ggml_backend_tensor_set(&tensor, in.data(), 0, size);
        ggml_backend_tensor_get(&tensor, out.data(), 0, size);
        expect(in == out, "bytes of another thread");
        ggml_backend_buffer_free(buffer);
        ggml_reset(context.get());
    }
}

void run_threads(Registry &registry) {
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i) threads.emplace_back([&registry, i] { work(registry, i); });
    for (std::thread &thread : threads) thread.join();
}

void test_data(bool takes_pointers) {
    ScriptedHost host;
    host.takes_pointers = takes_pointers;
    std::unique_ptr<Registry> registry = set_up(host);
    run_threads(*registry);
}

// With room for one data slot only, threads take turns.
void test_one_data_slot() {
    ScriptedHost host;
    DevicePlan plan;
    plan.window = data_page_size + size_t{8} * blob_granularity;
    std::unique_ptr<Registry> registry = set_up(host, plan);
    run_threads(*registry);
}

// How long somebody with that much time waited for a blob, which he gets.
Clock::duration wait_for_one(BlobPool &pool, Clock::duration patience) {
    const Clock::time_point start = Clock::now();
    expect(static_cast<bool>(pool.take(Deadline(start + patience))), "a blob that came back");
    return Clock::now() - start;
}

// A blob comes back when the time of one who waits for it is just up: the other one, who has time, gets it.
void test_a_blob_that_comes_back_late() {
    ScriptedHost host;
    FakeDevice device(DevicePlan{}, host);
    BlobPool pool(device, reply_page_size, reply_page_size, 1);
    Clock::duration longest{};
    for (int round = 0; round < 100 && longest < 500ms; ++round) {
        BlobPool::Lease held = pool.take(Deadline(Clock::now()));
        const Clock::time_point due = Clock::now() + 3ms;
        std::thread hasty([&] { pool.take(Deadline(due)); });
        std::this_thread::sleep_for(1ms);
        std::thread patient([&] { longest = std::max(longest, wait_for_one(pool, 2s)); });
        while (Clock::now() < due - (round % 10) * 5us) std::this_thread::yield();
        held = {};
        hasty.join();
        patient.join();
    }
    expect(longest < 500ms, "who has time waits although there is one");
}

// Not only when his time is up and he looks again.
void test_who_waits_is_told() {
    ScriptedHost host;
    FakeDevice device(DevicePlan{}, host);
    BlobPool pool(device, reply_page_size, reply_page_size, 1);
    BlobPool::Lease held = pool.take(Deadline(Clock::now()));
    Clock::duration waited{};
    std::thread waiter([&] { waited = wait_for_one(pool, 4s); });
    std::this_thread::sleep_for(100ms);
    held = {};
    waiter.join();
    expect(waited < 3s, "who waits is not told of a blob that came back");
}

// Has room for large blobs when there is some, or after 2 s.
class LargeLater : public FakeDevice {
  public:
    using FakeDevice::FakeDevice;
    Status create_blob(size_t size, Blob &blob) override {
        if (size > blob_granularity) asked = true;
        for (int i = 0; size > blob_granularity && i < 2000 && !room; ++i) std::this_thread::sleep_for(1ms);
        return FakeDevice::create_blob(size, blob);
    }

    std::atomic<bool> asked{false};
    std::atomic<bool> room{false};
};

// While one waits for room for a larger blob, those that there are go from hand to hand, and the room is not taken away.
void test_others_go_on_beside_a_larger_blob() {
    ScriptedHost host;
    LargeLater device(DevicePlan{}, host);
    BlobPool pool(device, reply_page_size, reply_page_size, 4);
    const auto taken = [&pool] { return pool.take(Deadline(Clock::now())); };
    BlobPool::Lease small = taken();
    BlobPool::Lease others[] = {taken(), taken()};
    BlobPool::Lease large;
    std::thread maker([&] { large = pool.sized(std::move(small), 2 * blob_granularity); });
    while (!device.asked) std::this_thread::yield();
    const Clock::time_point start = Clock::now();
    for (BlobPool::Lease &each : others) each = {};
    for (BlobPool::Lease &each : others) each = taken();
    expect(others[0] && others[1] && Clock::now() - start < 1s, "who gives blobs back and takes them waits for a larger one");
    expect(!taken(), "the room that is waited for is taken away");
    BlobPool::Lease more[2]; // the small one, and one that is made then
    std::vector<std::thread> waiters;
    for (BlobPool::Lease &each : more) waiters.emplace_back([&pool, &each] { each = pool.take(Deadline(Clock::now() + 8s)); });
    std::this_thread::sleep_for(100ms);
    device.room = true;
    maker.join();
    for (std::thread &waiter : waiters) waiter.join();
    expect(large && large->size >= 2 * blob_granularity, "a larger blob");
    expect(more[0] && more[1] && Clock::now() - start < 6s, "who waited for the end of that is not told of it");
}

// Blobs are retired until the window, which has room for no other, has none left that could come back: nobody waits for one.
void test_nobody_waits_for_retired_blobs(size_t blobs) {
    ScriptedHost host;
    DevicePlan plan;
    plan.window = blobs * blob_granularity;
    FakeDevice device(plan, host);
    BlobPool pool(device, reply_page_size, reply_page_size, 8);
    std::vector<BlobPool::Lease> held;
    for (size_t i = 0; i < blobs; ++i) held.push_back(pool.take(Deadline(Clock::now())));
    const Clock::time_point start = Clock::now();
    std::atomic<int> left{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i) {
        waiters.emplace_back([&] {
            expect(!pool.take(Deadline(start + 4s)), "a blob that was retired is lent again");
            ++left;
        });
    }
    std::this_thread::sleep_for(100ms);
    expect(left == 0, "who could get a blob does not wait for it");
    for (BlobPool::Lease &each : held) {
        each.retire();
        each = {};
    }
    for (std::thread &waiter : waiters) waiter.join();
    expect(Clock::now() - start < 1s, "of " + std::to_string(blobs) + " blobs the last one is retired, and somebody waits on");
}

// The window has room again: who looks for two blobs, and gets one of them at most, leaves the other to somebody who waits.
void test_blobs_made_beside_those_who_wait() {
    ScriptedHost host;
    for (size_t room : {1, 2}) {
        DevicePlan plan;
        plan.window = 3 * blob_granularity;
        FakeDevice device(plan, host);
        BlobPool pool(device, reply_page_size, reply_page_size, 8);
        BlobPool::Lease held = pool.take(Deadline(Clock::now()));
        Blob other;
        expect(device.create_blob(2 * blob_granularity, other).ok(), "what fills the window");
        Clock::duration waited{};
        std::thread waiter([&] { waited = wait_for_one(pool, 4s); });
        std::this_thread::sleep_for(200ms); // longer than a window counts as full
        device.close_blob(other);
        if (room == 1) expect(device.create_blob(blob_granularity, other).ok(), "what leaves room for one");
        BlobPool::Lease beside = pool.take_beside();
        expect(static_cast<bool>(beside) == (room == 2), "one that leaves another");
        waiter.join();
        expect(waited < 3s, "who waits is not told of a blob that was made, with room for " + std::to_string(room));
        if (room == 1) device.close_blob(other);
    }
}

// More threads than blobs, so that some are waited for and some lie at hand: none is lent twice, and none gets lost.
void test_blobs_go_from_hand_to_hand() {
    ScriptedHost host;
    FakeDevice device(DevicePlan{}, host);
    BlobPool pool(device, reply_page_size, reply_page_size, 2);
    std::atomic<bool> ended{false};
    auto use = [](const BlobPool::Lease &lease) {
        auto &user = *reinterpret_cast<std::atomic<uint32_t> *>(lease->memory);
        expect(user.exchange(1) == 0, "a blob that is lent twice");
        user.store(0);
    };
    auto take_beside = [&] {
        while (!ended) {
            if (BlobPool::Lease lease = pool.take_beside()) use(lease);
        }
    };
    auto take = [&] {
        for (int round = 0; round < 20000; ++round) {
            BlobPool::Lease lease = pool.take(Deadline(Clock::now() + 10s));
            if (!lease) return expect(false, "a blob that went from hand to hand");
            use(lease);
        }
    };
    std::thread beside(take_beside);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(take);
    for (std::thread &thread : threads) thread.join();
    ended = true;
    beside.join();
    expect(static_cast<bool>(pool.take_beside()), "both are there again");
}

// A call that the host does not answer must not hold up another thread's. No call is deferred here: of those, see guest_write_behind_test.cpp.
void test_no_lock_over_a_call() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "1500");
    ScriptedHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    host.silence(Call::device_get_memory);
    CapturedLog log;
    std::thread stuck([&] {
        size_t free_bytes = 0;
        size_t total_bytes = 0;
        ggml_backend_dev_memory(registry->device(), &free_bytes, &total_bytes);
    });
    while (host.sent(Call::device_get_memory).empty()) std::this_thread::yield();
    auto start = Clock::now();
    work(*registry, 1);
    expect(Clock::now() - start < 1200ms, "one thread's call waits for another's");
    stuck.join();
}

// The file has one whole record per command, each sequence number once.
void test_call_records() {
    std::string folder = std::filesystem::temp_directory_path() / ("guest-threads-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    size_t commands = 0;
    {
        Variable log_folder("GGML_VIRTGPU_CALL_LOG", folder.c_str());
        ScriptedHost host;
        std::unique_ptr<Registry> registry = set_up(host);
        run_threads(*registry);
        registry.reset(); // with the buffers that it keeps
        commands = host.all().size();
    }
    int files = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        ++files;
        std::ifstream file(entry.path(), std::ios::binary);
        CallLogHeader header;
        file.read(reinterpret_cast<char *>(&header), sizeof header);
        expect(std::memcmp(header.magic, "APIRCALL", 8) == 0 && header.session != 0, "call record header");
        expect(header.counted == commands && header.written == commands, "commands counted and written");
        std::vector<CallRecord> records(commands);
        file.read(reinterpret_cast<char *>(records.data()), static_cast<std::streamsize>(commands * sizeof(CallRecord)));
        for (size_t i = 0; i < commands; ++i) {
            const CallRecord &record = records[i];
            expect(record.seq == i && record.start_ns != 0 && record.duration_ns >= record.queue_ns, "a record's times");
            expect(record.status >= 0 && record.bytes_out >= 12 && record.bytes_in >= 4, "a record's status and bytes");
        }
        expect(records[0].type == 0 && records[1].type == 1 && records[2].call == 64, "handshake, load and negotiation");
    }
    expect(files == 1, "one call record file per context");
    std::filesystem::remove_all(folder);
}

} // namespace

int main() {
    // All that follows would wait for its slots for as long as a graph may take.
    test_who_waits_is_told();
    for (size_t blobs : {1, 2}) test_nobody_waits_for_retired_blobs(blobs);
    test_blobs_made_beside_those_who_wait();
    test_others_go_on_beside_a_larger_blob();
    if (failures() != 0) return failures();
    test_blobs_go_from_hand_to_hand();
    test_data(false);
    test_data(true);
    test_one_data_slot();
    test_a_blob_that_comes_back_late();
    test_no_lock_over_a_call();
    test_call_records();
    return failures();
}
