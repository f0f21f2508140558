// How much a log takes: lines that a guest can cause at will must not fill the host's disk.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace apir {

// So many lines at once, and later one per second; those left out are counted. Not locked.
class LogBudget {
  public:
    // What several processes may say together: a word in memory that they share, 0 at first, tells until when (CLOCK_MONOTONIC) their lines
    // are paid for. Its truth decides about lines only, and who shares it can write them as well.
    using PaidUntil = std::atomic<uint64_t>;
    static_assert(PaidUntil::is_always_lock_free);

    explicit constexpr LogBudget(uint64_t burst) : burst_(burst), left_(burst) {}

    // From now on lines have to fit into a second budget as well, `burst` at once. The word is there for as long as this is.
    void share(PaidUntil *paid_until_ns, uint64_t burst) {
        shared_ = paid_until_ns;
        shared_burst_ = burst;
    }

    // Whether a line may be written now (CLOCK_MONOTONIC).
    bool allows(uint64_t now_ns) {
        if (counted_ns_ == 0) counted_ns_ = now_ns;
        const uint64_t earned = (now_ns - std::min(counted_ns_, now_ns)) / ns_per_line;
        left_ = std::min(burst_, left_ + earned);
        counted_ns_ += earned * ns_per_line;
        if (left_ == 0 || !others_allow(now_ns)) {
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
    static constexpr uint64_t ns_per_line = 1'000'000'000;

    bool others_allow(uint64_t now_ns) {
        if (shared_ == nullptr) return true;
        uint64_t until_ns = shared_->load(std::memory_order_relaxed);
        uint64_t then_ns = 0;
        do {
            then_ns = std::max(until_ns, now_ns) + ns_per_line;
            if (then_ns - now_ns > shared_burst_ * ns_per_line) return false;
        } while (!shared_->compare_exchange_weak(until_ns, then_ns, std::memory_order_relaxed));
        return true;
    }

    uint64_t burst_;
    uint64_t left_;
    uint64_t counted_ns_ = 0;
    uint64_t left_out_ = 0;
    PaidUntil *shared_ = nullptr;
    uint64_t shared_burst_ = 0;
};

} // namespace apir
