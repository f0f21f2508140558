#include "write_behind.hpp"

#include <utility>

#include "forked.hpp"
#include "guarded.hpp"

namespace apir::guest {

bool WriteBehind::leave(std::unique_ptr<SentWrite> write) {
    while (leaves()) {
        end(take());
        std::lock_guard lock(mutex_);
        if (left_ != nullptr) continue; // another thread's, meanwhile
        if (!data_slots_.has_another()) break;
        left_ = std::move(write);
        is_left_.store(true, std::memory_order_release);
        return true;
    }
    return write->end();
}

void WriteBehind::look() {
    if (!is_left_.load(std::memory_order_acquire)) return;
    std::unique_ptr<SentWrite> answered;
    {
        std::lock_guard lock(mutex_);
        if (left_ != nullptr && left_->answered()) answered = take_locked();
    }
    end(std::move(answered));
}

void WriteBehind::settle() {
    if (!in_forked_child()) end(take()); // there it is the parent's
}

std::unique_ptr<SentWrite> WriteBehind::take() {
    std::lock_guard lock(mutex_);
    return take_locked();
}

std::unique_ptr<SentWrite> WriteBehind::take_locked() {
    is_left_.store(false, std::memory_order_relaxed);
    return std::move(left_);
}

void WriteBehind::end(std::unique_ptr<SentWrite> write) {
    if (write == nullptr) return;
    if (!guarded("set_tensor", false, [&] { return write->end(); })) channel_.lose_write();
}

} // namespace apir::guest
