#include "waiting_row.hpp"

namespace apir::guest {

// Never destroyed: threads may still wait when the process ends.
WaitingRow &WaitingRow::instance() {
    static WaitingRow &row = *new WaitingRow;
    return row;
}

WaitingRow::Place::Place(WaitingRow &row, const std::atomic<uint32_t> &word) : row_(row), word_(word) {
    std::lock_guard lock(row_.mutex_);
    Place **end = &row_.first_;
    while (*end != nullptr) end = &(*end)->next_;
    *end = this;
    row_.size_.fetch_add(1, std::memory_order_relaxed);
}

WaitingRow::Place::~Place() {
    std::lock_guard lock(row_.mutex_);
    if (!called_) row_.remove(*this);
}

bool WaitingRow::Place::sleep(std::chrono::steady_clock::duration at_most) {
    std::unique_lock lock(row_.mutex_);
    return call_.wait_for(lock, at_most, [this] { return called_; });
}

void WaitingRow::remove(Place &place) {
    Place **at = &first_;
    while (*at != &place) at = &(*at)->next_;
    *at = place.next_;
    size_.fetch_sub(1, std::memory_order_relaxed);
}

void WaitingRow::call(Place &place) {
    remove(place);
    place.called_ = true;
    // With the mutex held: the place is gone as soon as its thread sees that it was called.
    place.call_.notify_one();
}

void WaitingRow::call_first() {
    if (empty()) return;
    std::lock_guard lock(mutex_);
    if (first_ != nullptr) call(*first_);
}

void WaitingRow::call_answered() {
    if (empty()) return;
    std::lock_guard lock(mutex_);
    for (Place *place = first_; place != nullptr;) {
        Place *next = place->next_;
        if (place->word_.load(std::memory_order_relaxed) != 0) call(*place);
        place = next;
    }
}

} // namespace apir::guest
