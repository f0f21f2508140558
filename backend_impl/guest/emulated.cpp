#include "emulated.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <cstring>
#endif

namespace apir::guest {

namespace {

#if defined(__x86_64__) || defined(__i386__)
bool is_named_tcg() {
    unsigned a = 0;
    unsigned name[3] = {};
    __cpuid(0x40000000, a, name[0], name[1], name[2]);
    return std::memcmp(name, "TCGTCGTCGTCG", sizeof name) == 0;
}
#else
bool is_named_tcg() { return false; }
#endif

} // namespace

bool is_emulated() {
    static const bool emulated = is_named_tcg();
    return emulated;
}

} // namespace apir::guest
