#include "device.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "reply_wait.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

// Until the host has let go of a closed blob it takes 10 to 50 ms (blob_reserve.hpp), for one blob after the other. The kernel has
// its room for others only then, and refuses them at once before.
constexpr Clock::duration longest_close = 50ms;
constexpr Clock::duration longest_closes = 2s;
// Each attempt makes an object on the host and ends it, behind the closing that it waits for.
constexpr Clock::duration first_pause = 1ms;
constexpr Clock::duration longest_pause = 8ms;

// When all that was closed has given its room back. The process's: what another context has closed makes room, too.
std::atomic<Clock::rep> room_by{0};

} // namespace

void Device::expect_room() noexcept {
    const Clock::duration now = Clock::now().time_since_epoch();
    Clock::rep before = room_by.load();
    Clock::rep by = 0;
    do {
        const Clock::duration last = std::max(Clock::duration(before), now + longest_close);
        by = std::min(last + longest_close, now + longest_closes).count();
    } while (!room_by.compare_exchange_weak(before, by));
}

Status Device::create_blob_in_time(size_t size, Blob &blob, Clock::duration patience) {
    // What other threads close from here on is not waited for: they may go on closing for as long as they live.
    const Clock::duration by = std::min(Clock::duration(room_by.load()), Clock::now().time_since_epoch() + patience);
    for (Clock::duration pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        // Looked at before: the last attempt has all the room that there will be.
        const bool is_last = Clock::now().time_since_epoch() >= by;
        Status status = create_blob(size, blob);
        if (status.ok() || is_last || !status.had_no_room()) return status;
        std::this_thread::sleep_for(pause);
    }
}

} // namespace apir::guest
