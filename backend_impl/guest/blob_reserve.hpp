// Blobs of freed buffers, kept for the next ones.
//
// To close a mapped blob is the dearest thing that a guest can ask of QEMU: it holds up the device's whole queue for 10 to
// 50 ms, until a memory region has gone through its RCU. Programs that allocate and free often (test-backend-ops does for
// each case) would spend their time there. What is kept is bounded, and given up when the host-visible window is full.
#pragma once

#include <deque>
#include <mutex>

#include "device.hpp"

namespace apir::guest {

class BlobReserve {
  public:
    explicit BlobReserve(Device &device) : device_(device) {}
    ~BlobReserve();
    BlobReserve(const BlobReserve &) = delete;
    BlobReserve &operator=(const BlobReserve &) = delete;

    // A kept blob that fits, or a new one. Its content is whatever it was.
    Status take(size_t size, Blob &blob);
    // A blob that the host does not use any more.
    void give_back(Blob blob);
    // A blob that the host may still use: it is closed when the reserve ends.
    void leave(Blob blob);
    // Closes what is kept.
    void give_up_all();

  private:
    bool find(size_t size, Blob &blob);

    Device &device_;
    std::mutex mutex_;
    std::deque<Blob> kept_; // oldest first
    std::deque<Blob> left_;
    size_t kept_bytes_ = 0;
};

} // namespace apir::guest
