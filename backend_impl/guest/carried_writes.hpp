// Calls that took deferred writes along, until somebody has seen how they went: whoever made such a call may not look at its reply for long, as with a graph
// that was sent ahead, and what was not written concerns others, too.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace apir::guest {

class CarriedWrites {
  public:
    // Of so many calls at once.
    explicit CarriedWrites(size_t most) { replies_.reserve(most); }

    // They went along with the call whose reply is told by this word. To be followed by `ended`, before another call has that reply slot.
    void sent(const std::atomic<uint32_t> &notify) {
        std::lock_guard lock(mutex_);
        replies_.push_back(&notify);
        count_.store(replies_.size(), std::memory_order_release);
    }
    // That call's end. Whether nobody has seen how it went.
    bool ended(const std::atomic<uint32_t> &notify) {
        std::lock_guard lock(mutex_);
        const auto found = std::find(replies_.begin(), replies_.end(), &notify);
        if (found == replies_.end()) return false;
        replies_.erase(found);
        count_.store(replies_.size(), std::memory_order_release);
        return true;
    }
    // The word of a reply that is there and that nobody has seen; 0 when there is none.
    uint32_t next_answered() {
        if (count_.load(std::memory_order_acquire) == 0) return 0;
        std::lock_guard lock(mutex_);
        for (auto each = replies_.begin(); each != replies_.end(); ++each) {
            const uint32_t word = (*each)->load(std::memory_order_acquire);
            if (word == 0) continue;
            replies_.erase(each);
            count_.store(replies_.size(), std::memory_order_release);
            return word;
        }
        return 0;
    }

  private:
    std::mutex mutex_;
    std::vector<const std::atomic<uint32_t> *> replies_;
    std::atomic<size_t> count_{0};
};

} // namespace apir::guest
