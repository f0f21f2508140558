// The last command of a write, which the program does not wait for: its bytes are in shared memory, and the host carries out in order whatever is sent
// behind it. One at a time is left so; its reply is looked at by the next one that is left, and by whatever else comes by. Before it another one may
// wait in its slot for the next call (Channel::defer_with).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "channel.hpp"
#include "config.hpp"

namespace apir::guest {

// A command of a write that was sent. Dropped before its end it gives up its reply slot for good, and whoever made it has to see to its data slot.
class SentWrite {
  public:
    virtual ~SentWrite() = default;
    // Whether end() would return at once.
    virtual bool answered() const = 0;
    // Awaits it; false when it failed, which has been logged. To be called once.
    virtual bool end() = 0;

  private:
    friend class WriteBehind;
    uint64_t number_ = 0; // in the order in which they were left
    SentWrite *next_ = nullptr; // of those that are being ended
};

// What was sent before a call: the numbers of the last write that was left, and of the last call that took deferred ones along.
struct SentBefore {
    uint64_t left = 0;
    uint64_t carried = 0;
};

class WriteBehind {
  public:
    // The channel and the pool, where its data lies, outlive it.
    WriteBehind(Channel &channel, BlobPool &data_slots, WriteBehindUse use) : channel_(channel), data_slots_(data_slots), use_(use) {}
    ~WriteBehind() { settle(); }
    WriteBehind(const WriteBehind &) = delete;
    WriteBehind &operator=(const WriteBehind &) = delete;

    // Replies come within a microsecond or two: to await one takes less than to leave it. Before a second thread writes.
    void expect_quick_replies() { quick_replies_ = true; }
    // Whether any is.
    bool leaves() const {
        return use_ == WriteBehindUse::on || (use_ == WriteBehindUse::automatic && !quick_replies_ && !channel_.keeps_records());
    }
    // Whether one may wait unsent for the next call: where a command of its own takes as long as the host's part of it.
    bool defers() const { return use_ != WriteBehindUse::off && !quick_replies_; }
    // Awaits the one that was left before, and leaves this one; awaits it, too, where none is to be left or nobody else could have a data slot.
    // False when this one failed, as far as is known now.
    bool leave(std::unique_ptr<SentWrite> write);
    // Ends what was left, if its reply has come: to what was sent before another call that was answered, it has.
    void look() {
        if (is_left_.load(std::memory_order_acquire) && !in_forked_child()) look_at_it();
    }
    // For a call that is about to be sent.
    SentBefore sent() const { return {last_.load(std::memory_order_acquire), channel_.last_carried()}; }
    // The same as look, and waits a moment for whoever is at ending one: its reply is there, if it was sent before a call that was answered. `before`: what was
    // sent before such a call. Who ends one of these is waited for, and what has no reply by now never gets one, and has failed.
    void look_behind_a_call(const SentBefore &before = {});
    // Awaits what was left, and what waits in a data slot for the next call.
    void settle();

  private:
    void look_at_it();
    void give_up(uint64_t last_before);
    // With the mutex held: none of up to this number is being ended.
    bool has_ended(uint64_t number) const;
    std::unique_ptr<SentWrite> take();
    std::unique_ptr<SentWrite> take_locked();
    // Without a lock, for it waits. What fails is told as a deferred write that was lost.
    void end(std::unique_ptr<SentWrite> write);
    void ended(const SentWrite &write);

    Channel &channel_;
    BlobPool &data_slots_;
    const WriteBehindUse use_;
    bool quick_replies_ = false;
    std::mutex mutex_;
    std::unique_ptr<SentWrite> left_;
    std::atomic<bool> is_left_{false};
    std::atomic<uint64_t> last_{0}; // number
    std::condition_variable one_ended_;
    SentWrite *ending_ = nullptr; // writes that were left, and that a thread awaits
};

} // namespace apir::guest
