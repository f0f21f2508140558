// A host-visible window with room for few blobs: calls that nobody awaits yet leave reply slots to those that are awaited, and a
// window that is full is not asked for more all the time.
//
// Usage: test-guest-short-window HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <algorithm>

#include "extension_run.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

// Carries nothing out while it is shut.
class ShutLibrary : public LibraryHost {
  public:
    using LibraryHost::LibraryHost;
    void on_command(const std::vector<uint8_t> &command) override {
        while (shut) std::this_thread::sleep_for(1ms);
        LibraryHost::on_command(command);
    }

    std::atomic<bool> shut{false};
};

constexpr int64_t count = 64;

// One data slot and so many reply slots.
DevicePlan window_of(size_t reply_slots) {
    DevicePlan plan;
    plan.window = data_page_size + reply_slots * blob_granularity;
    return plan;
}

// A thread that has nothing to wait for but itself would wait for a whole deadline.
void graphs_in_a_row(size_t reply_slots) {
    const std::string what = std::to_string(reply_slots) + " reply slots: ";
    RunOn<LibraryHost> run("all", "copied", window_of(reply_slots));
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, what + "the first time");
    const Clock::time_point start = Clock::now();
    for (float value : {2.0F, 3.0F, 4.0F}) {
        const std::vector<float> input(count, value);
        ggml_backend_tensor_set_async(run.backend.get(), doubled.input, input.data(), 0, count * 4);
        expect(ggml_backend_graph_compute_async(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, what + "one in a row");
        ggml_backend_tensor_get_async(run.backend.get(), doubled.output, numbers.data(), 0, count * 4);
    }
    ggml_backend_synchronize(run.backend.get());
    expect(Clock::now() - start < 1s, what + "they do not wait for each other");
    expect(numbers == std::vector<float>(count, 8.0F), what + "what the last one has computed");
}

// Threads with graphs ahead of what they wait for.
void graphs_of_several_threads() {
    RunOn<LibraryHost> run("all", "copied", window_of(3));
    const Clock::time_point start = Clock::now();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&run] {
            Backend own{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
            Doubled doubled(run.buft(), count);
            std::vector<float> numbers(count, 1.0F);
            for (int round = 0; round < 20; ++round) {
                ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
                for (int i = 0; i < 3; ++i)
                    expect(ggml_backend_graph_compute_async(own.get(), doubled.graph) == GGML_STATUS_SUCCESS, "a thread's graph");
                ggml_backend_tensor_get(doubled.output, numbers.data(), 0, count * 4);
                expect(numbers == std::vector<float>(count, 2.0F), "a thread's result");
                numbers.assign(count, 1.0F);
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    expect(Clock::now() - start < 2s, "threads do not wait for each other's slots");
}

// Small writes that do not fit into one command with the next call go before it, by the same slot.
void writes_before_a_long_call() {
    RunOn<LibraryHost> run("all", "copied", window_of(1));
    Doubled doubled(run.buft(), count);
    const std::vector<float> few(4, 1.0F);
    const Clock::time_point start = Clock::now();
    for (int writes = 1; writes < 9; ++writes) {
        for (int i = 0; i < writes; ++i) ggml_backend_tensor_set(doubled.input, few.data(), 0, 16);
        Context memory = context();
        ggml_tensor *numbers = ggml_new_tensor_3d(memory.get(), GGML_TYPE_F32, 8 * writes, 2, 3); // an op that was not asked for before
        ggml_tensor *bias = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 8 * writes, 4);
        ggml_tensor *ids = ggml_new_tensor_2d(memory.get(), GGML_TYPE_I32, 2, 3);
        ggml_backend_supports_op(run.backend.get(), ggml_add_id(memory.get(), numbers, bias, ids));
    }
    expect(Clock::now() - start < 1s, "a long call does not wait for its own slot");
    expect(run.host.calls()[static_cast<uint32_t>(Call::wide_supports_op)] > 0, "writes that do not fit in with the next call");
}

// Buffers that fill the window leave the slots that graphs go ahead with.
void slots_are_made_before_buffers() {
    RunOn<ShutLibrary> run("all", "auto", window_of(16));
    Doubled doubled(run.buft(), count);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    std::vector<Buffer> buffers;
    const size_t window = window_of(16).window;
    while (run.host.shared_bytes() < window && buffers.size() < 16) buffers.push_back(run.buffer(blob_granularity));
    expect(run.host.shared_bytes() == window, "the window is full");
    run.host.shut = true;
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < 3; ++i) ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
    expect(Clock::now() - start < 1s, "graphs go ahead");
    run.host.shut = false;
    ggml_backend_synchronize(run.backend.get());
}

// Does not answer the next command.
class SilentLibrary : public LibraryHost {
  public:
    using LibraryHost::LibraryHost;
    void on_command(const std::vector<uint8_t> &command) override {
        if (!silent.exchange(false)) LibraryHost::on_command(command);
    }

    std::atomic<bool> silent{false};
};

// Calls that were sent ahead leave one slot of each kind, and a call without a reply takes that one. The thread that would look at theirs waits for one.
void slots_of_answered_calls_are_had() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "300");
    for (const bool data : {false, true}) {
        DevicePlan plan = window_of(data ? 8 : 4);
        if (data) plan.window += data_page_size;
        RunOn<SilentLibrary> run("-batch,-pipes", "copied", plan);
        Doubled doubled(run.buft(), count);
        Doubled other(run.buft(), 2 * count);
        const std::vector<float> numbers(count, 1.0F);
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
        const std::atomic<size_t> &in_flight = run.registry->session().calls_in_flight();
        expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
        if (data) ggml_backend_tensor_set_async(run.backend.get(), doubled.input, numbers.data(), 0, count * 4);
        else for (int i = 0; i < 3; ++i) ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
        expect(in_flight == (data ? 1 : 3), "sent ahead: " + std::to_string(in_flight.load()));
        std::this_thread::sleep_for(200ms); // all are answered
        run.host.silent = true;
        CapturedLog log;
        std::vector<float> back(count);
        size_t free = 0;
        size_t total = 0;
        if (data) ggml_backend_tensor_get(doubled.output, back.data(), 0, count * 4);
        else ggml_backend_dev_memory(run.registry->device(), &free, &total);
        expect(log.has("no reply from the host in time"), "a call without a reply: " + log.text());
        const Clock::time_point start = Clock::now();
        if (!data) expect(ggml_backend_graph_compute(run.backend.get(), other.graph) == GGML_STATUS_SUCCESS, "another graph: " + log.text());
        ggml_backend_tensor_get(doubled.output, back.data(), 0, count * 4);
        expect(back == std::vector<float>(count, 2.0F) && Clock::now() - start < 1s, data ? "who waits gets a data slot" : "who waits gets a reply slot");
    }
}

// Graphs that were sent ahead have three of four slots, and another thread's call the fourth: a call has its time from their end on.
void slots_of_graphs_are_awaited() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "1000");
    RunOn<ShutLibrary> run("-batch,-pipes", "copied", window_of(4));
    Doubled doubled(run.buft(), count);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    run.host.shut = true;
    for (int i = 0; i < 3; ++i) ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
    expect(run.registry->session().calls_in_flight() == 3, "three graphs were sent ahead");
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([&] {
            size_t free = 0;
            size_t total = 0;
            ggml_backend_dev_memory(run.registry->device(), &free, &total);
            expect(total != 0, "a call behind graphs");
        });
    std::this_thread::sleep_for(2500ms);
    run.host.shut = false;
    for (std::thread &thread : threads) thread.join();
    ggml_backend_synchronize(run.backend.get());
}

// Counts blobs that there was no room for.
class CountingDevice : public FakeDevice {
  public:
    using FakeDevice::FakeDevice;
    Status create_blob(size_t size, Blob &blob) override {
        Status status = FakeDevice::create_blob(size, blob);
        if (!status.ok()) ++refused;
        return status;
    }

    static inline std::atomic<int> refused{0};
};

// Each attempt is an exit of the virtual machine and keeps others from the pool.
void a_full_window_is_not_asked_again() {
    Variable chosen("GGML_VIRTGPU_EXTENSIONS", "all");
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    LibraryHost host(libraries.host, libraries.ggml, "1");
    std::unique_ptr<Registry> registry = make_registry(std::make_unique<CountingDevice>(window_of(8), host));
    Context memory = context();
    constexpr int64_t bytes = int64_t{16} << 20;
    ggml_tensor *tensor = ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, bytes);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(memory.get(), ggml_backend_dev_buffer_type(registry->device())),
                  ggml_backend_buffer_free};
    std::vector<uint8_t> data(bytes, 1);
    for (bool in : {false, true}) {
        CountingDevice::refused = 0;
        const Clock::time_point start = Clock::now();
        if (in) ggml_backend_tensor_get(tensor, data.data(), 0, bytes);
        else ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
        const auto most = 1 + (Clock::now() - start) / 100ms;
        const int refused = CountingDevice::refused;
        expect(refused <= most, std::to_string(refused) + " times without room in one transfer");
    }
}

// Data slots of three quarters of a mebibyte: what one command would carry takes several.
void slots_smaller_than_a_transfer() {
    constexpr int64_t many = int64_t{1} << 20;
    DevicePlan plan;
    plan.window = (size_t{1} << 20) + 8 * blob_granularity;
    RunOn<LibraryHost> run("none", "copied", plan);
    Doubled doubled(run.buft(), many);
    std::vector<float> numbers(many);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 1000);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, numbers.size() * sizeof numbers[0]);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "a graph of what was written in pieces");
    for (float &number : numbers) number *= 2;
    std::vector<float> got(numbers.size());
    ggml_backend_tensor_get(doubled.output, got.data(), 0, got.size() * sizeof got[0]);
    expect(got == numbers, "what was written and read in pieces");
}

// Slots that were made while others had the window are no longer than before when there is room for more of them: only what fits one goes along with
// the next call in it, or is sent ahead.
void slots_that_stay_short() {
    Variable chosen("GGML_VIRTGPU_EXTENSIONS", "all");
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    LibraryHost host(libraries.host, libraries.ggml, "1");
    DevicePlan plan;
    plan.window = size_t{16} << 20;
    auto device = std::make_unique<FakeDevice>(plan, host);
    FakeDevice &window = *device;
    Blob others;
    expect(window.create_blob(plan.window - (size_t{512} << 10), others).ok(), "what others have");
    std::unique_ptr<Registry> registry = make_registry(std::move(device));
    window.close_blob(others);
    constexpr int64_t bytes = 900'000;
    Context memory = context();
    ggml_tensor *tensor = ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, bytes);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(memory.get(), ggml_backend_dev_buffer_type(registry->device())), ggml_backend_buffer_free};
    std::vector<uint8_t> data(bytes);
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i % 251);
    ggml_backend_tensor_set(tensor, data.data(), 0, data.size());
    std::vector<uint8_t> got(data.size());
    ggml_backend_tensor_get(tensor, got.data(), 0, got.size());
    expect(got == data, "what is longer than a slot");
    Backend backend{ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free};
    std::reverse(data.begin(), data.end());
    ggml_backend_tensor_set_async(backend.get(), tensor, data.data(), 0, data.size());
    ggml_backend_tensor_get_async(backend.get(), tensor, got.data(), 0, got.size());
    ggml_backend_synchronize(backend.get());
    expect(got == data, "in order with a stream's calls, too");

    // Of some 450 KiB.
    Context nodes = context();
    ggml_tensor *one = ggml_new_tensor_1d(nodes.get(), GGML_TYPE_F32, count);
    ggml_tensor *sum = one;
    for (int i = 0; i < 1500; ++i) sum = ggml_add(nodes.get(), sum, one);
    ggml_cgraph *graph = ggml_new_graph(nodes.get());
    ggml_build_forward_expand(graph, sum);
    Buffer numbers{ggml_backend_alloc_ctx_tensors_from_buft(nodes.get(), ggml_backend_dev_buffer_type(registry->device())), ggml_backend_buffer_free};
    std::vector<float> values(count, 1.0F);
    ggml_backend_tensor_set(one, values.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS, "a graph that is longer than a slot");
    ggml_backend_tensor_get(sum, values.data(), 0, count * 4);
    expect(values == std::vector<float>(count, 1501.0F), "is computed");
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    // Long enough to tell who waits for a deadline, and not endless.
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "3000");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "3000");
    for (size_t reply_slots : {1, 2, 3, 8}) graphs_in_a_row(reply_slots);
    graphs_of_several_threads();
    writes_before_a_long_call();
    slots_are_made_before_buffers();
    slots_of_answered_calls_are_had();
    slots_of_graphs_are_awaited();
    slots_smaller_than_a_transfer();
    slots_that_stay_short();
    a_full_window_is_not_asked_again();
    return failures();
}
