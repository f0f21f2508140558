// Calls of one stream that were sent and not awaited yet. The host carries them out in order, so that a place in this order says
// what has been done: that is all that an event is. Whoever touches shared memory has to await it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

namespace apir::guest {

// A call that was sent and is not awaited yet.
class CallAhead {
  public:
    virtual ~CallAhead() = default;
    // Whether `end` would not wait.
    virtual bool answered() const = 0;
    // Awaits the call and does what its reply asks for; false when it failed, which it has logged.
    virtual bool end() = 0;
};

class InFlight {
  public:
    // More than this are not left unawaited, of one stream and of all: each holds a reply slot, and half of them stay free for
    // those who wait for theirs.
    static constexpr size_t limit = 16;
    static constexpr size_t limit_of_all = 32;

    using Call = std::unique_ptr<CallAhead>;

    // `all` counts the calls in flight of all streams, and outlives those that are added here.
    explicit InFlight(std::atomic<size_t> &all) : all_(all) {}

    // Whether one more may be added; when all streams together have too many, this one's are awaited first.
    bool has_room();
    void add(Call call);
    // Place of the call that was added last.
    uint64_t last() const;
    // Ends all calls up to a place, in order, or waits until others have. A failure is logged, once until it is taken.
    void await(uint64_t place);
    void await_all() { await(UINT64_MAX); }
    // All but so many that were added last.
    void await_all_but(size_t count);
    // Ends those that are answered, from the oldest one on; while another thread ends one, that one is waited for, so long at most. For who needs
    // what they hold.
    void end_answered(std::chrono::milliseconds patience = std::chrono::milliseconds::zero());
    // What was to join them and went at once has failed: told as their failures are.
    void fail();
    // Whether anything has failed that nobody was told of.
    bool failed() const { return failed_.load(); }
    // The same, and now somebody is told.
    bool take_failure();

  private:
    // Ends the oldest call without the mutex, which `lock` holds before and after; no other is ended meanwhile.
    void end_one(std::unique_lock<std::mutex> &lock);
    // With the mutex held. False when none has ended in the time.
    bool wait_for_one(std::unique_lock<std::mutex> &lock, std::chrono::milliseconds patience);
    void wait_for_one(std::unique_lock<std::mutex> &lock);
    void note_failure();

    std::atomic<size_t> &all_;
    mutable std::mutex mutex_;
    std::condition_variable one_less_; // when a call has ended
    bool ending_ = false; // a thread ends a call
    std::deque<Call> calls_;
    uint64_t added_ = 0;
    uint64_t ended_ = 0;
    int waiting_ = 0; // threads, for the end of one that another thread ends
    std::atomic<bool> failed_{false}; // changed with the mutex held
};

} // namespace apir::guest
