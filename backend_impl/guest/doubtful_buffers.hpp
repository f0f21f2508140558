// Buffers, by the host's handles, that graphs were to write which were sent ahead and have failed: what stands there was there before. The program was told
// of success. Until it has been told otherwise nothing of them is read, nor computed with.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace apir::guest {

class DoubtfulBuffers {
  public:
    using Handles = std::vector<uint64_t>;

    // `stream` is whose graph has failed, and whose next one tells. Without memory for which they are, all are.
    void add(const Handles &handles, const void *stream) {
        std::lock_guard lock(mutex_);
        try {
            for (uint64_t handle : handles) entries_.push_back({handle, stream});
        } catch (const std::bad_alloc &) {
            all_ = true;
        }
        count();
    }
    // The stream ends: whichever graph is refused next tells.
    void abandon(const void *stream) {
        if (!any()) return;
        std::lock_guard lock(mutex_);
        for (Entry &entry : entries_)
            if (entry.stream == stream) entry.stream = nullptr;
    }
    // Told by a graph of this stream, which tells of those of streams that have ended as well.
    void told_by(const void *stream) {
        settle(true, [&](const Entry &entry) { return entry.stream == stream || entry.stream == nullptr; });
    }
    // Told by a graph that was to read one.
    void told_of(uint64_t handle) {
        settle(true, [&](const Entry &entry) { return entry.handle == handle; });
    }
    // Freed, or given anew: there is nothing in it.
    void forget(uint64_t handle) {
        settle(false, [&](const Entry &entry) { return entry.handle == handle; });
    }
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }
    bool has(uint64_t handle) const {
        if (!any()) return false;
        std::lock_guard lock(mutex_);
        return all_ || std::any_of(entries_.begin(), entries_.end(), [&](const Entry &entry) { return entry.handle == handle; });
    }

  private:
    struct Entry {
        uint64_t handle;
        const void *stream;
    };

    template <typename Which> void settle(bool is_told, Which which) {
        if (!any()) return;
        std::lock_guard lock(mutex_);
        entries_.erase(std::remove_if(entries_.begin(), entries_.end(), which), entries_.end());
        if (is_told) all_ = false;
        count();
    }
    void count() { count_.store(entries_.size() + (all_ ? 1 : 0), std::memory_order_release); }

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
    bool all_ = false;
    std::atomic<size_t> count_{0};
};

} // namespace apir::guest
