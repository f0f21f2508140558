// Data slots of writes that go along with the next call (Channel::defer_with), from when they were left until that one's reply is there. Whoever makes
// that call may not look at its reply for long, as with a graph that was sent ahead: so others may, and have the slot.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "blob_pool.hpp"

namespace apir::guest {

class DeferredSlots {
  public:
    // At once: so many of the pool's are left for writes and reads that do not wait.
    static constexpr size_t most = 2;

    DeferredSlots() { slots_.reserve(most); }

    // Whether one may be left, as far as is known without another thread.
    bool has_room();
    // One that has yet to be sent; false when there is one, or no room, and then the slot is still the caller's.
    bool leave(BlobPool::Lease &slot);
    bool has_unsent() const { return unsent_.load(std::memory_order_relaxed); }
    // It went along with the call whose reply is told by `notify`. To be followed by `ended`, before another call has that reply slot.
    void sent(const std::atomic<uint32_t> &notify);
    // What that call took along is used again if it was answered, else never.
    void ended(const std::atomic<uint32_t> &notify, bool answered);
    // Gives back those of answered calls.
    void look();

  private:
    struct Slot {
        BlobPool::Lease lease;
        const std::atomic<uint32_t> *notify; // nullptr: not sent
    };

    template <typename Is> void give_back(Is is, bool retired);

    std::mutex mutex_;
    std::vector<Slot> slots_;
    std::atomic<size_t> count_{0}; // of them
    std::atomic<bool> unsent_{false};
};

} // namespace apir::guest
