// A share of a crowded processor in short turns, for the threads that carry commands: a context's worker, and QEMU's main thread.
#pragma once

namespace apir::virgl {

// What turns the threads get that a thread starts, and processes: those that it has, or ordinary ones. The system has one switch for that and for
// more (SCHED_RESET_ON_FORK: a negative nice value is not passed on either), which only CAP_SYS_NICE turns back: for threads of ours alone.
enum class Heirs { alike, ordinary };

// Asks the scheduler for short turns of the calling thread, if it has the ordinary policy (Linux 6.12 and later; before that nothing changes).
// Worker and main thread are woken for microseconds of work while the virtual processor that waits for it spins, or copies, often on the same core. A
// thread whose turns are shorter than those of who runs is let in without waiting for the end of such a turn, which is 1.4 ms on two cores and longer on
// more; a lower nice value did not do that on a host of two processors: while 16 MiB after 16 MiB were written by EXECBUFFER there, QEMU's main
// thread ran for 5 % of the time and waited for a core for 4 to 44 %, with short turns for 2 to 4 %. It takes no right to ask. Whether the system does
// it.
bool take_short_turns(Heirs heirs);
// Whether the calling thread has them.
bool has_short_turns();

} // namespace apir::virgl
