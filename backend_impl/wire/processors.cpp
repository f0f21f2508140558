#include "processors.hpp"

#include <cstddef>

namespace apir {

cpu_set_t allowed_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    return allowed;
}

void step_aside() {
    const cpu_set_t allowed = allowed_processors();
    const int here = sched_getcpu();
    if (here < 0 || CPU_COUNT(&allowed) < 2) return;
    cpu_set_t others = allowed;
    CPU_CLR(static_cast<size_t>(here), &others);
    if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

} // namespace apir
