// A share of a crowded processor in short turns, for the threads that carry commands: a context's worker, and QEMU's main thread.
#pragma once

namespace apir::virgl {

// Asks the scheduler for short turns of the calling thread (Linux 6.12 and later; elsewhere nothing changes). Both threads are woken for
// microseconds of work while the virtual processor that waits for it spins, or copies, often on the same core. A thread whose turns are shorter
// is let in at once; any other waits for the end of the spinning one's turn, 1.4 ms on two cores and more, whatever its nice value, and the guest
// with it: on two cores QEMU's main thread was awake for 5 % of the time that 16 MiB after 16 MiB were written by EXECBUFFER, and waited for a core
// for 23 to 37 %; with short turns 4 %. It takes no right to ask for them.
//
// Threads that this one starts, ggml's for computing, get ordinary turns; but where its nice value is negative (and they were to have that) they
// get both, for the system has one switch for the two. Whether the system does it.
bool take_short_turns();
// Whether the calling thread has them.
bool has_short_turns();

} // namespace apir::virgl
