// The worker's share of a crowded processor: in short turns.
#pragma once

namespace apir::virgl {

// Asks the scheduler for short turns of the calling thread (Linux 6.12 and later; elsewhere nothing changes). A worker is woken for
// microseconds of work while the virtual processor that waits for it spins, often on the same core. A thread whose turns are shorter
// is let in at once; any other waits for the end of the spinning one's turn, 1.4 ms on two cores, and the guest with it. Threads that
// this one starts, ggml's for computing, get ordinary turns. Whether the system does it.
bool take_short_turns();
// Whether the calling thread has them.
bool has_short_turns();

} // namespace apir::virgl
