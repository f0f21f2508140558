// The processors that the calling thread may use, and how it looks again and again at what another one writes.
#pragma once

#include <sched.h>

namespace apir {

// What lies between two looks.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// None where the system does not tell.
cpu_set_t allowed_processors();

// Goes to any other processor that this thread may use, and from then on wherever the system likes: who shares one with the thread that waits
// for it, with another one idle beside them, is not parted from it by the system for tens of milliseconds.
void step_aside();

} // namespace apir
