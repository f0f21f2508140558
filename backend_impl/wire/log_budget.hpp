// How much a log takes: lines that a guest can cause at will must not fill the host's disk.
#pragma once

#include <algorithm>
#include <cstdint>

namespace apir {

// So many lines at once, and later one per second; those left out are counted. Not locked.
class LogBudget {
  public:
    explicit constexpr LogBudget(uint64_t burst) : burst_(burst), left_(burst) {}

    // Whether a line may be written now (CLOCK_MONOTONIC).
    bool allows(uint64_t now_ns) {
        constexpr uint64_t ns_per_line = 1'000'000'000;
        if (counted_ns_ == 0) counted_ns_ = now_ns;
        const uint64_t earned = (now_ns - std::min(counted_ns_, now_ns)) / ns_per_line;
        left_ = std::min(burst_, left_ + earned);
        counted_ns_ += earned * ns_per_line;
        if (left_ == 0) {
            ++left_out_;
            return false;
        }
        --left_;
        return true;
    }
    // Lines left out since this was asked last.
    uint64_t take_left_out() {
        const uint64_t lines = left_out_;
        left_out_ = 0;
        return lines;
    }

  private:
    uint64_t burst_;
    uint64_t left_;
    uint64_t counted_ns_ = 0;
    uint64_t left_out_ = 0;
};

} // namespace apir
