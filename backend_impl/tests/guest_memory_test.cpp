// Transfers while memory is short: a refused allocation, whichever it is, fails a transfer at most.
//
// Usage: test-guest-memory HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <atomic>
#include <climits>
#include <cstdlib>
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

// Guests' memory is short, not the host's.
class SparedLibrary : public LibraryHost {
  public:
    using LibraryHost::LibraryHost;
    void on_command(const std::vector<uint8_t> &command) override {
        spared = true;
        LibraryHost::on_command(command);
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
        ggml_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
        asked = 0, first_granted = passed + times, first_refused = passed;
        if (passed % 2 == 0) ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
        else ggml_backend_tensor_get(tensor, back.data(), 0, bytes);
        first_refused = INT_MAX;
        refused = asked > passed;
        ggml_log_set(nullptr, nullptr);
        // With memory it is as if nothing had been.
        ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
        ggml_backend_tensor_get(tensor, back.data(), 0, bytes);
        expect(back == data, "a transfer after " + std::to_string(passed) + " allocations");
    }
    expect(passed > least && passed < 1000, std::string("allocations with extensions ") + extensions + ": " + std::to_string(passed));
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
    if (count != 3) {
        std::fprintf(stderr, "usage: %s HOST_LIBRARY GGML_BACKEND_LIBRARY\n", arguments[0]);
        return 2;
    }
    use_libraries(arguments);
    for (int times : {1, INT_MAX / 2}) {
        every_allocation("all", 1, times);
        every_allocation("-pipes", 8, times);
    }
    return failures();
}
