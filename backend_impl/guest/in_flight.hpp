// Calls of one stream that were sent and not awaited yet. The host carries them out in order, so that a place in this order says
// what has been done: that is all that an event is.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

namespace apir::guest {

class InFlight {
  public:
    // More than this are not left unawaited: each holds a reply slot.
    static constexpr size_t limit = 16;

    // Awaits one call and does what its reply asks for; false when it failed, which it has logged.
    using End = std::function<bool()>;

    void add(End end);
    // Place of the call that was added last.
    uint64_t last() const;
    // Ends all calls up to a place, in order.
    void await(uint64_t place);
    void await_all() { await(UINT64_MAX); }
    // Whether a call has failed since this was asked last.
    bool take_failure();

  private:
    mutable std::mutex mutex_;
    std::mutex ending_; // held while calls are ended, one after the other
    std::deque<End> calls_;
    uint64_t added_ = 0;
    uint64_t ended_ = 0;
    bool failed_ = false;
};

} // namespace apir::guest
