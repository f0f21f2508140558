// The component's log: VIRGL_APIR_LOG_TO_FILE, appended to, or stderr. QEMU's side and the workers write to the same one.
#pragma once

#include <log_budget.hpp>

namespace apir::virgl {

enum class Level { info, warn, error };

// Whole lines, each one write(): lines of several processes do not mix. Of a process that says very much, a line a second, and how many
// were left out. It waits neither for who reads the log nor for a terminal that was stopped: lines are left out meanwhile. A file's disk is
// waited for.
[[gnu::format(printf, 2, 3)]] void log(Level level, const char *format, ...);

// A worker's lines count among those of all workers, so that contexts which come and go do not say very much together either. The word is
// there for as long as the process.
void share_log(LogBudget::PaidUntil *paid_until_ns);

// The descriptor that lines go to; a worker gets it as its stderr.
int log_fd();

} // namespace apir::virgl
