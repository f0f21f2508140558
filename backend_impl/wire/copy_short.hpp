// Copies of a command or a reply, most of which are some words long.
//
// An emulator looks up each function that is called, and where it returns to, for as long as it takes to copy some hundred bytes. So what is short is
// copied in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace apir {

// The memories do not overlap. `hidden`: a compiler that sees all of it makes a call of it again.
inline void copy_short(uint8_t *to, const uint8_t *from, size_t size) {
    constexpr size_t longest = 128;
    constexpr size_t step = 16;
    const auto hidden = [](uint8_t *&pointer) { asm volatile("" : "+r"(pointer)); };
    if (size > longest) {
        hidden(to);
        std::memcpy(to, from, size);
        return;
    }
    for (; size >= step; size -= step, to += step, from += step) {
        std::memcpy(to, from, step);
        hidden(to);
    }
    constexpr size_t word = 4;
    for (; size >= word; size -= word, to += word, from += word) {
        std::memcpy(to, from, word);
        hidden(to);
    }
    for (; size != 0; --size) {
        *to++ = *from++;
        hidden(to);
    }
}

} // namespace apir
