#include "log.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <type_traits>
#include <unistd.h>

#include <call_log.hpp>
#include <ggml.h>
#include <unawaited_write.hpp>

namespace apir::host {
namespace {

// Of all processes that share a budget.
constexpr uint64_t lines_of_all = 4000;

struct Sink {
    std::mutex mutex;
    int holders = 0;
    int fd = -1;
    bool line_open = false; // ggml writes lines in pieces
    bool echo = false; // the open line is a warning or an error
    bool left_out = false; // so is the rest of the line
    LogBudget budget{2000}; // ggml tells much when a device is opened
};

// Never destroyed: ggml's threads may log while the process ends. Nor on the heap, where it would be lost when the library is unloaded.
Sink &sink() {
    static_assert(std::is_trivially_destructible_v<Sink>);
    static Sink instance;
    return instance;
}

const char *name(Level level) {
    switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warn: return "warn";
    case Level::error: return "error";
    }
    return "error";
}

// Nothing that is said steers a terminal, or ends one of our own lines; names of tensors are printable anyway (tensor_check.cpp).
void clean(std::string &text) {
    for (char &one : text)
        if ((static_cast<unsigned char>(one) < ' ' && one != '\n' && one != '\t') || one == '\x7f') one = '?';
}

// With the sink locked. `text` may be a piece of a line.
void emit_piece(Sink &out, Level level, bool continues, const std::string &text) {
    std::string line;
    if (!continues || !out.line_open) {
        if (out.line_open) line += '\n';
        line += '[';
        line += name(level);
        line += "] ";
        out.echo = level == Level::warn || level == Level::error;
    }
    line += text;
    out.line_open = line.back() != '\n';
    // A computation stops for no full disk, and waits for nobody who reads there.
    if (out.fd >= 0) write_unawaited(out.fd, line.data(), line.size());
    if (out.echo) write_unawaited(STDERR_FILENO, line.data(), line.size());
}

void emit(Sink &out, Level level, bool continues, const std::string &text) {
    if (!continues) out.left_out = !out.budget.allows(monotonic_ns());
    if (out.left_out) return;
    const uint64_t lines = out.budget.take_left_out();
    if (lines != 0) emit_piece(out, Level::warn, false, std::to_string(lines) + " lines were left out: too many at once\n");
    emit_piece(out, level, continues, text);
}

void on_ggml_log(ggml_log_level level, const char *text, void *) {
    if (text == nullptr || *text == '\0') return;
    Sink &out = sink();
    std::lock_guard lock(out.mutex);
    Level ours = level == GGML_LOG_LEVEL_ERROR  ? Level::error
                 : level == GGML_LOG_LEVEL_WARN ? Level::warn
                 : level == GGML_LOG_LEVEL_INFO ? Level::info
                                                : Level::debug;
    std::string cleaned = text;
    clean(cleaned);
    emit(out, ours, level == GGML_LOG_LEVEL_CONT, cleaned);
}

} // namespace

LogHold::LogHold(bool append) {
    Sink &out = sink();
    std::lock_guard lock(out.mutex);
    if (out.holders++ > 0) return;
    const char *path = std::getenv("APIR_LLAMA_CPP_LOG_TO_FILE");
    if (path != nullptr && *path != '\0') {
        // O_APPEND even after truncating: several processes may write to the same file.
        out.fd = open_unawaited(path, O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC));
        if (out.fd < 0) {
            std::string text = std::string("cannot open the log file ") + path + ": " + std::strerror(errno) + "\n";
            emit(out, Level::warn, false, text);
        }
    }
    ggml_log_set(on_ggml_log, nullptr);
}

LogHold::~LogHold() {
    Sink &out = sink();
    std::lock_guard lock(out.mutex);
    if (--out.holders > 0) return;
    // This library may be unloaded next: ggml must not call into it any more.
    ggml_log_set(nullptr, nullptr);
    if (out.fd >= 0) close(out.fd);
    out.fd = -1;
    out.line_open = false;
}

void share_log(LogBudget::PaidUntil *paid_until_ns) {
    Sink &out = sink();
    std::lock_guard lock(out.mutex);
    out.budget.share(paid_until_ns, lines_of_all);
}

void log(Level level, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = std::vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (size < 0) return;
    std::string line = text;
    std::replace(line.begin(), line.end(), '\n', '?');
    clean(line);
    Sink &out = sink();
    std::lock_guard lock(out.mutex);
    emit(out, level, false, line + '\n');
}

} // namespace apir::host
