#include "deferred_slots.hpp"

#include <algorithm>

namespace apir::guest {

bool DeferredSlots::has_room() {
    look();
    return !has_unsent() && count_.load(std::memory_order_relaxed) < most;
}

bool DeferredSlots::leave(BlobPool::Lease &slot) {
    std::lock_guard lock(mutex_);
    if (unsent_ || slots_.size() >= most) return false;
    slots_.push_back({std::move(slot), nullptr});
    count_ = slots_.size();
    unsent_ = true;
    return true;
}

void DeferredSlots::sent(const std::atomic<uint32_t> &notify) {
    std::lock_guard lock(mutex_);
    for (Slot &slot : slots_)
        if (slot.notify == nullptr) slot.notify = &notify;
    unsent_ = false;
}

void DeferredSlots::ended(const std::atomic<uint32_t> &notify, bool answered) {
    give_back([&notify](const Slot &slot) { return slot.notify == &notify; }, !answered);
}

void DeferredSlots::look() {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    give_back([](const Slot &slot) { return slot.notify != nullptr && slot.notify->load(std::memory_order_acquire) != 0; }, false);
}

template <typename Is> void DeferredSlots::give_back(Is is, bool retired) {
    std::lock_guard lock(mutex_);
    for (Slot &slot : slots_)
        if (retired && is(slot)) slot.lease.retire();
    slots_.erase(std::remove_if(slots_.begin(), slots_.end(), is), slots_.end());
    count_ = slots_.size();
}

} // namespace apir::guest
