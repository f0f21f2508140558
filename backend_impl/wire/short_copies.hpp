// Copies of a command, a reply or a name: some words long.
//
// An emulator looks up each function that is called, and where it returns to, for as long as it takes to copy some hundred bytes. So what is short is
// copied in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace apir {

inline constexpr size_t longest_short = 512;

// The memories do not overlap. `hidden`: a compiler that sees all of it makes a call of it again.
inline void copy_short(uint8_t *to, const uint8_t *from, size_t size) {
    const auto hidden = [](uint8_t *&pointer) { asm volatile("" : "+r"(pointer)); };
    if (size > longest_short) {
        hidden(to);
        std::memcpy(to, from, size);
        return;
    }
    constexpr size_t step = 32;
#pragma GCC unroll 1 // all of a function is to fit into a page
    for (; size >= step; size -= step, to += step, from += step) {
        std::memcpy(to, from, step);
        hidden(to);
    }
    constexpr size_t word = 4;
#pragma GCC unroll 1
    for (; size >= word; size -= word, to += word, from += word) {
        std::memcpy(to, from, word);
        hidden(to);
    }
#pragma GCC unroll 1
    for (; size != 0; --size) {
        *to++ = *from++;
        hidden(to);
    }
}

// Makes zeros of what stands behind a NUL, the first byte being the lowest. Whether there is one.
inline bool cut_at_nul(uint64_t &word) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as the protocol has it");
    constexpr uint64_t low_bits = 0x0101010101010101;
    const uint64_t nuls = (word - low_bits) & ~word & (low_bits << 7); // up to the first one
    if (nuls == 0) return false;
    word &= ((nuls & -nuls) >> 7) - 1;
    return true;
}

// The words of a name with zeros behind its end, which is its last byte at the latest, up to the one that ends it: `take` is told each, and its place.
template <size_t size, typename Take> void each_word_of_name(const char (&name)[size], Take take) {
    static_assert(size % sizeof(uint64_t) == 0);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, name + at, sizeof word);
        if (at + sizeof word == size) word &= ~uint64_t{0} >> 8;
        const bool over = cut_at_nul(word);
        take(word, at);
        if (over) return;
    }
}

// To as many zeros.
template <size_t size> void copy_name(uint8_t *to, const char (&name)[size]) {
    each_word_of_name(name, [to](uint64_t word, size_t at) { std::memcpy(to + at, &word, sizeof word); });
}
template <size_t size> void copy_name(char (&to)[size], const char (&name)[size]) { copy_name(reinterpret_cast<uint8_t *>(to), name); }

} // namespace apir
