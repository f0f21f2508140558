#include "component_log.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

#include <call_log.hpp>
#include <unawaited_write.hpp>

namespace apir::virgl {
namespace {

const char *name(Level level) {
    switch (level) {
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
    }
    return "error";
}

int opened() {
    const char *path = std::getenv("VIRGL_APIR_LOG_TO_FILE");
    if (path == nullptr || *path == '\0') return STDERR_FILENO;
    int fd = open_unawaited(path, O_CREAT | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
        dprintf(STDERR_FILENO, "virgl-apir: [warn] cannot open the log file %s: %s\n", path, std::strerror(errno));
        return STDERR_FILENO;
    }
    return fd;
}

// Of a whole line. False when its reader, or a terminal that was stopped, would have to be waited for: who logs may hold the component's lock.
// Nothing can be done about a log that cannot be written for other reasons.
bool put_line(Level level, const char *format, va_list arguments) {
    char line[1024];
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    gmtime_r(&now.tv_sec, &parts);
    size_t size = std::strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &parts);
    int head = std::snprintf(line + size, sizeof line - size, ".%03ldZ virgl-apir[%d]: [%s] ", now.tv_nsec / 1000000, getpid(),
                             name(level));
    size += static_cast<size_t>(head);
    int body = std::vsnprintf(line + size, sizeof line - size - 1, format, arguments);
    if (body < 0) return true;
    size += static_cast<size_t>(body);
    if (size > sizeof line - 2) size = sizeof line - 2;
    line[size++] = '\n';
    return write_unawaited(log_fd(), line, size) >= 0 || errno != EAGAIN;
}

[[gnu::format(printf, 2, 3)]] bool put(Level level, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const bool put = put_line(level, format, arguments);
    va_end(arguments);
    return put;
}

constexpr uint64_t lines_of_all_workers = 1000;

// What this process may still say; a few hundred lines are more than any honest guest causes at once.
struct Said {
    std::mutex mutex;
    LogBudget budget{500};
    uint64_t left_out = 0; // and not told of yet
};

Said &said() {
    static Said &all = *new Said; // threads may log while the process ends
    return all;
}

} // namespace

int log_fd() {
    static const int fd = opened();
    return fd;
}

void share_log(LogBudget::PaidUntil *paid_until_ns) {
    Said &all = said();
    std::lock_guard lock(all.mutex);
    all.budget.share(paid_until_ns, lines_of_all_workers);
}

void log(Level level, const char *format, ...) {
    Said &all = said();
    std::lock_guard lock(all.mutex);
    if (!all.budget.allows(monotonic_ns())) return;
    all.left_out += all.budget.take_left_out();
    if (all.left_out != 0 && put(Level::warn, "%" PRIu64 " lines were left out: too many at once, or nobody took them", all.left_out))
        all.left_out = 0;
    va_list arguments;
    va_start(arguments, format);
    if (!put_line(level, format, arguments)) ++all.left_out;
    va_end(arguments);
}

} // namespace apir::virgl
