// Messages of the guest library. They go where ggml's own messages go (ggml_log_set), each with the prefix
// "ggml-virtgpu: ", when their level is at most the configured one.
#pragma once

namespace apir::guest {

enum class LogLevel { error, warn, info, debug };

void set_log_level(LogLevel level);

__attribute__((format(printf, 2, 3))) void log(LogLevel level, const char *format, ...);

} // namespace apir::guest
