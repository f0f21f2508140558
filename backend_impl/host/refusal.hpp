// Why a call of the guest is not carried out.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace apir::host {

// Thrown before anything has been changed; dispatch answers the guest with DispatchCode::failed and logs the text. What has been
// changed nevertheless: the calls of a batch before the refused one are carried out; graph_keep has dropped what it was told to drop; a
// graph whose changes (graph_patch) are refused is kept no longer; and a graph may have been computed in part (guarded_compute.hpp).
class Refusal : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Throws a Refusal with a printf-like text.
[[noreturn, gnu::format(printf, 1, 2), gnu::cold]] inline void refuse(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    throw Refusal(text);
}

} // namespace apir::host
