// Calls that took deferred writes along, until somebody has seen how they went: whoever made such a call may not look at its reply for long, as with a graph
// that was sent ahead, or is never answered, and what was not written concerns others, too.
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
    explicit CarriedWrites(size_t most) { calls_.reserve(most); }

    // They go along with the call whose reply is told by this word, which is 0: before the host has it. To be followed by `ended`, before another call has that
    // reply slot.
    void begin(const std::atomic<uint32_t> &notify) {
        std::lock_guard lock(mutex_);
        const uint64_t number = last_.load(std::memory_order_relaxed) + 1;
        calls_.push_back({&notify, number});
        count_.store(calls_.size(), std::memory_order_release);
        last_.store(number, std::memory_order_release);
    }
    // Number of the one that began last.
    uint64_t last() const { return last_.load(std::memory_order_acquire); }
    // That call's end. Whether nobody has seen how it went; then `see` does, with the word: who asks next finds what it has counted.
    template <typename See> bool ended(const std::atomic<uint32_t> &notify, See see) {
        std::lock_guard lock(mutex_);
        const auto found = std::find_if(calls_.begin(), calls_.end(), [&notify](const Call &call) { return call.reply == &notify; });
        if (found == calls_.end()) return false;
        see(notify.load(std::memory_order_acquire));
        remove(found);
        return true;
    }
    // The word of a reply that is there and that nobody has seen, and `see` has seen it; 0 when there is none.
    template <typename See> uint32_t next_answered(See see) {
        if (count_.load(std::memory_order_acquire) == 0) return 0;
        std::lock_guard lock(mutex_);
        for (auto each = calls_.begin(); each != calls_.end(); ++each) {
            const uint32_t word = each->reply->load(std::memory_order_acquire);
            if (word == 0) continue;
            see(word);
            remove(each);
            return word;
        }
        return 0;
    }
    // Of those up to this number the ones that have no reply, and `see` has seen 0 of each: how many.
    template <typename See> size_t give_up(uint64_t last, See see) {
        if (count_.load(std::memory_order_acquire) == 0) return 0;
        std::lock_guard lock(mutex_);
        const auto silent = [&](const Call &call) { return call.number <= last && call.reply->load(std::memory_order_acquire) == 0; };
        const auto end = std::stable_partition(calls_.begin(), calls_.end(), [&](const Call &call) { return !silent(call); });
        const auto given_up = static_cast<size_t>(calls_.end() - end);
        for (size_t i = 0; i < given_up; ++i) see(0);
        calls_.erase(end, calls_.end());
        count_.store(calls_.size(), std::memory_order_release);
        return given_up;
    }

  private:
    struct Call {
        const std::atomic<uint32_t> *reply;
        uint64_t number;
    };
    using Calls = std::vector<Call>;

    void remove(Calls::iterator call) {
        calls_.erase(call);
        count_.store(calls_.size(), std::memory_order_release);
    }

    std::mutex mutex_;
    Calls calls_;
    std::atomic<size_t> count_{0};
    std::atomic<uint64_t> last_{0}; // number
};

} // namespace apir::guest
