#include "remote_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "log.hpp"
#include "tensor_encoding.hpp"

namespace apir::guest {

namespace {

bool report(const char *what, const CallResult &result) {
    result.report(what);
    return result.ok();
}

// Where `bytes` bytes from `offset` of a tensor on stand in a buffer, counted from its base; false when not within it.
bool range_in(const RemoteBuffer &buffer, const ggml_tensor *tensor, size_t offset, size_t bytes, size_t &at) {
    uintptr_t data = reinterpret_cast<uintptr_t>(tensor->data);
    uintptr_t base = reinterpret_cast<uintptr_t>(buffer.base());
    size_t room = buffer.size();
    if (data >= base && data - base <= room) {
        room -= data - base;
        if (offset <= room && bytes <= room - offset) {
            at = data - base + offset;
            return true;
        }
    }
    log(LogLevel::error, "tensor '%s': %zu bytes at %zu lie outside its buffer", tensor->name, bytes, offset);
    return false;
}

class SharedBuffer : public RemoteBuffer {
  public:
    SharedBuffer(Session &session, uint64_t handle, Blob blob, size_t size)
        : RemoteBuffer(session, handle, blob.memory, size), blob_(blob) {}

    // Without an answer the blob is neither closed nor used again: the host may still use it.
    ~SharedBuffer() override {
        if (free_on_host()) session().buffer_blobs().give_back(blob_);
    }

    bool set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) override {
        uint8_t *at = place(tensor, offset, size);
        if (at != nullptr) std::memcpy(at, data, size);
        return at != nullptr;
    }

    bool get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) override {
        const uint8_t *at = place(tensor, offset, size);
        if (at != nullptr) std::memcpy(data, at, size);
        return at != nullptr;
    }

    bool fill(const ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) override {
        uint8_t *at = place(tensor, offset, size);
        if (at != nullptr) std::memset(at, value, size);
        return at != nullptr;
    }

  private:
    uint8_t *place(const ggml_tensor *tensor, size_t offset, size_t size) const {
        size_t at = 0;
        return range_in(*this, tensor, offset, size, at) ? blob_.memory + at : nullptr;
    }

    const Blob blob_;
};

class CopiedBuffer : public RemoteBuffer {
  public:
    CopiedBuffer(Session &session, uint64_t handle, void *base, size_t size) : RemoteBuffer(session, handle, base, size) {}
    ~CopiedBuffer() override { free_on_host(); }

    bool set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) override {
        const uint8_t *from = static_cast<const uint8_t *>(data);
        return send(tensor, offset, size, [&](uint8_t *slot, size_t done, size_t n) { std::memcpy(slot, from + done, n); });
    }

    bool fill(const ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) override {
        return send(tensor, offset, size, [&](uint8_t *slot, size_t, size_t n) { std::memset(slot, value, n); });
    }

    bool get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) override {
        uint8_t *to = static_cast<uint8_t *>(data);
        return in_pieces(tensor, offset, size, [&](const auto &record, BlobPool::Lease &slot, size_t done, size_t n) {
            CallTraits traits;
            traits.data_in = n;
            CallResult result = exchange<GetCalls>(record, slot->resource, offset + done, n, traits);
            if (result.ok()) std::memcpy(to + done, slot->memory, n);
            return settle("get_tensor", result, slot);
        });
    }

  private:
    struct SetCalls {
        using Request = BufferSetTensorRequest;
        using Reply = BufferSetTensorReply;
        using WideRequest = WideSetTensorRequest;
        using WideReply = WideSetTensorReply;
        static constexpr Call call = Call::buffer_set_tensor;
        static constexpr Call wide_call = Call::wide_set_tensor;
    };
    struct GetCalls {
        using Request = BufferGetTensorRequest;
        using Reply = BufferGetTensorReply;
        using WideRequest = WideGetTensorRequest;
        using WideReply = WideGetTensorReply;
        static constexpr Call call = Call::buffer_get_tensor;
        static constexpr Call wide_call = Call::wide_get_tensor;
    };

    template <typename Calls, typename Record>
    CallResult exchange(const Record &record, uint32_t resource, size_t offset, size_t size, const CallTraits &traits) {
        if constexpr (std::is_same_v<Record, WideTensorRecord>) {
            typename Calls::WideReply reply;
            typename Calls::WideRequest request{handle(), record, resource, offset, size};
            return session().channel().call(Calls::wide_call, request, reply, traits);
        } else {
            typename Calls::Reply reply;
            typename Calls::Request request{handle(), record, resource, offset, size};
            return session().channel().call(Calls::call, request, reply, traits);
        }
    }

    // Runs `fill_slot(slot memory, bytes done, bytes)` for each piece and sends it.
    template <typename FillSlot> bool send(const ggml_tensor *tensor, size_t offset, size_t size, FillSlot fill_slot) {
        return in_pieces(tensor, offset, size, [&](const auto &record, BlobPool::Lease &slot, size_t done, size_t n) {
            fill_slot(slot->memory, done, n);
            CallTraits traits;
            traits.data_out = n;
            return settle("set_tensor", exchange<SetCalls>(record, slot->resource, offset + done, n, traits), slot);
        });
    }

    // Runs `piece(record, slot, bytes done, bytes)` until all is done, with a record that the tensor fits into.
    template <typename Piece> bool in_pieces(const ggml_tensor *tensor, size_t offset, size_t size, Piece piece) {
        size_t at = 0;
        if (!range_in(*this, tensor, offset, size, at)) return false;
        if (auto record = record_of<TensorRecord>(tensor)) return in_pieces_of(*record, size, piece);
        if (session().has(Extension::wide_shapes)) {
            if (auto record = record_of<WideTensorRecord>(tensor)) return in_pieces_of(*record, size, piece);
        }
        log(LogLevel::error, "tensor '%s' has a shape or stride beyond 32 bits", tensor->name);
        return false;
    }

    // A data slot is lent per piece: other threads get theirs in between.
    template <typename Record, typename Piece> bool in_pieces_of(Record &record, size_t size, Piece piece) {
        record.id = 1; // one tensor in the call: any id that is not 0
        for (size_t done = 0; done < size;) {
            BlobPool::Lease slot = session().data_slots().take(session().channel().deadline(Patience::ordinary));
            if (!slot) {
                log(LogLevel::error, "tensor '%s': no data slot is free", record.name);
                return false;
            }
            size_t n = std::min(size - done, slot->size);
            if (!piece(record, slot, done, n)) return false;
            done += n;
        }
        return true;
    }

    static bool settle(const char *what, const CallResult &result, BlobPool::Lease &slot) {
        if (result.timed_out()) slot.retire();
        return report(what, result);
    }
};

} // namespace

bool RemoteBuffer::free_on_host() {
    BufferFreeBufferReply reply;
    CallResult result = session_.channel().call(Call::buffer_free_buffer, BufferFreeBufferRequest{handle_}, reply);
    result.report("free_buffer");
    // A lost device has no worker that could touch anything.
    return result.outcome == Outcome::answered || result.outcome == Outcome::lost;
}

bool RemoteBuffer::clear(uint8_t value) {
    BufferClearReply reply;
    return report("clear", session_.channel().call(Call::buffer_clear, BufferClearRequest{handle_, value}, reply));
}

bool RemoteBuffer::copy(const ggml_tensor *source, const ggml_tensor *destination) {
    if (fits_record(source) && fits_record(destination))
        return copy_as<TensorRecord, BufferCpyTensorRequest, BufferCpyTensorReply>(Call::buffer_cpy_tensor, source, destination);
    return session_.has(Extension::wide_shapes) &&
           copy_as<WideTensorRecord, WideCpyTensorRequest, WideCpyTensorReply>(Call::wide_cpy_tensor, source, destination);
}

template <typename Record, typename Request, typename Reply>
bool RemoteBuffer::copy_as(Call call, const ggml_tensor *source, const ggml_tensor *destination) {
    std::optional<Record> from = record_of<Record>(source);
    std::optional<Record> to = record_of<Record>(destination);
    if (!from || !to) return false;
    // The host looks at these two as plain tensors; ids only have to be there and to differ.
    from->id = 1;
    to->id = 2;
    Reply reply;
    CallResult result = session_.channel().call(call, Request{handle_, *from, *to}, reply);
    return result.ok() && reply.copied;
}

std::unique_ptr<RemoteBuffer> allocate_shared(Session &session, uint32_t device, size_t size) {
    Blob blob;
    Status status = session.buffer_blobs().take(size, blob);
    if (!status.ok()) {
        log(LogLevel::debug, "%s; the buffer is copied instead", status.text().c_str());
        return nullptr;
    }
    DeviceBufferFromPtrReply reply;
    CallTraits traits;
    traits.device = device;
    CallResult result =
        session.channel().call(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{blob.resource, size, size}, reply, traits);
    if (result.ok() && reply.buffer != 0) return std::make_unique<SharedBuffer>(session, reply.buffer, blob, size);
    log(LogLevel::debug, "buffer_from_ptr: %s", result.ok() ? "refused" : result.text().c_str());
    // As with a buffer: without an answer the host may still come to use the blob.
    if (!result.timed_out()) session.buffer_blobs().give_back(blob);
    return nullptr;
}

std::unique_ptr<RemoteBuffer> allocate_copied(Session &session, uint64_t buft, size_t size) {
    BufferTypeAllocBufferReply buffer;
    CallResult result =
        session.channel().call(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{buft, size}, buffer);
    if (!report("alloc_buffer", result) || buffer.buffer == 0) return nullptr;

    BufferGetBaseReply base;
    result = session.channel().call(Call::buffer_get_base, BufferGetBaseRequest{buffer.buffer}, base);
    // The base is only a number, but one that ggml counts on from: no buffer may begin at 0 or wrap around.
    bool usable = result.ok() && base.base != 0 && size <= UINT64_MAX - base.base;
    if (report("get_base", result) && !usable) {
        log(LogLevel::error, "get_base: %#llx is no usable base", static_cast<unsigned long long>(base.base));
    }
    auto copied = std::make_unique<CopiedBuffer>(session, buffer.buffer, reinterpret_cast<void *>(base.base), size);
    return usable ? std::move(copied) : nullptr;
}

} // namespace apir::guest
