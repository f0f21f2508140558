// What the guest library needs of a virtio-gpu device. DrmDevice does it with ioctls; tests bring a fake one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace apir::guest {

// Success, or a text that says what could not be done and why.
class Status {
  public:
    static Status failure(std::string text) { return Status(std::move(text)); }
    // There was no room for it in the time given; it might go later.
    static Status no_room(std::string text) {
        Status status(std::move(text));
        status.no_room_ = true;
        return status;
    }
    Status() = default;

    bool ok() const { return ok_; }
    bool had_no_room() const { return no_room_; }
    const std::string &text() const { return text_; }

  private:
    explicit Status(std::string text) : ok_(false), text_(std::move(text)) {}

    bool ok_ = true;
    bool no_room_ = false;
    std::string text_;
};

// Memory that guest and host share.
struct Blob {
    uint32_t resource = 0; // its name on the wire (res_handle)
    uint32_t handle = 0;   // its name for the kernel (bo_handle)
    uint8_t *memory = nullptr;
    size_t size = 0; // in bytes, a multiple of blob_granularity
};

// Functions may be called from several threads at once, except open, init_context and bunch_fences, which come first.
class Device {
  public:
    virtual ~Device() = default;

    // Render nodes that may be ours, best first. Empty when there is none.
    virtual std::vector<std::string> nodes() = 0;
    // Opens a node and makes sure that it is a virtio-gpu device with blobs, contexts and a host-visible window. A device
    // that is open already is closed first.
    virtual Status open(const std::string &node) = 0;
    // Reads a capability set's data, at most `size` bytes.
    virtual Status get_caps(uint32_t capset, void *data, size_t size) = 0;
    virtual Status init_context(uint32_t capset) = 0;
    // The host has the extension bunched_fences: from here on submissions are fenced on unawaited_ring where that saves interrupts.
    virtual void bunch_fences() {}

    // A mapped blob of at least `size` bytes. Fails, without room, when the host-visible window is full.
    virtual Status create_blob(size_t size, Blob &blob) = 0;
    // The same for who has nothing else to wait for: where there is no room, tries again until what was closed before has given its own
    // back, for as long as `patience` at most.
    Status create_blob_in_time(size_t size, Blob &blob, std::chrono::steady_clock::duration patience = std::chrono::minutes(1));
    // From here on the host's pointer to the blob is dead.
    virtual void close_blob(Blob &blob) = 0;

    // Hands one command over; does not wait for it.
    virtual Status submit(const void *command, size_t size) = 0;

  protected:
    // A blob was closed whose room others have only when the host has let go of it, of which nobody is told.
    static void expect_room() noexcept;
};

} // namespace apir::guest
