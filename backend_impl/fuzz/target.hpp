// A fuzz target's functions. libFuzzer calls them where the compiler brings it (clang); else standalone_main.cpp does.
#pragma once

#include <cstddef>
#include <cstdint>

// Before the first input; a target may leave it out.
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int *count, char ***values);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// In place; the new size, at most `most`.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

namespace apir::fuzz {

// Without coverage to go by: the plain changes of bytes, for targets that have none of their own. In place, as above.
size_t mutate_plainly(uint8_t *data, size_t size, size_t most, unsigned int seed);

} // namespace apir::fuzz
