#include "buffer_reserve.hpp"

#include <algorithm>

namespace apir::guest {

// The smallest that fits and is not more than twice as large.
std::unique_ptr<RemoteBuffer> BufferReserve::take(size_t size) {
    Freed freed;
    std::lock_guard lock(mutex_);
    auto best = kept_.end();
    for (auto each = kept_.begin(); each != kept_.end(); ++each) {
        size_t capacity = each->buffer->capacity();
        bool fits = capacity >= size && capacity / 2 <= std::max<size_t>(size, blob_granularity);
        if (fits && (best == kept_.end() || capacity < best->buffer->capacity())) best = each;
    }
    if (best == kept_.end()) {
        freed = surplus();
        return nullptr;
    }
    std::unique_ptr<RemoteBuffer> buffer = std::move(best->buffer);
    kept_bytes_ -= buffer->capacity();
    kept_.erase(best);
    buffer->lend(size);
    return buffer;
}

void BufferReserve::give_back(std::unique_ptr<RemoteBuffer> buffer) {
    Freed freed;
    std::lock_guard lock(mutex_);
    // After a call without an answer the host may still write to any buffer, and so it may for as long as calls are in flight: to be
    // freed there is a call behind them. A lost device's buffer is of no use. One large buffer would push out all the small ones, which
    // are asked for more often.
    Session &session = buffer->session();
    const Channel &channel = session.channel();
    const bool unusable = channel.lost() || channel.in_doubt() || session.calls_in_flight() != 0;
    if (unusable || buffer->capacity() > limit_bytes_ / 2) {
        freed.push_back(std::move(buffer));
    } else {
        kept_.push_back({std::move(buffer), Clock::now()});
        kept_bytes_ += kept_.back().buffer->capacity();
    }
    Freed more = surplus();
    std::move(more.begin(), more.end(), std::back_inserter(freed));
}

BufferReserve::Freed BufferReserve::surplus() {
    Freed freed;
    Clock::time_point oldest = Clock::now() - limit_age_;
    while (!kept_.empty() && (kept_bytes_ > limit_bytes_ || kept_.size() > limit_count || kept_.front().since < oldest)) {
        freed.push_back(std::move(kept_.front().buffer));
        kept_bytes_ -= freed.back()->capacity();
        kept_.pop_front();
    }
    return freed;
}

bool BufferReserve::give_up_all() {
    std::deque<Kept> all;
    std::lock_guard lock(mutex_);
    all.swap(kept_);
    kept_bytes_ = 0;
    return !all.empty();
}

} // namespace apir::guest
