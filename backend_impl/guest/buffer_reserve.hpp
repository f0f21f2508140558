// Buffers that the program has freed, kept for the next ones: allocated, based and mapped already, so that to have one again takes
// no call at all. ggml leaves a new buffer's content undefined, and what was in it was the same program's.
//
// What is kept is bounded in bytes and number, given up when it has not been asked for in a while (seen when the next buffer is
// allocated or freed), and when memory or the host-visible window is short. Nothing is kept that a call in flight may still write to.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "remote_buffer.hpp"

namespace apir::guest {

class BufferReserve {
  public:
    static constexpr size_t limit_count = 64;

    // Keeps at most `limit_bytes`, no single buffer of more than half of that, and none longer than `limit_age`; with 0 nothing.
    explicit BufferReserve(size_t limit_bytes, Clock::duration limit_age = std::chrono::seconds(10))
        : limit_bytes_(limit_bytes), limit_age_(limit_age) {}

    // A kept buffer of at least `size` bytes and not far more; nullptr when there is none.
    std::unique_ptr<RemoteBuffer> take(size_t size);
    // Keeps it, or frees it on the host.
    void give_back(std::unique_ptr<RemoteBuffer> buffer);
    // Frees all on the host; false when there was nothing.
    bool give_up_all();

  private:
    struct Kept {
        std::unique_ptr<RemoteBuffer> buffer;
        Clock::time_point since;
    };
    using Freed = std::deque<std::unique_ptr<RemoteBuffer>>;

    // Moves what is too old, or too much, out of the reserve. To be freed without the lock.
    Freed surplus();

    const size_t limit_bytes_;
    const Clock::duration limit_age_;
    std::mutex mutex_;
    std::deque<Kept> kept_; // oldest first
    size_t kept_bytes_ = 0;
};

} // namespace apir::guest
