// A ggml buffer that lives on the host, and the two ways to its bytes.
//
// Shared: the buffer is a blob; guest and host see the same memory, and of large transfers a second thread may copy a part. Copied: the host has it where
// it likes, bytes travel through a data slot in pieces. Either frees the host's buffer first, waits for that, and only then closes the blob.
#pragma once

#include <memory>

#include "abi/backend_interface.hpp"
#include "in_flight.hpp"
#include "session.hpp"

namespace apir::guest {

// Whose memory the host has a buffer in: for a device's own, each piece of a transfer is a task.
enum class Whereabouts { host_memory, device };

class RemoteDevice;

class RemoteBuffer {
  public:
    virtual ~RemoteBuffer() = default;
    RemoteBuffer(const RemoteBuffer &) = delete;
    RemoteBuffer &operator=(const RemoteBuffer &) = delete;

    Session &session() const { return session_; }
    uint64_t handle() const { return handle_; }
    void *base() const { return base_; }
    size_t size() const { return size_; }
    // Bytes that the host has for it; at least size().
    size_t capacity() const { return capacity_; }
    // A freed one is given anew, with another size of at most its capacity.
    void lend(size_t size) { size_ = size; }
    // Whom the program gives it back to.
    RemoteDevice &lender() const { return *lender_; }
    void lent_by(RemoteDevice &lender) { lender_ = &lender; }

    // Bytes of a tensor in this buffer. False when not all of them got over; the cause has been logged.
    virtual bool set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) = 0;
    virtual bool get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) = 0;
    // The same in order with what is in flight, which they may join. A failure is told at its end, one without memory, too; what could not
    // be read is zeros.
    void set_async(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, InFlight &in_flight) noexcept;
    void get_async(const ggml_tensor *tensor, void *data, size_t offset, size_t size, InFlight &in_flight) noexcept;
    virtual bool fill(const ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) = 0;

    // Whether a graph that was sent ahead has failed to write it, of which the program has not been told: what stands there was there before.
    bool is_doubtful() const;

    // The whole buffer, on the host.
    bool clear(uint8_t value);
    // `destination` lies in this buffer. False when the host cannot: the caller copies by itself.
    bool copy(const ggml_tensor *source, const ggml_tensor *destination);

  protected:
    RemoteBuffer(Session &session, uint64_t handle, void *base, size_t size)
        : session_(session), handle_(handle), base_(base), capacity_(size), size_(size) {}

    // Where `bytes` bytes from `offset` of a tensor on stand in the buffer, counted from its base; false, and logged, when they do
    // not lie within it.
    bool find_range(const ggml_tensor *tensor, size_t offset, size_t bytes, size_t &at) const;
    // Whether the host will not touch the buffer's memory any more. For destructors: what fails is logged.
    bool free_on_host() noexcept;
    // False, or an exception, when it has neither been carried out nor joined what is in flight.
    virtual bool begin_set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, InFlight &in_flight) = 0;
    virtual bool begin_get(const ggml_tensor *tensor, void *data, size_t offset, size_t size, InFlight &in_flight) = 0;

  private:
    template <typename Record, typename Request, typename Reply>
    bool copy_as(Call call, const ggml_tensor *source, const ggml_tensor *destination);

    Session &session_;
    const uint64_t handle_;
    void *const base_;
    const size_t capacity_;
    size_t size_;
    RemoteDevice *lender_ = nullptr;
};

// A buffer of `size` bytes whose base is aligned, on a device or of a device's buffer type. nullptr when it cannot be had: a full host-visible window, or a host that refuses, is no
// error here, for there may be another way.
std::unique_ptr<RemoteBuffer> allocate_shared(Session &session, uint32_t device, size_t size, size_t alignment);
std::unique_ptr<RemoteBuffer> allocate_copied(Session &session, uint64_t buft, size_t size, size_t alignment, Whereabouts whereabouts);

} // namespace apir::guest
