#include "write_behind.hpp"

#include <utility>

#include "forked.hpp"
#include "guarded.hpp"
#include "log.hpp"

namespace apir::guest {

namespace {

// So late at most does a thread that waits see a reply that is there. Who waits for a later write is not waited for longer.
constexpr std::chrono::milliseconds longest_nap{10};

} // namespace

bool WriteBehind::leave(std::unique_ptr<SentWrite> write) {
    while (leaves()) {
        end(take());
        channel_.deferred_slots().look();
        std::lock_guard lock(mutex_);
        if (left_ != nullptr) continue; // another thread's, meanwhile
        if (!guarded("set_tensor", false, [&] { return data_slots_.has_another(); })) break;
        left_ = std::move(write);
        left_number_.store(++count_, std::memory_order_release);
        return true;
    }
    return write->end();
}

void WriteBehind::look_at_it() {
    std::unique_ptr<SentWrite> answered;
    {
        std::lock_guard lock(mutex_);
        if (left_ != nullptr && left_->answered()) answered = take_locked();
    }
    end(std::move(answered));
}

void WriteBehind::settle() {
    if (in_forked_child()) return; // there it is the parent's
    guarded("set_tensor", 0, [&] {
        channel_.send_deferred_slot();
        return 0;
    });
    guarded("set_tensor", 0, [&] {
        channel_.await_batches();
        return 0;
    });
    end(take());
    channel_.deferred_slots().look();
    std::unique_lock lock(mutex_);
    none_ending_.wait(lock, [this] { return ending_ == 0; });
}

void WriteBehind::look_behind_a_call(uint64_t left_before) {
    if (in_forked_child()) return;
    if (left_before != 0) give_up(left_before);
    look();
    channel_.look_at_carried();
    channel_.look_at_batches(longest_nap);
    std::unique_lock lock(mutex_);
    none_ending_.wait_for(lock, longest_nap, [this] { return ending_ == 0; });
}

// Its slots are not used again: the host may yet come to it.
void WriteBehind::give_up(uint64_t number) {
    std::unique_ptr<SentWrite> silent;
    {
        std::lock_guard lock(mutex_);
        if (left_number_.load(std::memory_order_relaxed) != number || left_->answered()) return;
        silent = take_locked();
    }
    log(LogLevel::error, "set_tensor: no reply from the host, which has answered a call that was sent behind it");
    silent = nullptr;
    channel_.lose_transfer();
    ended();
}

std::unique_ptr<SentWrite> WriteBehind::take() {
    std::lock_guard lock(mutex_);
    return take_locked();
}

std::unique_ptr<SentWrite> WriteBehind::take_locked() {
    left_number_.store(0, std::memory_order_relaxed);
    if (left_ != nullptr) ++ending_;
    return std::move(left_);
}

void WriteBehind::end(std::unique_ptr<SentWrite> write) {
    if (write == nullptr) return;
    if (!guarded("set_tensor", false, [&] { return write->end(); })) channel_.lose_transfer();
    ended();
}

void WriteBehind::ended() {
    std::lock_guard lock(mutex_);
    if (--ending_ == 0) none_ending_.notify_all();
}

} // namespace apir::guest
