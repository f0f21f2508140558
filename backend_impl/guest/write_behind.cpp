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
        write->number_ = last_.load(std::memory_order_relaxed) + 1;
        last_.store(write->number_, std::memory_order_release);
        left_ = std::move(write);
        is_left_.store(true, std::memory_order_release);
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
    one_ended_.wait(lock, [this] { return ending_ == nullptr; });
}

// Who ends one without a reply does so for as long as a call may take, which begins anew behind each graph; of a pipe's, for as long as a graph may.
void WriteBehind::look_behind_a_call(const SentBefore &before) {
    if (in_forked_child()) return;
    const uint64_t last_before = before.left;
    if (last_before != 0) give_up(last_before);
    channel_.give_up_carried(before.carried);
    look();
    channel_.look_at_carried();
    channel_.look_at_batches(longest_nap);
    std::unique_lock lock(mutex_);
    if (last_before == 0) {
        one_ended_.wait_for(lock, longest_nap, [this] { return ending_ == nullptr; });
        return;
    }
    if (has_ended(last_before)) return;
    const Clock::duration patience = 2 * (channel_.deadline(Patience::ordinary).moment() - Clock::now());
    if (!one_ended_.wait_for(lock, patience, [&] { return has_ended(last_before); })) channel_.lose_transfer();
}

bool WriteBehind::has_ended(uint64_t number) const {
    const SentWrite *each = ending_;
    while (each != nullptr && each->number_ > number) each = each->next_;
    return each == nullptr;
}

// Its slots are not used again: the host may yet come to it.
void WriteBehind::give_up(uint64_t last_before) {
    if (!is_left_.load(std::memory_order_acquire)) return;
    std::unique_ptr<SentWrite> silent;
    {
        std::lock_guard lock(mutex_);
        if (left_ == nullptr || left_->number_ > last_before || left_->answered()) return;
        silent = take_locked();
    }
    log(LogLevel::error, "set_tensor: no reply from the host, which has answered a call that was sent behind it");
    channel_.lose_transfer();
    ended(*silent);
}

std::unique_ptr<SentWrite> WriteBehind::take() {
    std::lock_guard lock(mutex_);
    return take_locked();
}

std::unique_ptr<SentWrite> WriteBehind::take_locked() {
    is_left_.store(false, std::memory_order_relaxed);
    if (left_ != nullptr) left_->next_ = std::exchange(ending_, left_.get());
    return std::move(left_);
}

void WriteBehind::end(std::unique_ptr<SentWrite> write) {
    if (write == nullptr) return;
    if (!guarded("set_tensor", false, [&] { return write->end(); })) channel_.lose_transfer();
    ended(*write);
}

void WriteBehind::ended(const SentWrite &write) {
    std::lock_guard lock(mutex_);
    SentWrite **at = &ending_;
    while (*at != &write) at = &(*at)->next_;
    *at = write.next_;
    one_ended_.notify_all();
}

} // namespace apir::guest
