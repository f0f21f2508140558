#include "waiting_row.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>
#include <vector>

namespace apir::guest {
namespace {

using namespace std::chrono_literals;

// A turn that took longer is none: somebody did something else in between.
constexpr auto longest_turn = 100ms;
constexpr auto longest_due = 200ms;

// The processors that the thread may use, if it was bound to this one instead.
std::optional<cpu_set_t> bind_here(pid_t thread) {
    const int here = sched_getcpu();
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    // A system with more processors than fit is left to itself.
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(thread, sizeof allowed, &allowed) != 0) return std::nullopt;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(here), &only);
    if (!CPU_ISSET(static_cast<size_t>(here), &allowed) || sched_setaffinity(thread, sizeof only, &only) != 0) return std::nullopt;
    return allowed;
}

} // namespace

// A bell of its own, not the thread's: programs call from static destructors, when what belongs to the thread is gone.
WaitingRow::Place::Place(WaitingRow &row, const std::atomic<uint32_t> &word)
    : row_(row), word_(word), thread_(gettid()), bell_(std::make_shared<std::condition_variable>()) {
    std::lock_guard lock(row_.mutex_);
    Place **end = &row_.first_;
    while (*end != nullptr) end = &(*end)->next_;
    *end = this;
    row_.size_.fetch_add(1, std::memory_order_relaxed);
}

WaitingRow::Place::~Place() {
    {
        std::lock_guard lock(row_.mutex_);
        if (!called_) row_.remove(*this);
    }
    if (processors_) sched_setaffinity(0, sizeof *processors_, &*processors_);
}

bool WaitingRow::Place::sleep(Clock::duration at_most) {
    std::unique_lock lock(row_.mutex_);
    if (!std::exchange(waited_for_turn_, true)) at_most = std::max(at_most, row_.due(*this));
    return bell_->wait_for(lock, at_most, [this] { return called_; });
}

void WaitingRow::remove(Place &place) {
    Place **at = &first_;
    while (*at != &place) at = &(*at)->next_;
    *at = place.next_;
    size_.fetch_sub(1, std::memory_order_relaxed);
}

WaitingRow::Bell WaitingRow::call(Place &place) {
    remove(place);
    place.called_ = true;
    return place.bell_;
}

// When it would be late for the place's turn; 0 where nobody knows.
WaitingRow::Clock::duration WaitingRow::due(const Place &place) const {
    int turns = 1;
    for (const Place *ahead = first_; ahead != &place && ahead != nullptr; ahead = ahead->next_) ++turns;
    return std::min<Clock::duration>(turn_ * turns * 3 / 2, longest_due);
}

void WaitingRow::count_turn() {
    const Clock::time_point now = Clock::now();
    const Clock::duration took = now - gave_way_;
    turn_ = took <= longest_turn ? took : Clock::duration(0);
    gave_way_ = now;
}

void WaitingRow::forget_turn() {
    std::lock_guard lock(mutex_);
    turn_ = {};
    gave_way_ = {};
}

void WaitingRow::call_first() {
    if (empty()) return;
    Bell bell;
    {
        std::lock_guard lock(mutex_);
        if (first_ != nullptr) bell = call(*first_);
    }
    if (bell) bell->notify_one();
}

bool WaitingRow::give_way() {
    if (empty()) return false;
    Bell bell;
    {
        std::lock_guard lock(mutex_);
        if (first_ == nullptr) return false;
        count_turn();
        first_->processors_ = bind_here(first_->thread_);
        bell = call(*first_);
    }
    bell->notify_one();
    return true;
}

void WaitingRow::call_answered() {
    if (empty()) return;
    std::vector<Bell> bells;
    {
        std::lock_guard lock(mutex_);
        for (Place *place = first_; place != nullptr;) {
            Place *next = place->next_;
            if (place->word_.load(std::memory_order_relaxed) != 0) bells.push_back(call(*place));
            place = next;
        }
    }
    for (const Bell &bell : bells) bell->notify_one();
}

} // namespace apir::guest
