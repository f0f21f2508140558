#include "in_flight.hpp"

#include <utility>

#include "log.hpp"

namespace apir::guest {

bool InFlight::has_room() {
    if (all_.load() >= limit_of_all) await_all();
    return all_.load() < limit_of_all;
}

void InFlight::add(End end) {
    ++all_;
    uint64_t surplus = 0;
    {
        std::lock_guard lock(mutex_);
        calls_.push_back(std::move(end));
        ++added_;
        if (calls_.size() > limit) surplus = added_ - limit;
    }
    if (surplus != 0) await(surplus);
}

uint64_t InFlight::last() const {
    std::lock_guard lock(mutex_);
    return added_;
}

void InFlight::await(uint64_t place) {
    std::lock_guard one_after_the_other(ending_);
    for (;;) {
        End end;
        {
            std::lock_guard lock(mutex_);
            if (ended_ >= place || calls_.empty()) return;
            end = std::move(calls_.front());
            calls_.pop_front();
        }
        bool went_well = end();
        --all_;
        std::lock_guard lock(mutex_);
        ++ended_;
        if (!went_well) note_failure();
    }
}

// Whoever waits has been told of success before, and ggml has no status for waiting.
void InFlight::note_failure() {
    if (!failed_) {
        log(LogLevel::error, "a graph or transfer that was sent ahead has failed: what it was to compute or read is not there, "
                             "and the next graph is refused");
    }
    failed_ = true;
}

void InFlight::fail() {
    std::lock_guard lock(mutex_);
    note_failure();
}

bool InFlight::failed() const {
    std::lock_guard lock(mutex_);
    return failed_;
}

bool InFlight::take_failure() {
    std::lock_guard lock(mutex_);
    return std::exchange(failed_, false);
}

} // namespace apir::guest
