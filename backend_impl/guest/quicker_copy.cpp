#include "quicker_copy.hpp"

#include <algorithm>

namespace apir::guest {

namespace {

// So long the quickest quarter of them took, or less: what else goes on in the machine makes blocks slower, never quicker.
template <typename Times> auto lower_quartile(Times &times) {
    const auto quartile = times.begin() + times.size() / 4;
    std::nth_element(times.begin(), quartile, times.end());
    return *quartile;
}

} // namespace

void TwoWays::took(Duration time) {
    times_[count_ % 2][count_ / 2] = time;
    ++count_;
    if (decided()) second_is_quicker_ = lower_quartile(times_[1]) < lower_quartile(times_[0]);
}

void QuickerCopy::copy(uint8_t *to, const uint8_t *from, size_t size) {
    const Copy known = known_.load(std::memory_order_relaxed);
    if (known != nullptr) return known(to, from, size);
    // One thread finds out; others go on meanwhile.
    std::unique_lock lock(mutex_, std::try_to_lock);
    size_t at = 0;
    for (; lock && at + block <= size && !ways_.decided(); at += block) try_next(to + at, from + at);
    if (at < size) first_(to + at, from + at, size - at);
}

void QuickerCopy::try_next(uint8_t *to, const uint8_t *from) {
    const auto start = std::chrono::steady_clock::now();
    (ways_.second() ? second_ : first_)(to, from, block);
    ways_.took(std::chrono::steady_clock::now() - start);
    if (ways_.decided()) known_.store(ways_.second() ? second_ : first_, std::memory_order_relaxed);
}

} // namespace apir::guest
