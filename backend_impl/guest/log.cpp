#include "log.hpp"

#include <ggml.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace apir::guest {

namespace {

constexpr size_t line_limit = 1024;
std::atomic<LogLevel> level_limit{LogLevel::warn};

ggml_log_level ggml_level(LogLevel level) {
    switch (level) {
    case LogLevel::error: return GGML_LOG_LEVEL_ERROR;
    case LogLevel::warn: return GGML_LOG_LEVEL_WARN;
    case LogLevel::info: return GGML_LOG_LEVEL_INFO;
    case LogLevel::debug: return GGML_LOG_LEVEL_DEBUG;
    }
    return GGML_LOG_LEVEL_ERROR;
}

} // namespace

void set_log_level(LogLevel level) { level_limit.store(level, std::memory_order_relaxed); }

void log(LogLevel level, const char *format, ...) {
    if (level > level_limit.load(std::memory_order_relaxed)) return;
    char line[line_limit];
    int used = std::snprintf(line, sizeof line, "ggml-virtgpu: ");
    va_list arguments;
    va_start(arguments, format);
    int more = std::vsnprintf(line + used, sizeof line - static_cast<size_t>(used) - 1, format, arguments);
    va_end(arguments);
    size_t end = static_cast<size_t>(used) + static_cast<size_t>(more > 0 ? more : 0);
    if (end > sizeof line - 2) end = sizeof line - 2;
    line[end] = '\n';
    line[end + 1] = '\0';

    ggml_log_callback callback = nullptr;
    void *user_data = nullptr;
    ggml_log_get(&callback, &user_data);
    if (callback != nullptr) {
        callback(ggml_level(level), line, user_data);
    } else {
        std::fputs(line, stderr);
    }
}

} // namespace apir::guest
