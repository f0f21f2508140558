#include "row.hpp"

#include <cstdio>

namespace apir::bench {

Row &Row::key(const char *name) {
    line_ += (line_.empty() ? "\"" : ", \"") + std::string(name) + "\": ";
    return *this;
}

Row &Row::text(const char *name, const std::string &value) {
    key(name).line_ += '"';
    for (unsigned char c : value) {
        if (c == '"' || c == '\\') line_ += '\\';
        line_ += c < 0x20 ? '?' : static_cast<char>(c);
    }
    line_ += '"';
    return *this;
}

Row &Row::number(const char *name, uint64_t value) {
    key(name).line_ += std::to_string(value);
    return *this;
}

Row &Row::numbers(const char *name, const std::vector<uint64_t> &values) {
    key(name).line_ += '[';
    for (size_t i = 0; i < values.size(); ++i) line_ += (i == 0 ? "" : ", ") + std::to_string(values[i]);
    line_ += ']';
    return *this;
}

Row &Row::samples(const Timed &timed) {
    return numbers("ns", timed.ns).number("begin_ns", timed.begin_ns).number("end_ns", timed.end_ns).number("rounds", timed.calls);
}

void Row::print() const {
    std::printf("%s\n", line().c_str());
    std::fflush(stdout);
}

} // namespace apir::bench
