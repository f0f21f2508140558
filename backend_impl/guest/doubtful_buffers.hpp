// Buffers, by the host's handles, that graphs were to write which were sent ahead and have failed: what stands there was there before. The program was told
// of success. Until it has been told otherwise nothing of them is read, nor computed with.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace apir::guest {

class DoubtfulBuffers {
  public:
    using Handles = std::vector<uint64_t>;

    // `stream` is whose graph has failed, and whose next one tells.
    void add(const Handles &handles, const void *stream) {
        std::lock_guard lock(mutex_);
        for (uint64_t handle : handles) entries_.push_back({handle, stream});
        count_.store(entries_.size(), std::memory_order_release);
    }
    // The stream ends: whichever graph is refused next tells.
    void abandon(const void *stream) {
        if (!any()) return;
        std::lock_guard lock(mutex_);
        for (Entry &entry : entries_)
            if (entry.stream == stream) entry.stream = nullptr;
    }
    // Told by a graph of this stream (nullptr: those of streams that have ended).
    void told_by(const void *stream) {
        settle([&](const Entry &entry) { return entry.stream == stream; });
    }
    // Told by a graph that was to read it, or freed: whoever gets it next has nothing in it.
    void settle_buffer(uint64_t handle) {
        settle([&](const Entry &entry) { return entry.handle == handle; });
    }
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }
    bool has(uint64_t handle) const {
        if (!any()) return false;
        std::lock_guard lock(mutex_);
        return std::any_of(entries_.begin(), entries_.end(), [&](const Entry &entry) { return entry.handle == handle; });
    }

  private:
    struct Entry {
        uint64_t handle;
        const void *stream;
    };

    template <typename Which> void settle(Which which) {
        if (!any()) return;
        std::lock_guard lock(mutex_);
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(), which), entries_.end());
        count_.store(entries_.size(), std::memory_order_release);
    }

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
    std::atomic<size_t> count_{0};
};

} // namespace apir::guest
