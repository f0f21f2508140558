// The log of the host library and of ggml: APIR_LLAMA_CPP_LOG_TO_FILE, lines `[level] text`.
//
// One for the process, because ggml's log callback is one for the process. The first session opens it, the last closes it.
#pragma once

#include <log_budget.hpp>

namespace apir::host {

enum class Level { debug, info, warn, error };

// Holds the log open; truncates the file unless `append`. Without the variable, lines from `warn` up go to stderr.
class LogHold {
  public:
    explicit LogHold(bool append);
    ~LogHold();
    LogHold(const LogHold &) = delete;
    LogHold &operator=(const LogHold &) = delete;
};

// Lines count among those of other processes, too. The word is there for as long as the process.
void share_log(LogBudget::PaidUntil *paid_until_ns);

// One line. Errors and warnings go to stderr too, which the component keeps in its own log.
[[gnu::format(printf, 2, 3)]] void log(Level level, const char *format, ...);

} // namespace apir::host
