// Blobs lent to one call at a time: reply slots and data slots. No lock is held while a blob is lent.
//
// After a call that got no reply its blobs are retired: the host may still write into them, so they are never lent again
// and stay mapped until the pool ends. That may be while the host still does: it keeps its own mapping for as long as it needs it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "device.hpp"
#include "reply_wait.hpp"

namespace apir::guest {

class BlobPool {
  public:
    // A blob for the length of one call. Empty when none could be had.
    class Lease {
      public:
        Lease() = default;
        Lease(BlobPool &pool, Blob *blob) : pool_(&pool), blob_(blob) {}
        Lease(Lease &&other) noexcept : pool_(other.pool_), blob_(std::exchange(other.blob_, nullptr)), retired_(other.retired_) {}
        Lease &operator=(Lease &&other) noexcept {
            std::swap(pool_, other.pool_);
            std::swap(blob_, other.blob_);
            std::swap(retired_, other.retired_);
            return *this;
        }
        ~Lease() {
            if (blob_ != nullptr) pool_->give_back(blob_, retired_);
        }

        explicit operator bool() const { return blob_ != nullptr; }
        const Blob &operator*() const { return *blob_; }
        const Blob *operator->() const { return blob_; }
        void retire() { retired_ = true; }
        // The host is through with it after all.
        void spare() { retired_ = false; }

      private:
        BlobPool *pool_ = nullptr;
        Blob *blob_ = nullptr;
        bool retired_ = false;
    };

    // Blobs of `size` bytes; where the window has no room even for the first one, of half of it and so on down to
    // `least`. At most `limit` blobs are lent at the same time.
    BlobPool(Device &device, size_t size, size_t least, size_t limit);
    ~BlobPool();
    BlobPool(const BlobPool &) = delete;
    BlobPool &operator=(const BlobPool &) = delete;

    size_t limit() const { return limit_; }
    // A free blob, or a new one, or, when the limit or the window is reached, the next one that is given back before
    // `until`.
    Lease take(const Deadline &until) {
        if (Blob *blob = at_hand_.exchange(nullptr)) return {*this, blob};
        return take_in_turn(until);
    }
    // One that leaves another free for those who wait: for whoever keeps it longer than a call takes. Empty when there is none.
    Lease take_beside();
    // Whether there is a free one just now, which is made if there is room for it.
    bool has_another();
    // Whether there is none, free or lent, that could be waited for.
    bool has_none();
    // Makes blobs ahead of their use, until there are `count` of them or the window is full.
    void prepare(size_t count);
    // A blob of at least `size` bytes, made for this one use when the pool's are smaller.
    Lease take_sized(size_t size, const Deadline &until) { return sized(take(until), size); }
    // The same for one that was taken. Empty when it was, or none can be made. While it waits for room, others go on with the blobs
    // that there are, and make none of that room.
    Lease sized(Lease taken, size_t size);
    // Closes those that are not lent. For a context that is lost, or to make room.
    void give_up_free();

  private:
    Lease take_in_turn(const Deadline &until);
    void give_back(Blob *blob, bool retired);
    void give_back_in_turn(Blob *blob, bool retired);
    bool keep_at_hand(Blob *blob);
    void tell_of_it();
    bool is_ordinary(const Blob &blob) const;
    void gather();
    // As with create_blob and create_blob_in_time.
    enum class Room { at_once, in_time };
    struct Apart;
    void reserve_place();
    Blob *make(size_t size, Room room);
    Blob *grow();

    Device &device_;
    std::atomic<size_t> size_;
    const size_t least_;
    const size_t limit_;
    // A free one of the pool's own size that is taken and given back without the lock, as most are: a thread that calls gets its own again.
    std::atomic<Blob *> at_hand_{nullptr};
    std::atomic<uint32_t> waiting_{0}; // threads that have to be told of one that is given back; not 0 before they look for one at hand
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<Blob>> blobs_; // all that exist
    std::vector<Blob *> free_; // but for the one at hand; with room for all: to give one back takes no memory
    size_t usable_ = 0; // made, not retired, of the pool's own size
    size_t apart_ = 0;  // of another size, which are being made without the lock
    Clock::time_point full_until_ = Clock::time_point::min(); // the window, as far as is worth asking
};

} // namespace apir::guest
