#include "cache_lines.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <cstdint>
#include <immintrin.h>

#include "cache_distance.hpp"
#endif

namespace apir::host {

#if defined(__x86_64__)

namespace {

constexpr size_t line = 64;
// Below this nobody would notice.
constexpr size_t least = size_t{16} << 10;
// No piece of a transfer that goes in several is larger.
constexpr size_t most = size_t{8} << 20;

CacheWatch &watch() {
    static CacheWatch watch(measure_cache_distance);
    return watch;
}

// Whole lines; `to` is aligned to one.
void stream(uint8_t *to, const uint8_t *from, size_t size) {
    for (size_t at = 0; at < size; at += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at)));
    // What is written next, the reply, comes after it.
    _mm_sfence();
}

} // namespace

void leave_caches(const void *data, size_t size) {
    if (size >= least && size <= most && watch().apart(size, CacheWatch::Clock::now())) flush_from_caches(data, size);
}

void copy_past_caches(void *to, const void *from, size_t size) {
    auto *target = static_cast<uint8_t *>(to);
    const auto *source = static_cast<const uint8_t *>(from);
    const size_t before = size < least ? size : (line - reinterpret_cast<uintptr_t>(to) % line) % line;
    const size_t streamed = (size - before) / line * line;
    if (before != 0) std::memcpy(target, source, before);
    if (streamed != 0) stream(target + before, source + before, streamed);
    const size_t done = before + streamed;
    if (done != size) std::memcpy(target + done, source + done, size - done);
}

#else

void leave_caches(const void *, size_t) {}

void copy_past_caches(void *to, const void *from, size_t size) {
    if (size != 0) std::memcpy(to, from, size);
}

#endif

} // namespace apir::host
