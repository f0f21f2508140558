// The shared memory of one context: all its blobs are ranges of one sparse file.
//
// One file instead of one per blob: QEMU and the worker map it once, a blob costs neither of them a system call or a
// descriptor, and its order against commands is that of the queue. The worker sees the blobs of its own context only, as
// it would anyway.
//
// A freed range is given again only when the worker is past the point of the queue where it was told: until then it may
// still write a late reply there. Small ranges keep their pages, for a context's blobs all belong to one guest process;
// large ones are given back to the system, which takes long and is not done on QEMU's main thread; a context at its limit gets them
// again as they are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace apir::virgl {

struct Range {
    uint64_t offset;
    uint64_t size;
};

// Which bytes of an arena are free: first fit, neighbours joined.
class FreeRanges {
  public:
    explicit FreeRanges(uint64_t size) { by_offset_.emplace(0, size); }

    // The offset of `size` bytes that are no longer free. Those of two huge pages and more begin with one, while there is room for that.
    std::optional<uint64_t> take(uint64_t size);
    void give(Range range);

  private:
    std::optional<uint64_t> take_at(uint64_t size, uint64_t multiple);

    std::map<uint64_t, uint64_t> by_offset_;
};

class Arena {
  public:
    // Throws std::system_error.
    explicit Arena(uint64_t size);
    ~Arena();
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    int fd() const { return fd_; }
    uint64_t size() const { return size_; }
    uint8_t *at(uint64_t offset) const { return memory_ + offset; }

    // `size` is a multiple of the page. `done` is how far the worker is in the queue.
    std::optional<uint64_t> allocate(uint64_t size, uint64_t done);
    // To be free again when the worker is at `position`.
    void release(Range range, uint64_t position);

    // A piece of what the worker has left behind at `done`, to be emptied before it is given again; a small one, because it
    // cannot be given at all until emptied() follows.
    std::optional<Range> next_to_empty(uint64_t done);
    // Gives the pages of a range back to the system; takes a while, and is safe without a lock.
    void empty(Range range) const;
    void emptied();
    // Whether some of it is free as soon as the worker is where it was told of that.
    bool awaits_worker() const { return !released_.empty(); }
    bool has_large_released() const { return large_released_ != 0; }

    // The guest may be able to write there for ever, for QEMU has forgotten that it has the range mapped: nothing else may ever come to
    // these addresses. At the arena's end they lead to memory that all such arenas share.
    void leave_mapped(Range range);
    // Arenas that have ended so.
    static size_t left() { return left_; }

  private:
    struct Released {
        Range range;
        uint64_t position;
    };
    void settle(uint64_t done);

    uint64_t size_;
    int fd_;
    uint8_t *memory_;
    FreeRanges free_;
    std::deque<Released> released_; // in the order of the queue
    size_t large_released_ = 0; // of them
    std::vector<Range> full_; // free of the worker, still with pages
    std::optional<Range> emptying_;
    Range left_mapped_{0, 0}; // contains all such ranges
    static inline std::atomic<size_t> left_{0};
};

} // namespace apir::virgl
