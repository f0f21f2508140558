// Processes forked from one that has a context. They share the device's file, the ring and the reply slots with it: a call of theirs would
// be carried out, and its answer taken for the parent's. So they make none; for them the device is lost.
//
// Locks are as they were when the process was forked, held by threads that are not there. Programs that only end, and free what they have
// from static destructors, take none of ours.
#pragma once

#include <atomic>

namespace apir::guest {

inline std::atomic<bool> forked_child{false};

inline bool in_forked_child() { return forked_child.load(std::memory_order_relaxed); }

// From now on children of this process are known. Any number of times, by any thread.
void watch_for_forks();

} // namespace apir::guest
