#include "blob_reserve.hpp"

#include <algorithm>
#include <vector>

#include "apir_gen.hpp"

namespace apir::guest {

namespace {

constexpr size_t limit_bytes = size_t{64} << 20;
constexpr size_t limit_count = 64;
constexpr size_t doubling_limit = size_t{1} << 20;
// A buffer without a blob is copied, which is no reason to wait for the closing of many.
constexpr std::chrono::milliseconds longest_wait{100};

// Sizes are evened out so that blobs fit one another's successors: powers of two up to 1 MiB, then whole MiB.
size_t size_class(size_t size) {
    if (size > SIZE_MAX - doubling_limit) return size;
    if (size > doubling_limit) return (size + doubling_limit - 1) / doubling_limit * doubling_limit;
    size_t rounded = blob_granularity;
    while (rounded < size) rounded *= 2;
    return rounded;
}

} // namespace

BlobReserve::~BlobReserve() {
    for (Blob &each : kept_) device_.close_blob(each);
    for (Blob &each : left_) device_.close_blob(each);
}

Status BlobReserve::take(size_t size, Blob &blob) {
    if (find(size, blob)) return {};
    Status status = device_.create_blob(size_class(size), blob);
    if (status.ok()) return status;
    // The window is full: with what is kept, and with rounding, there may have been room.
    give_up_all();
    return device_.create_blob_in_time(size, blob, longest_wait);
}

// The smallest that fits and is not more than twice as large.
bool BlobReserve::find(size_t size, Blob &blob) {
    std::lock_guard lock(mutex_);
    auto best = kept_.end();
    for (auto each = kept_.begin(); each != kept_.end(); ++each) {
        bool fits = each->size >= size && each->size / 2 <= std::max<size_t>(size, blob_granularity);
        if (fits && (best == kept_.end() || each->size < best->size)) best = each;
    }
    if (best == kept_.end()) return false;
    blob = *best;
    kept_bytes_ -= blob.size;
    kept_.erase(best);
    return true;
}

void BlobReserve::give_back(Blob blob) {
    std::vector<Blob> surplus;
    if (blob.size > limit_bytes / 2) {
        // One large blob would push out all the small ones, which are asked for more often.
        surplus.push_back(blob);
    } else {
        std::lock_guard lock(mutex_);
        kept_.push_back(blob);
        kept_bytes_ += blob.size;
        while (kept_bytes_ > limit_bytes || kept_.size() > limit_count) {
            surplus.push_back(kept_.front());
            kept_bytes_ -= kept_.front().size;
            kept_.pop_front();
        }
    }
    for (Blob &each : surplus) device_.close_blob(each);
}

void BlobReserve::leave(Blob blob) {
    std::lock_guard lock(mutex_);
    left_.push_back(blob);
}

void BlobReserve::give_up_all() {
    std::deque<Blob> all;
    {
        std::lock_guard lock(mutex_);
        all.swap(kept_);
        kept_bytes_ = 0;
    }
    for (Blob &each : all) device_.close_blob(each);
}

} // namespace apir::guest
