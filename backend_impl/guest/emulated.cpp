#include "emulated.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <cstring>
#endif

namespace apir::guest {

#if defined(__x86_64__) || defined(__i386__)
bool names_itself_emulated() {
    unsigned a = 0;
    unsigned name[3] = {};
    __cpuid(0x40000000, a, name[0], name[1], name[2]);
    return std::memcmp(name, "TCGTCGTCGTCG", sizeof name) == 0;
}
#else
bool names_itself_emulated() { return false; }
#endif

} // namespace apir::guest
