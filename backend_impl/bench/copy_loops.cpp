#include "copy_loops.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace apir::bench {

namespace {

constexpr size_t piece = 65536;

bool always() { return true; }

void library_copy(void *to, const void *from, size_t size) { std::memcpy(to, from, size); }

// Below the size from which the C library stores past the caches.
void pieces(void *to, const void *from, size_t size) {
    for (size_t at = 0; at < size; at += piece)
        std::memcpy(static_cast<char *>(to) + at, static_cast<const char *>(from) + at, std::min(piece, size - at));
}

void two_threads(void *to, const void *from, size_t size) {
    const size_t half = size / 2 / piece * piece;
    std::thread second([&] { pieces(static_cast<char *>(to) + half, static_cast<const char *>(from) + half, size - half); });
    pieces(to, from, half);
    second.join();
}

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }

// So many vectors are loaded before the first is stored.
template <size_t count> __attribute__((target("avx2"))) void avx2(void *to, const void *from, size_t size) {
    constexpr size_t step = count * sizeof(__m256i);
    auto *out = static_cast<char *>(to);
    const auto *in = static_cast<const char *>(from);
    size_t at = 0;
    for (; at + step <= size; at += step) {
        const auto *source = reinterpret_cast<const __m256i *>(in + at);
        auto *target = reinterpret_cast<__m256i *>(out + at);
        __m256i vectors[count];
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) vectors[i] = _mm256_loadu_si256(source + i);
        asm volatile("" : : : "memory");
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) _mm256_storeu_si256(target + i, vectors[i]);
    }
    std::memcpy(out + at, in + at, size - at);
}

void words(void *to, const void *from, size_t size) {
    size_t count = size / 8;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    std::memcpy(to, from, size % 8);
}

// An emulator has a vector register in memory: each vector that goes through it waits for the stores before it. Not so these.
void registers(void *to, const void *from, size_t size) {
    constexpr size_t step = 32;
    size_t steps = size / step;
    if (steps != 0) {
        asm volatile("1: mov (%1), %%r8\n mov %%r8, (%0)\n mov 8(%1), %%r9\n mov %%r9, 8(%0)\n"
                     "mov 16(%1), %%r8\n mov %%r8, 16(%0)\n mov 24(%1), %%r9\n mov %%r9, 24(%0)\n"
                     "add $32, %0\n add $32, %1\n dec %2\n jnz 1b"
                     : "+r"(to), "+r"(from), "+r"(steps)
                     :
                     : "memory", "cc", "r8", "r9");
    }
    std::memcpy(to, from, size % step);
}
#endif

} // namespace

const CopyLoop copy_loops[] = {
    {"memcpy", library_copy, always},
    {"pieces", pieces, always},
    {"two_threads", two_threads, always},
#if defined(__x86_64__)
    {"avx2", avx2<4>, has_avx2},
    {"avx2_16", avx2<16>, has_avx2}, // for memory whose pages collide in an emulator's table: guest/bulk_copy.hpp
    {"rep_movsq", words, always},
    {"registers", registers, always},
#endif
};
const size_t copy_loop_count = sizeof copy_loops / sizeof *copy_loops;

} // namespace apir::bench
