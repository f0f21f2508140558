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

    // They go along with the call whose reply is told by this word, which is 0: before the host has it. To be followed by `ended`, before another call has that
    // reply slot.
    void begin(const std::atomic<uint32_t> &notify) {
        std::lock_guard lock(mutex_);
        replies_.push_back(&notify);
        count_.store(replies_.size(), std::memory_order_release);
    }
    // That call's end. Whether nobody has seen how it went; then `see` does, with the word: who asks next finds what it has counted.
    template <typename See> bool ended(const std::atomic<uint32_t> &notify, See see) {
        std::lock_guard lock(mutex_);
        const auto found = std::find(replies_.begin(), replies_.end(), &notify);
        if (found == replies_.end()) return false;
        see(notify.load(std::memory_order_acquire));
        remove(found);
        return true;
    }
    // The word of a reply that is there and that nobody has seen, and `see` has seen it; 0 when there is none.
    template <typename See> uint32_t next_answered(See see) {
        if (count_.load(std::memory_order_acquire) == 0) return 0;
        std::lock_guard lock(mutex_);
        for (auto each = replies_.begin(); each != replies_.end(); ++each) {
            const uint32_t word = (*each)->load(std::memory_order_acquire);
            if (word == 0) continue;
            see(word);
            remove(each);
            return word;
        }
        return 0;
    }

  private:
    using Replies = std::vector<const std::atomic<uint32_t> *>;

    void remove(Replies::iterator reply) {
        replies_.erase(reply);
        count_.store(replies_.size(), std::memory_order_release);
    }

    std::mutex mutex_;
    Replies replies_;
    std::atomic<size_t> count_{0};
};

} // namespace apir::guest
