#include "in_flight.hpp"

#include <utility>

#include "forked.hpp"
#include "guarded.hpp"
#include "log.hpp"

namespace apir::guest {

bool InFlight::has_room() {
    if (in_forked_child()) return false;
    if (all_.load() >= limit_of_all) await_all();
    return all_.load() < limit_of_all;
}

void InFlight::add(Call call) {
    uint64_t surplus = 0;
    {
        std::lock_guard lock(mutex_);
        calls_.push_back(std::move(call));
        ++all_; // of those that are here only: each is taken off when it ends
        ++added_;
        if (calls_.size() > limit) surplus = added_ - limit;
    }
    if (surplus == 0) return;
    // What another one throws is that one's failure, which has been noted: this one is on its way.
    guarded("a call sent ahead", 0, [&] {
        await(surplus);
        return 0;
    });
}

uint64_t InFlight::last() const {
    if (in_forked_child()) return 0; // nothing is in flight there, and the lock may be that of a thread which is not there
    std::lock_guard lock(mutex_);
    return added_;
}

void InFlight::await(uint64_t place) {
    if (in_forked_child()) return; // there they are the parent's
    std::unique_lock lock(mutex_);
    while (ended_ < place) {
        if (ending_) wait_for_one(lock);
        else if (calls_.empty()) return;
        else end_one(lock);
    }
}

void InFlight::await_all_but(size_t count) {
    if (in_forked_child()) return;
    const uint64_t added = last();
    if (added > count) await(added - count);
}

void InFlight::wait_for_one(std::unique_lock<std::mutex> &lock) {
    ++waiting_;
    one_less_.wait(lock);
    --waiting_;
}

bool InFlight::wait_for_one(std::unique_lock<std::mutex> &lock, std::chrono::milliseconds patience) {
    const uint64_t before = ended_;
    ++waiting_;
    const bool ended = one_less_.wait_for(lock, patience, [&] { return ended_ != before; });
    --waiting_;
    return ended;
}

void InFlight::end_answered(std::chrono::milliseconds patience) {
    if (in_forked_child()) return;
    std::unique_lock lock(mutex_);
    do {
        while (!ending_ && !calls_.empty() && calls_.front()->answered()) end_one(lock);
    } while (ending_ && patience.count() != 0 && wait_for_one(lock, patience));
}

void InFlight::end_one(std::unique_lock<std::mutex> &lock) {
    // However the call ends: one that throws has failed.
    struct Ending {
        ~Ending() {
            call = nullptr; // what it holds, without the lock
            --calls.all_;
            lock.lock();
            calls.ending_ = false;
            ++calls.ended_;
            if (!went_well) calls.note_failure();
            if (calls.waiting_ != 0) calls.one_less_.notify_all();
        }

        InFlight &calls;
        std::unique_lock<std::mutex> &lock;
        Call call;
        bool went_well = false;
    };
    Ending one{*this, lock, std::move(calls_.front())};
    calls_.pop_front();
    ending_ = true;
    lock.unlock();
    one.went_well = one.call->end();
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
    if (in_forked_child()) return; // where each graph fails
    std::lock_guard lock(mutex_);
    note_failure();
}

bool InFlight::take_failure() {
    if (!failed()) return false;
    std::lock_guard lock(mutex_);
    return failed_.exchange(false);
}

} // namespace apir::guest
