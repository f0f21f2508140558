// A host library that computes nothing: it polls a word in a blob with the guest, which is the least that a round trip can cost
// where both sides look all the time, and it copies between a blob and memory as a transfer has it do.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "clock.hpp"
#include "echo_call.hpp"
#include "host/cache_lines.hpp"
#include "host/huge_pages.hpp"
#include "host_abi.hpp"
#include "reader.hpp"
#include "writer.hpp"

#define APIR_EXPORT extern "C" __attribute__((visibility("default")))

using apir::HostCallbacks;

namespace {

constexpr uint32_t initialised = 6;
constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr uint32_t unknown = 6;
constexpr uint32_t looks_per_clock = 4096;
constexpr size_t kib = 1024;

// Waits for `number`; false when it does not come.
bool await(const std::atomic<uint32_t> &word, uint32_t number) {
    uint64_t until = 0;
    for (uint32_t looks = 0; word.load(std::memory_order_acquire) != number; ++looks) {
        if (looks % looks_per_clock != 0) continue;
        uint64_t now = apir::bench::now_ns();
        if (until == 0) until = now + apir::bench::echo_patience_ns;
        if (now > until) return false;
    }
    return true;
}

uint32_t echo(uint32_t context, HostCallbacks *callbacks, apir::Reader &request) {
    uint32_t resource = request.u32();
    uint32_t rounds = request.u32();
    auto *word = request.failed() ? nullptr : static_cast<std::atomic<uint32_t> *>(callbacks->get_shmem_ptr(context, resource));
    if (word == nullptr) return failed;
    for (uint32_t round = 0; round < rounds; ++round) {
        if (!await(*word, 2 * round + 1)) return failed;
        word->store(2 * round + 2, std::memory_order_release);
    }
    return ok;
}

// As the component tells; 0 where it does not.
size_t bytes_of(uint32_t context, HostCallbacks *callbacks, uint32_t resource) {
    const std::string key = "apir.resource.size." + std::to_string(resource);
    const char *told = callbacks->get_config(context, key.c_str());
    return told == nullptr ? 0 : std::strtoull(told, nullptr, 10);
}

// Memory in the place of a tensor's, like our host library's. There is one worker for each context.
uint8_t *memory_of(size_t size) {
    static std::unique_ptr<uint8_t[]> memory;
    static size_t there = 0;
    if (there < size) {
        memory.reset(new uint8_t[size]);
        apir::host::wish_for_huge_pages(memory.get(), size);
        std::memset(memory.get(), 0, size); // so that every page of it is there
        there = size;
    }
    return memory.get();
}

// `size` bytes, round and round the first `window` of `shared`; in pieces of what caches hold: of more at once the C library has ways of its own.
void copy_all(uint8_t *memory, uint8_t *shared, size_t window, size_t size, bool out, bool past_caches) {
    constexpr size_t piece = 128 * kib;
    for (size_t done = 0; done < size;) {
        const size_t place = done % window;
        const size_t n = std::min({piece, size - done, window - place});
        uint8_t *to = out ? memory + done : shared + place;
        const uint8_t *from = out ? shared + place : memory + done;
        if (past_caches) apir::host::copy_past_caches(to, from, n);
        else std::memcpy(to, from, n);
        done += n;
    }
}

// It is timed here, for until the guest knows takes QEMU and the worker some time, and when the guest has asked it may be over.
uint32_t copy(uint32_t context, HostCallbacks *callbacks, apir::Reader &request, apir::Writer &reply) {
    constexpr size_t largest = 1024 * 1024 * kib;
    const uint32_t resource = request.u32();
    const bool out = request.u32() != 0;
    const bool past_caches = request.u32() != 0;
    const size_t window = request.u32() * kib;
    const size_t size = request.u32() * kib;
    auto *shared = request.failed() ? nullptr : static_cast<uint8_t *>(callbacks->get_shmem_ptr(context, resource));
    if (shared == nullptr || window == 0 || window > bytes_of(context, callbacks, resource) || size > largest) return failed;
    if (reply.remaining() < sizeof(uint64_t)) return failed;
    uint8_t *memory = memory_of(size);
    const uint64_t start = apir::bench::now_ns();
    copy_all(memory, shared, window, size, out, past_caches);
    reply.u64(apir::bench::now_ns() - start);
    return ok;
}

} // namespace

APIR_EXPORT uint32_t apir_backend_initialize(uint32_t, HostCallbacks *) { return initialised; }

APIR_EXPORT void apir_backend_deinit(uint32_t) {}

APIR_EXPORT uint32_t apir_backend_dispatcher(uint32_t context, HostCallbacks *callbacks, uint32_t call, char *dec, const char *dec_end,
                                             char *enc, const char *enc_end, char **enc_after) {
    *enc_after = enc;
    apir::Writer reply(enc, static_cast<size_t>(enc_end - enc));
    apir::Reader request(dec, static_cast<size_t>(dec_end - dec));
    if (call == apir::bench::echo_call) return echo(context, callbacks, request);
    if (call != apir::bench::copy_call) return unknown;
    const uint32_t code = copy(context, callbacks, request, reply);
    *enc_after = enc + reply.size();
    return code;
}
