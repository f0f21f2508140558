#include "transfer_choice.hpp"

#include <algorithm>
#include <array>

namespace apir::guest {

namespace {

struct Choices {
    TransferChoice out;
    TransferChoice in;
};

} // namespace

bool is_found_out(bool in, size_t size, bool pipes, size_t most_piped_out) {
    if (in) return size > (pipes ? surely_in_by_one : surely_in_by_one_without_pipe);
    return size > surely_out_by_one && size <= most_piped_out;
}

// Neither is ever destroyed: programs read tensors from their own static destructors.
TransferChoice &TransferChoice::of(bool in) {
    static Choices &transfers = *new Choices;
    return in ? transfers.in : transfers.out;
}

TransferChoice &TransferChoice::in_blobs(bool in, size_t size) {
    using Sizes = std::array<Choices, 4>;
    static Sizes &copies = *new Sizes;
    size_t doubled = 0;
    while (doubled + 1 < copies.size() && size >= least_by_two_in_blobs << (doubled + 1)) ++doubled;
    return in ? copies[doubled].in : copies[doubled].out;
}

bool TransferChoice::by_two() {
    std::lock_guard lock(mutex_);
    return ways_.second();
}

void TransferChoice::took(bool by_two, size_t size, std::chrono::steady_clock::duration time) {
    constexpr int64_t mib = 1 << 20;
    const std::chrono::nanoseconds counted = std::min<std::chrono::nanoseconds>(time, std::chrono::hours(1)); // so that the product fits
    const std::chrono::nanoseconds each = counted * mib / std::max<int64_t>(1, static_cast<int64_t>(size)); // of a mebibyte
    std::lock_guard lock(mutex_);
    if (!begins_anew()) ways_.took(by_two, each);
}

void TransferChoice::got_no_second() {
    std::lock_guard lock(mutex_);
    if (!begins_anew()) ways_.missed_second();
}

bool TransferChoice::begins_anew() {
    if (!ways_.decided() || ++since_known_ != pause_) return false;
    ways_ = {};
    since_known_ = 0;
    pause_ = std::min(2 * pause_, longest_pause);
    return true;
}

} // namespace apir::guest
