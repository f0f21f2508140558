// While memory is short: a refused allocation, whichever it is, fails a transfer at most, and somebody is told; and what ends ends.
//
// Usage: test-guest-memory HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>

#include "extension_run.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

thread_local bool spared = false;
std::atomic<int> asked{0}; // allocations since
std::atomic<int> first_refused{INT_MAX}, first_granted{INT_MAX};

void *allocated(size_t size) {
    const int number = spared ? -1 : asked++;
    if (number >= first_refused && number < first_granted) return nullptr;
    return std::malloc(size == 0 ? 1 : size);
}

// So many allocations are refused, from one on, and nothing is told, until it ends.
class Shortage {
  public:
    Shortage(int first, int times) : first_(first) {
        ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
        asked = 0, first_granted = first + times, first_refused = first;
    }
    ~Shortage() { end(); }
    Shortage(const Shortage &) = delete;
    Shortage &operator=(const Shortage &) = delete;

    // Whether any was refused.
    bool end() {
        first_refused = INT_MAX;
        ggml_log_set(nullptr, nullptr);
        return asked > first_;
    }

  private:
    const int first_;
};

constexpr int all_of_them = INT_MAX / 2;

// Guests' memory is short, not the host's.
class SparedLibrary : public LibraryHost {
  public:
    using LibraryHost::LibraryHost;
    void on_command(const std::vector<uint8_t> &command) override {
        spared = true;
        uint32_t words[3]; // type, call, reply resource
        std::memcpy(words, command.data(), sizeof words);
        if (refused != 0 && words[1] == refused) refuse(words[2]);
        else LibraryHost::on_command(command);
    }

    std::atomic<uint32_t> refused{0}; // a call, by its number

  private:
    void refuse(uint32_t resource) {
        const uint32_t code = 1 + static_cast<uint32_t>(ReturnCode::call_failed);
        static_cast<std::atomic<uint32_t> *>(memory(resource))->store(code, std::memory_order_release);
    }
};

constexpr int64_t bytes = int64_t{32} << 20; // from there on by two threads, where there is no pipe

// One more allocation may pass each time, until none is refused any more; so many are made at least.
void every_allocation(const char *extensions, int least, int times) {
    RunOn<SparedLibrary> run(extensions);
    Context memory = context();
    ggml_tensor *tensor = ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, bytes);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(memory.get(), run.buft()), ggml_backend_buffer_free};
    std::vector<uint8_t> data(bytes);
    std::vector<uint8_t> back(bytes);
    int passed = 0;
    for (bool refused = true; refused && passed < 1000; ++passed) {
        std::fill(data.begin(), data.end(), static_cast<uint8_t>(passed + 1));
        Shortage shortage(passed, times);
        if (passed % 2 == 0) ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
        else ggml_backend_tensor_get(tensor, back.data(), 0, bytes);
        refused = shortage.end();
        // With memory it is as if nothing had been.
        ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
        ggml_backend_tensor_get(tensor, back.data(), 0, bytes);
        expect(back == data, "a transfer after " + std::to_string(passed) + " allocations");
    }
    expect(passed > least && passed < 1000, std::string("allocations with extensions ") + extensions + ": " + std::to_string(passed));
}

// What goes ahead and fails is told with the next graph, and what could not be read is zeros.
void every_allocation_ahead(const char *extensions, int64_t count, bool in, int least, int times) {
    const std::string what = std::string(in ? "reading " : "writing ") + std::to_string(count) + " numbers with extensions " + extensions;
    RunOn<SparedLibrary> run(extensions);
    ggml_backend_t backend = run.backend.get();
    Doubled doubled(run.buft(), count);
    std::vector<float> data(count);
    std::vector<float> back(count);
    int passed = 0;
    for (bool refused = true; refused && passed < 1000; ++passed) {
        data.assign(count, static_cast<float>(passed + 1));
        back.assign(count, -1.0F);
        if (in) ggml_backend_tensor_set(doubled.input, data.data(), 0, count * 4);
        Shortage shortage(passed, times);
        if (in) ggml_backend_tensor_get_async(backend, doubled.input, back.data(), 0, count * 4);
        else ggml_backend_tensor_set_async(backend, doubled.input, data.data(), 0, count * 4);
        ggml_backend_synchronize(backend);
        refused = shortage.end();
        bool told = false;
        {
            CapturedLog log;
            told = ggml_backend_graph_compute(backend, doubled.graph) == GGML_STATUS_FAILED;
        }
        if (told) expect(ggml_backend_graph_compute(backend, doubled.graph) == GGML_STATUS_SUCCESS, what + ": told once");
        if (!in) ggml_backend_tensor_get(doubled.input, back.data(), 0, count * 4);
        const std::string after = what + ", after " + std::to_string(passed) + " allocations: ";
        expect(told || back == data, after + "nobody is told of what was not done");
        if (in) expect(back == data || back == std::vector<float>(count, 0.0F), after + "what was not read is not zeros");
        expect(run.registry->session().calls_in_flight() == 0, after + "calls in flight that nobody ends");
    }
    expect(passed > least && passed < 1000, what + ": " + std::to_string(passed) + " allocations");
}

// To say why a read failed takes memory, too.
void a_refused_read_without_memory() {
    constexpr int64_t count = 4096;
    RunOn<SparedLibrary> run("all");
    Doubled doubled(run.buft(), count);
    std::vector<float> back(count, -1.0F);
    run.host.refused = static_cast<uint32_t>(Call::buffer_get_tensor);
    ggml_backend_tensor_get_async(run.backend.get(), doubled.input, back.data(), 0, count * 4);
    Shortage shortage(0, all_of_them);
    ggml_backend_synchronize(run.backend.get());
    const bool refused = shortage.end();
    expect(refused, "a refused read takes no memory");
    expect(back == std::vector<float>(count, 0.0F), "what the host refused, without memory, is not zeros");
    CapturedLog log;
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "the next graph tells of a refused read");
}

// And to say why a graph did.
void a_refused_graph_without_memory() {
    constexpr int64_t count = 4096;
    RunOn<SparedLibrary> run("all");
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    run.host.refused = static_cast<uint32_t>(Call::graph_run);
    expect(ggml_backend_graph_compute_async(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "sent ahead");
    Shortage shortage(0, all_of_them);
    ggml_backend_synchronize(run.backend.get());
    const bool refused = shortage.end();
    expect(refused, "a refused graph takes no memory");
    CapturedLog log;
    ggml_backend_tensor_get(doubled.output, numbers.data(), 0, count * 4);
    expect(numbers == std::vector<float>(count, 0.0F), "what the host refused to compute, without memory, is not zeros");
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "the next graph tells of a refused one");
}

// A call that was not added is not counted as one in flight.
void calls_without_a_place() {
    std::atomic<size_t> all{0};
    InFlight calls(all);
    struct Well : CallAhead {
        bool answered() const override { return true; }
        bool end() override { return true; }
    };
    std::array<InFlight::Call, 1000> made;
    for (InFlight::Call &call : made) call = std::make_unique<Well>();
    int added = 0;
    Shortage shortage(0, all_of_them);
    try {
        for (; added < 1000; ++added) calls.add(std::move(made[static_cast<size_t>(added)]));
    } catch (const std::bad_alloc &) {
    }
    shortage.end();
    calls.await_all();
    expect(added < 1000 && all == 0, std::to_string(added) + " calls were added, and of those that ended " + std::to_string(all) + " are left");
}

// What is freed may be left over on the host then; the program goes on.
void every_allocation_of_an_end(const char *path, int times) {
    constexpr int64_t count = 4096;
    Variable pool("GGML_VIRTGPU_BUFFER_POOL_MIB", "0"); // to be freed on the host at once
    RunOn<SparedLibrary> run("all", path);
    std::vector<float> numbers(count, 1.0F);
    int passed = 0;
    for (bool refused = true; refused && passed < 1000; ++passed) {
        Backend own{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
        Doubled doubled(run.buft(), count);
        {
            CapturedLog log; // it may tell of what the stream before could not read
            ggml_backend_graph_compute(own.get(), doubled.graph);
        }
        for (int i = 0; i < 2; ++i)
            expect(ggml_backend_graph_compute(own.get(), doubled.graph) == GGML_STATUS_SUCCESS, "a graph after an end without memory");
        std::vector<Buffer> buffers;
        for (int i = 0; i < 24; ++i) buffers.push_back(run.buffer(count * 4)); // more than a deque takes at once
        run.host.refused = static_cast<uint32_t>(Call::buffer_get_tensor);
        for (int i = 0; i < 3; ++i) ggml_backend_tensor_get_async(own.get(), doubled.output, numbers.data(), 0, count * 4);
        Shortage shortage(passed, times);
        own.reset();
        doubled.buffer.reset();
        buffers.clear();
        refused = shortage.end();
        run.host.refused = 0;
        expect(run.registry->session().calls_in_flight() == 0, "calls of a stream that has ended without memory");
    }
    expect(passed > 2 && passed < 1000, std::string("allocations of an end, ") + path + ": " + std::to_string(passed));
}

// What the host has of a buffer that is not had here is freed there, and its blob is closed with the context at the latest.
void every_allocation_of_a_buffer(const char *extensions, const char *path) {
    Variable pool("GGML_VIRTGPU_BUFFER_POOL_MIB", "0"); // to be freed on the host at once
    RunOn<SparedLibrary> run(extensions, path);
    run.buffer(4096);
    int passed = 0;
    for (bool refused = true; refused && passed < 1000; ++passed) {
        Shortage shortage(passed, 1);
        const Buffer buffer = run.buffer(4096);
        refused = shortage.end();
    }
    const std::string what = std::string("buffers without memory, ") + path + " with extensions " + extensions + ": ";
    expect(passed > 2 && passed < 1000, what + std::to_string(passed) + " allocations");
    std::map<uint32_t, int> calls = run.host.calls();
    const auto times = [&](Call call) { return calls[static_cast<uint32_t>(call)]; };
    const int made = times(Call::device_buffer_from_ptr) + times(Call::alloc_with_base) + times(Call::buffer_type_alloc_buffer);
    expect(times(Call::buffer_free_buffer) == made, what + std::to_string(times(Call::buffer_free_buffer)) + " of " + std::to_string(made) + " are freed");
    run.backend.reset();
    run.registry.reset();
    expect(run.host.shared_bytes() == 0, what + std::to_string(run.host.shared_bytes()) + " bytes are left over");
}

} // namespace

#define APART __attribute__((noinline)) // the compiler takes malloc and delete for a mismatch

APART void *operator new(size_t size) {
    void *memory = allocated(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
APART void *operator new[](size_t size) { return operator new(size); }
APART void operator delete(void *memory) noexcept { std::free(memory); }
APART void operator delete[](void *memory) noexcept { std::free(memory); }
APART void operator delete(void *memory, size_t) noexcept { std::free(memory); }
APART void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    for (int times : {1, all_of_them}) {
        every_allocation("all", 1, times);
        every_allocation("-pipes", 8, times);
        for (bool in : {false, true}) {
            every_allocation_ahead("all", 4096, in, 4, times);
            every_allocation_ahead("-batch", 128, in, 4, times);
        }
        every_allocation_ahead("all", 128, false, 0, times); // goes along with the next call
        for (const char *path : {"copied", "shared"}) every_allocation_of_an_end(path, times);
    }
    for (const char *path : {"copied", "shared"}) every_allocation_of_a_buffer("all", path);
    every_allocation_of_a_buffer("-buffer_base", "copied");
    a_refused_read_without_memory();
    a_refused_graph_without_memory();
    calls_without_a_place();
    return failures();
}
