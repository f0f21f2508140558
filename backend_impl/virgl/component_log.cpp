#include "component_log.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

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
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        dprintf(STDERR_FILENO, "virgl-apir: [warn] cannot open the log file %s: %s\n", path, std::strerror(errno));
        return STDERR_FILENO;
    }
    return fd;
}

} // namespace

int log_fd() {
    static const int fd = opened();
    return fd;
}

void log(Level level, const char *format, ...) {
    char line[1024];
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    gmtime_r(&now.tv_sec, &parts);
    size_t size = std::strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &parts);
    int head = std::snprintf(line + size, sizeof line - size, ".%03ldZ virgl-apir[%d]: [%s] ", now.tv_nsec / 1000000, getpid(),
                             name(level));
    size += static_cast<size_t>(head);
    va_list arguments;
    va_start(arguments, format);
    int body = std::vsnprintf(line + size, sizeof line - size - 1, format, arguments);
    va_end(arguments);
    if (body < 0) return;
    size += static_cast<size_t>(body);
    if (size > sizeof line - 2) size = sizeof line - 2;
    line[size++] = '\n';
    // Nothing can be done about a log that cannot be written.
    if (write(log_fd(), line, size) < 0) return;
}

} // namespace apir::virgl
