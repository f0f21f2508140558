// What a worker gives up at its start, and what it asks of the kernel.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace apir::virgl {

// Dies with `parent`, dumps no core (where its hard limit of cores is 0 already, and it may not raise it, one without memory to a program
// that takes cores), gains no privileges, reaches no other process's memory (where the kernel has Landlock), no TCP port
// (Linux 6.7) and no abstract socket of others, and signals none (Linux 6.12), sets no other process's limits, begins none of its parent's, neither traces nor has
// itself traced, types nothing into a terminal and sets nothing of one, nor who is in its foreground (these where the kernel filters system calls, on
// x86-64 and little-endian ARM64), opens 4096 files at most, is the first to go when memory is short. False when the parent is gone already. `cpus` pins it ("0-3,6"; empty: not); what cannot be had is said in `warnings`.
//
// Open to whoever takes it over stay: sockets that have a path; whatever files QEMU's user may open, a cgroup's own (cgroup.kill) among them
// where it may; QEMU's standard error, which it needs for the log; how processes of that user are scheduled (nice values, policies, processors); and
// processes that it begins, which may outlive it.
// Against these helps what QEMU itself runs in: a user of its own, a container, a sandbox, a log in a file.
bool confine(pid_t parent, const std::string &cpus, std::vector<std::string> &warnings);

} // namespace apir::virgl
