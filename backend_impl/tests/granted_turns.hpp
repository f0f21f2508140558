// What the scheduler of this machine grants.
#pragma once

#include <cstdio>
#include <sched.h>
#include <sys/utsname.h>

namespace apir::test {

// Linux takes sched_runtime for the turn of an ordinary thread from 6.12 on (its Documentation/scheduler/sched-eevdf.rst), 0.1 ms at least.
inline bool grants_short_turns() {
    utsname system{};
    int major = 0, minor = 0;
    if (uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2) return false;
    return (major > 6 || (major == 6 && minor >= 12)) && sched_getscheduler(0) == SCHED_OTHER;
}

} // namespace apir::test
