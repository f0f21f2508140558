// A host library that computes nothing: it polls a word in a blob with the guest, which is the least that a round trip can cost
// where both sides look all the time.
#include <atomic>

#include "clock.hpp"
#include "echo_call.hpp"
#include "host_abi.hpp"
#include "reader.hpp"

#define APIR_EXPORT extern "C" __attribute__((visibility("default")))

using apir::HostCallbacks;

namespace {

constexpr uint32_t initialised = 6;
constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr uint32_t unknown = 6;
constexpr uint32_t looks_per_clock = 4096;

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

} // namespace

APIR_EXPORT uint32_t apir_backend_initialize(uint32_t, HostCallbacks *) { return initialised; }

APIR_EXPORT void apir_backend_deinit(uint32_t) {}

APIR_EXPORT uint32_t apir_backend_dispatcher(uint32_t context, HostCallbacks *callbacks, uint32_t call, char *dec, const char *dec_end,
                                             char *enc, const char *, char **enc_after) {
    *enc_after = enc;
    if (call != apir::bench::echo_call) return unknown;
    apir::Reader request(dec, static_cast<size_t>(dec_end - dec));
    return echo(context, callbacks, request);
}
