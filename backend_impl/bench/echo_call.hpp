// The calls of the host library that only benchmarks load, outside of the numbers that the protocol has.
#pragma once

#include <cstdint>

namespace apir::bench {

// Request: u32 resource, u32 rounds. Until as many rounds are over, the library turns every odd number that appears in the resource's
// first word into the next even one; then it answers.
constexpr uint32_t echo_call = 1000;
// Request: u32 resource, u32 out, u32 past_caches, u32 window, u32 size. The library copies `size` KiB between memory of its own and the first
// `window` KiB of the resource, round and round; `out` is 1 when they come from the guest, `past_caches` is 1 when what is written is to lie in
// none. Reply: u64 nanoseconds that the copying alone took, by the library's clock.
constexpr uint32_t copy_call = 1001;
// How long either side waits for the other's next word.
constexpr uint64_t echo_patience_ns = 5'000'000'000;

} // namespace apir::bench
