// Where exceptions end: functions that C calls, and destructors.
#pragma once

#include <exception>

#include "log.hpp"

namespace apir::guest {

// What `body` returns, or `otherwise` when it throws (no memory), which is logged as of `what`.
template <typename Result, typename Body> Result guarded(const char *what, Result otherwise, Body body) noexcept {
    try {
        return body();
    } catch (const std::exception &error) {
        log(LogLevel::error, "%s: %s", what, error.what());
    } catch (...) {
        log(LogLevel::error, "%s: unknown exception", what);
    }
    return otherwise;
}

} // namespace apir::guest
