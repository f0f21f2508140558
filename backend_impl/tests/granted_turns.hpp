// What the scheduler of this machine grants.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace apir::test {

// Whether a thread that asks for turns of 0.2 ms gets them, and has others before. Linux takes sched_runtime for the turn of an ordinary thread from
// 6.12 on (its Documentation/scheduler/sched-eevdf.rst), and some sandboxes let nobody ask. Says why not.
inline bool grants_turns() {
    struct Asked { // the first version of the kernel's struct sched_attr
        uint32_t size = 48, policy = 0;
        uint64_t flags = 0;
        uint32_t nice = 0, priority = 0;
        uint64_t turn_ns = 0, deadline = 0, period = 0;
    };
    constexpr uint64_t wanted_ns = 200'000;
    bool granted = false;
    std::thread([&] {
        Asked asked;
        const bool known = syscall(SYS_sched_getattr, 0, &asked, sizeof asked, 0) == 0 && asked.policy == 0;
        const uint64_t usual_ns = asked.turn_ns;
        asked.turn_ns = wanted_ns;
        if (!known || syscall(SYS_sched_setattr, 0, &asked, 0) != 0) {
            std::printf("    short turns are not looked for: %s\n", known ? std::strerror(errno) : "the policy is another one, or cannot be asked for");
            return;
        }
        syscall(SYS_sched_getattr, 0, &asked, sizeof asked, 0);
        granted = asked.turn_ns == wanted_ns && usual_ns > wanted_ns;
        if (!granted) std::printf("    short turns are not looked for: the kernel has none, or nothing else\n");
    }).join();
    return granted;
}

} // namespace apir::test
