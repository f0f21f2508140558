#include "cache_lines.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <cstdint>
#include <immintrin.h>

#include "cache_distance.hpp"
#include "processor_features.hpp"
#endif

namespace apir::host {

#if defined(__x86_64__)

namespace {

constexpr size_t line = 64;
// Below this nobody would notice.
constexpr size_t least = size_t{16} << 10;
// No piece of a transfer that goes in several is larger.
constexpr size_t most = size_t{8} << 20;

// `bytes` more go between two processors.
Caches caches_between(size_t bytes) {
    static CacheWatch watch(measure_cache_distance);
    return watch.caches(bytes, CacheWatch::Clock::now());
}

__attribute__((target("cldemote"))) void demote_lines(const void *data, size_t size) {
    const auto first = reinterpret_cast<uintptr_t>(data) / line * line;
    const auto end = reinterpret_cast<uintptr_t>(data) + size;
    for (uintptr_t at = first; at < end; at += line) _cldemote(reinterpret_cast<void *>(at));
}

// Whole lines; `to` is aligned to one.
void stream(uint8_t *to, const uint8_t *from, size_t size) {
    for (size_t at = 0; at < size; at += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at)));
    // What is written next, a reply or a pipe's word, comes after it: release order alone does not hold back such stores.
    _mm_sfence();
}

} // namespace

void leave_caches(const void *data, size_t size) {
    if (size >= least && size <= most && written_better_in_memory(caches_between(size), size)) flush_from_caches(data, size);
}

bool read_from_memory(size_t size) {
#if defined(APIR_TEST_REMOTE_CACHES) || defined(APIR_PLANT_LOST_LINE)
    return size >= least; // no machine has such caches for sure
#else
    return size >= least && read_better_in_memory(caches_between(size), size);
#endif
}

void demote(const void *data, size_t size) {
    static const bool able = ExtendedFeatures::own().cldemote();
    if (able && size >= least) demote_lines(data, size);
}

void copy_past_caches(void *to, const void *from, size_t size) {
    auto *target = static_cast<uint8_t *>(to);
    const auto *source = static_cast<const uint8_t *>(from);
    const size_t before = size < least ? size : (line - reinterpret_cast<uintptr_t>(to) % line) % line;
    const size_t streamed = (size - before) / line * line;
    if (before != 0) std::memcpy(target, source, before);
#if defined(APIR_PLANT_LOST_LINE)
    if (streamed != 0) stream(target + before, source + before, streamed - line);
#else
    if (streamed != 0) stream(target + before, source + before, streamed);
#endif
    const size_t done = before + streamed;
    if (done != size) std::memcpy(target + done, source + done, size - done);
}

#else

void leave_caches(const void *, size_t) {}

bool read_from_memory(size_t) { return false; }

void demote(const void *, size_t) {}

void copy_past_caches(void *to, const void *from, size_t size) {
    if (size != 0) std::memcpy(to, from, size);
}

#endif

} // namespace apir::host
