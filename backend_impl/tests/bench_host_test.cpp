// The benchmark's host library: what it copies is all there, it tells how long that took, and a request that cannot be carried out is refused.
//
// Usage: test-bench-host LIBRARY
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "bench/clock.hpp"
#include "bench/echo_call.hpp"
#include "host_abi.hpp"
#include "host_expect.hpp"

using namespace apir;
using namespace apir::bench;
using namespace apir::test;

namespace {

constexpr uint32_t resource = 7;
constexpr uint32_t kib = 1024;
constexpr uint32_t window = 256; // KiB: all of the resource
constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr uint32_t unknown = 6;

alignas(64) uint8_t memory[window * kib];

const char *config(uint32_t, const char *key) { return std::string(key) == "apir.resource.size.7" ? "262144" : nullptr; }
void *shared(uint32_t, uint32_t number) { return number == resource ? memory : nullptr; }

HostDispatcher dispatcher = nullptr;

// What the last call replied, 0 where that was nothing; and how long the call took.
uint64_t told_ns = 0;
uint64_t call_ns = 0;

uint32_t called(uint32_t call, std::vector<uint32_t> words, size_t room = sizeof told_ns) {
    HostCallbacks callbacks{config, shared};
    char reply[sizeof told_ns] = {};
    char *after = nullptr;
    char *request = reinterpret_cast<char *>(words.data());
    const uint64_t start = now_ns();
    const uint32_t code = dispatcher(1, &callbacks, call, request, request + words.size() * sizeof(uint32_t), reply, reply + room, &after);
    call_ns = now_ns() - start;
    std::memcpy(&told_ns, reply, sizeof told_ns);
    const std::ptrdiff_t size = after - reply;
    expect_equal(size, code == ok ? std::ptrdiff_t{sizeof told_ns} : std::ptrdiff_t{0}, "bytes of a reply");
    expect(code == ok || told_ns == 0, "a refused call replies nothing");
    return code;
}

std::vector<uint8_t> pattern(uint32_t salt) {
    std::vector<uint8_t> bytes(sizeof memory);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 167 + i / 251 + salt);
    return bytes;
}

void what_went_out_comes_back(uint32_t past_caches) {
    const std::vector<uint8_t> sent = pattern(past_caches);
    std::memcpy(memory, sent.data(), sizeof memory);
    // Three times round: every part of the host's memory has the window's bytes.
    expect_equal(called(copy_call, {resource, 1, past_caches, window, 3 * window}), ok, "out");
    std::memset(memory, 0, sizeof memory);
    expect_equal(called(copy_call, {resource, 0, past_caches, window, window}), ok, "back");
    expect(std::memcmp(memory, sent.data(), sizeof memory) == 0, "the same comes back");
    std::memset(memory, 0, sizeof memory);
    expect_equal(called(copy_call, {resource, 0, past_caches, window / 2, window / 2}), ok, "half of it");
    expect(std::memcmp(memory, sent.data(), sizeof memory / 2) == 0, "half of it comes back");
    expect(memory[sizeof memory / 2] == 0 && memory[sizeof memory - 1] == 0, "nothing behind the window");
}

// No more than the call took; and most of that, where most of it is copying and nothing comes between.
void it_tells_how_long_it_copied(uint32_t out, uint32_t past_caches) {
    constexpr uint32_t large = 16 * 1024;
    double share = 0;
    for (int turn = 0; turn < 6; ++turn) {
        expect_equal(called(copy_call, {resource, out, past_caches, window, large}), ok, "a larger copy");
        expect(told_ns > 0 && told_ns <= call_ns, "a time that may be");
        // The first one finds new memory.
        if (turn != 0) share = std::max(share, static_cast<double>(told_ns) / static_cast<double>(call_ns));
    }
    expect(share > 0.5, "all of the copying is in it");
}

void what_cannot_be_done_is_refused() {
    const std::vector<uint8_t> before(memory, memory + sizeof memory);
    expect_equal(called(copy_call, {resource, 0, 0, window + 1, window}), failed, "a window larger than its resource");
    expect_equal(called(copy_call, {resource, 0, 0, 0, window}), failed, "no window");
    expect_equal(called(copy_call, {resource, 0, 0, window, 1024 * 1024 + 1}), failed, "more than a gibibyte");
    expect_equal(called(copy_call, {resource + 1, 0, 0, window, window}), failed, "no such resource");
    expect_equal(called(copy_call, {resource, 0, 0, window}), failed, "a request cut short");
    expect_equal(called(copy_call, {resource, 0, 0, window, window}, sizeof told_ns - 1), failed, "no room for the reply");
    expect_equal(called(copy_call + 1, {resource, 0, 0, window, window}), unknown, "another call");
    expect(std::memcmp(memory, before.data(), sizeof memory) == 0, "nothing is written then");
}

} // namespace

int main(int count, char **arguments) {
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : nullptr;
    if (library != nullptr) dispatcher = reinterpret_cast<HostDispatcher>(dlsym(library, "apir_backend_dispatcher"));
    if (dispatcher == nullptr) {
        std::fprintf(stderr, "FAILED: no library of the benchmark's\n");
        return 1;
    }
    for (uint32_t past_caches : {0U, 1U}) what_went_out_comes_back(past_caches);
    for (uint32_t out : {0U, 1U})
        for (uint32_t past_caches : {0U, 1U}) it_tells_how_long_it_copied(out, past_caches);
    what_cannot_be_done_is_refused();
    return failures == 0 ? 0 : 1;
}
