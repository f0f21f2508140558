#include "bulk_copy.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "emulated.hpp"
#include "one_page.hpp"
#include "quicker_copy.hpp"
#include "wire/short_copies.hpp"

namespace apir::guest {

namespace {

// Smaller copies are not worth a choice.
constexpr size_t large = size_t{64} << 10;
// How much is tried at a time, and how often with each loop.
constexpr size_t trial = size_t{64} << 10;
constexpr int trials = 5;
constexpr uintptr_t page = 4096;
// Of QEMU's table of pages, which grows and shrinks with use: fewer are seldom.
constexpr uintptr_t emulated_entries = 256;
// Of a page's bytes so few may meet a page of the same place: with twice as many the loop for others is as slow as the one for pages that collide. C
// libraries put large memory right before what was mapped last, and 16 bytes of their own before the program's. So memory of whole mebibytes often lies
// such that a data slot begins 16 bytes less than a page behind where all of it would collide.
constexpr uintptr_t negligible = page / 32;

// Large ones in one go would have the C library store past the caches, which costs an emulated machine four times as much.
void in_pieces(uint8_t *to, const uint8_t *from, size_t size) {
    constexpr size_t piece = size_t{64} << 10;
    for (size_t at = 0; at < size; at += piece) std::memcpy(to + at, from + at, std::min(piece, size - at));
}

#if defined(__x86_64__)
// So many vectors are loaded before the first is stored.
template <size_t count> IN_ONE_PAGE __attribute__((target("avx2"))) void by_vectors(uint8_t *to, const uint8_t *from, size_t size) {
    constexpr size_t step = count * sizeof(__m256i);
    size_t at = 0;
    for (; at + step <= size; at += step) {
        const auto *source = reinterpret_cast<const __m256i *>(from + at);
        auto *target = reinterpret_cast<__m256i *>(to + at);
        __m256i vectors[count];
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) vectors[i] = _mm256_loadu_si256(source + i);
        asm volatile("" : : : "memory");
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) _mm256_storeu_si256(target + i, vectors[i]);
    }
    if (at < size) std::memcpy(to + at, from + at, size - at);
}

IN_ONE_PAGE void by_words(uint8_t *to, const uint8_t *from, size_t size) {
    size_t words = size / 8;
    size_t rest = size % 8;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
    if (rest != 0) std::memcpy(to, from, rest);
}

// An emulator keeps its guest's vector registers in memory: each vector that is loaded and stored waits there until the stores before
// it are done, those to memory which the host has just read too. What goes through ordinary registers need not, and is half as quick again.
//
// With each round the emulator loads and stores its guest's registers: with rounds of 256 bytes copies are 1 to 14 % quicker than with those of 64, with
// 512 no more than that.
#define TWO_WORDS(at) "mov " #at "(%1), %%r8\n mov %%r8, " #at "(%0)\n mov 8+" #at "(%1), %%r9\n mov %%r9, 8+" #at "(%0)\n"
#define LINE_AT(at) TWO_WORDS(at) TWO_WORDS(16+at) TWO_WORDS(32+at) TWO_WORDS(48+at)
inline __attribute__((always_inline)) void through_registers(uint8_t *to, const uint8_t *from, size_t size) {
    constexpr size_t step = 256;
    size_t steps = size / step;
    if (steps != 0) {
        asm volatile("1:\n" LINE_AT(0) LINE_AT(64) LINE_AT(128) LINE_AT(192) "add $256, %0\n add $256, %1\n dec %2\n jnz 1b"
                     : "+r"(to), "+r"(from), "+r"(steps)
                     :
                     : "memory", "cc", "r8", "r9");
    }
    copy_short(to, from, size % step);
}
#undef LINE_AT
#undef TWO_WORDS

IN_ONE_PAGE void by_registers(uint8_t *to, const uint8_t *from, size_t size) { through_registers(to, from, size); }

constexpr size_t line = 64;
// Lines that a processor is asked for at once. With twice as many it waits longer: it fetches no more than that at a time, or few more.
constexpr size_t lines_at_once = 16;

// Loads from each line of a block, which is read or written next. In what an emulator makes of a loop, more than a hundred instructions lie
// between one line and the next, so the processor sees two or three lines ahead and waits for memory again and again; it finds all of these
// at once.
template <size_t lines> inline __attribute__((always_inline)) void touch(const uint8_t *block) {
#pragma GCC unroll 16
    for (size_t i = 0; i < lines; ++i) asm volatile("mov %c1(%0), %%r8" : : "r"(block), "i"(i * line) : "memory", "r8");
}

template <Far far> IN_ONE_PAGE void by_registers_far(uint8_t *to, const uint8_t *from, size_t size) {
    constexpr size_t lines = far == Far::both ? lines_at_once / 2 : lines_at_once;
    constexpr size_t block = lines * line;
    size_t at = 0;
    for (; at + block <= size; at += block) {
        // The target's first: some percent quicker than the other way round.
        if (far != Far::source) touch<lines>(to + at);
        if (far != Far::target) touch<lines>(from + at);
        through_registers(to + at, from + at, block);
    }
    if (at < size) by_registers(to + at, from + at, size - at); // not once more in here: all of it fits into its 1024 bytes
}

// Whether it pays to touch lines ahead depends on how far the processor sees by itself: Intel's (Sapphire Rapids and later) copy from memory 1.7
// times as fast with it, AMD's (Zen 5) 8 to 15 % slower.
class FarCopies {
  public:
    void copy(uint8_t *to, const uint8_t *from, size_t size, Far far) {
        switch (far) {
        case Far::source: return source_.copy(to, from, size);
        case Far::target: return target_.copy(to, from, size);
        default: return both_.copy(to, from, size);
        }
    }

  private:
    QuickerCopy source_{by_registers_far<Far::source>, by_registers};
    QuickerCopy target_{by_registers_far<Far::target>, by_registers};
    QuickerCopy both_{by_registers_far<Far::both>, by_registers};
};
#endif

// What goes between pages that collide, as many bytes at a time as registers hold: half as quick as between others, with the loop that
// is the quickest there a twentieth.
void between_colliding(uint8_t *to, const uint8_t *from, size_t size) {
#if defined(__x86_64__)
    static const bool able = __builtin_cpu_supports("avx2") != 0;
    if (able) return by_vectors<16>(to, from, size);
#endif
    in_pieces(to, from, size);
}

// The C library's function uses vector registers, of 256 bits where there are some. With those an emulator's host is slow in everything that it does
// afterwards, until it happens to switch to another thread or back (guest/CMakeLists.txt); between pages that collide it is quicker all the same.
void copy_small(uint8_t *to, const uint8_t *from, size_t size) {
#if defined(__x86_64__)
    if (size > longest_short && is_emulated() && !pages_collide(to, from)) return by_registers(to, from, size);
#endif
    copy_short(to, from, size);
}

// Tries each loop on parts of real copies, then keeps to the one that was quickest at its best: what else goes on in the machine
// makes a loop slower, never quicker.
class Choice {
  public:
    Choice() {
        for (const CopyLoop &loop : copy_loops()) loops_.push_back({loop.copy, std::chrono::nanoseconds::max()});
#if defined(__x86_64__)
        // Known beforehand: with luck another one wins the few trials, for as long as the program runs.
        if (is_emulated()) chosen_ = by_registers;
#endif
    }

    void copy(uint8_t *to, const uint8_t *from, size_t size, Far far) {
#if defined(__x86_64__)
        if (far != Far::none && is_emulated()) return far_.copy(to, from, size, far);
#endif
        Copy chosen = chosen_.load(std::memory_order_relaxed);
        if (chosen != nullptr) return chosen(to, from, size);
        // One thread tries; others go on meanwhile.
        std::unique_lock lock(mutex_, std::try_to_lock);
        size_t at = 0;
        for (; lock && at + trial <= size && chosen_.load(std::memory_order_relaxed) == nullptr; at += trial) try_next(to + at, from + at);
        in_pieces(to + at, from + at, size - at);
    }

  private:
    using Copy = decltype(CopyLoop::copy);
    struct Tried {
        Copy copy;
        std::chrono::nanoseconds best;
    };

    void try_next(uint8_t *to, const uint8_t *from) {
        Tried &tried = loops_[next_ % loops_.size()];
        auto start = std::chrono::steady_clock::now();
        tried.copy(to, from, trial);
        tried.best = std::min<std::chrono::nanoseconds>(tried.best, std::chrono::steady_clock::now() - start);
        if (++next_ < loops_.size() * trials) return;
        auto quicker = [](const Tried &a, const Tried &b) { return a.best < b.best; };
        chosen_.store(std::min_element(loops_.begin(), loops_.end(), quicker)->copy, std::memory_order_relaxed);
    }

    std::mutex mutex_;
    std::vector<Tried> loops_;
    size_t next_ = 0;
    std::atomic<Copy> chosen_{nullptr};
#if defined(__x86_64__)
    FarCopies far_;
#endif
};

} // namespace

std::vector<CopyLoop> copy_loops() {
    std::vector<CopyLoop> loops{{"pieces", in_pieces}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        loops.push_back({"avx2", by_vectors<4>});
        loops.push_back({"avx2_16", by_vectors<16>});
    }
    loops.push_back({"rep_movsq", by_words});
    loops.push_back({"registers", by_registers});
    loops.push_back({"registers_far_source", by_registers_far<Far::source>});
    loops.push_back({"registers_far_target", by_registers_far<Far::target>});
    loops.push_back({"registers_far_both", by_registers_far<Far::both>});
#endif
    return loops;
}

bool pages_collide(const void *to, const void *from) {
    constexpr uintptr_t span = emulated_entries * page;
    const uintptr_t apart = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % span;
    // Where they do not lie in their pages alike, each page of one meets two of the other, each with a part of it.
    constexpr uintptr_t meeting = page - negligible;
    return apart < meeting || apart > span - meeting;
}

void bulk_copy(void *to, const void *from, size_t size, Far far) {
    // Never destroyed: programs free backends and read tensors from their own static destructors.
    static Choice &choice = *new Choice;
    auto *target = static_cast<uint8_t *>(to);
    const auto *source = static_cast<const uint8_t *>(from);
    if (size < large) copy_small(target, source, size);
    else if (is_emulated() && pages_collide(to, from)) between_colliding(target, source, size);
    else choice.copy(target, source, size, far);
}

} // namespace apir::guest
