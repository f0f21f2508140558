#include "remote_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "bulk_copy.hpp"
#include "copied_buffer.hpp"
#include "emulated_pages.hpp"
#include "guarded.hpp"
#include "log.hpp"
#include "tensor_encoding.hpp"
#include "transfer_choice.hpp"
#include "two_threads.hpp"

namespace apir::guest {

namespace {

bool is_aligned(const void *memory, size_t alignment) { return reinterpret_cast<uintptr_t>(memory) % alignment == 0; }

bool report(const char *what, const CallResult &result) {
    result.report(what);
    return result.ok();
}

// All of a transfer, `memory` being the program's side of it, by the calling thread and maybe a second one: whether there was one. Both sides' pages go
// through the emulator's table.
bool copy_by(bool two, void *to, const void *from, size_t size, const void *memory) {
    constexpr size_t piece = size_t{1} << 20;
    const Far far = size >= beyond_caches ? Far::both : Far::none;
    const EmulatedPages pages(memory, size, 2);
    TwoEnds pieces((size + piece - 1) / piece);
    return by_two_threads(two, [&](bool second) {
        size_t number = 0;
        for (size_t mine = 0; pieces.take(second, mine, number); ++mine) {
            const size_t done = number * piece;
            const size_t n = std::min(piece, size - done);
            bulk_copy(static_cast<uint8_t *>(to) + done, static_cast<const uint8_t *>(from) + done, n, far);
            pages.copied(n);
        }
    });
}

void copy_whole(bool in, void *to, const void *from, size_t size) {
    const void *memory = in ? to : from;
    if (size < least_by_two_in_blobs) {
        copy_by(false, to, from, size, memory);
        return;
    }
    TransferChoice::in_blobs(in, size).carry(size, [&](bool &by_two) {
        by_two = copy_by(by_two, to, from, size, memory);
        return true;
    });
}

class SharedBuffer : public RemoteBuffer {
  public:
    SharedBuffer(Session &session, uint64_t handle, Blob blob, size_t size)
        : RemoteBuffer(session, handle, blob.memory, size), blob_(blob) {}

    // Without an answer the blob is not used again: the host may still use it.
    ~SharedBuffer() override {
        const bool unused = free_on_host();
        guarded("free_buffer", 0, [this, unused] {
            if (unused) session().buffer_blobs().give_back(blob_);
            else session().buffer_blobs().leave(blob_);
            return 0;
        });
    }

    bool set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) override {
        uint8_t *at = place(tensor, offset, size);
        if (at != nullptr) copy_whole(false, at, data, size);
        return at != nullptr;
    }

    bool get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) override {
        const uint8_t *at = place(tensor, offset, size);
        if (at != nullptr) copy_whole(true, data, at, size);
        return at != nullptr;
    }

    bool fill(const ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) override {
        uint8_t *at = place(tensor, offset, size);
        if (at != nullptr) std::memset(at, value, size);
        return at != nullptr;
    }

  protected:
    // The host computes in this memory: nothing of it may be touched before it is done.
    bool begin_set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, InFlight &in_flight) override {
        in_flight.await_all();
        return set(tensor, data, offset, size);
    }

    bool begin_get(const ggml_tensor *tensor, void *data, size_t offset, size_t size, InFlight &in_flight) override {
        in_flight.await_all();
        // What lies there after a failure is not what was to be read.
        return !in_flight.failed() && get(tensor, data, offset, size) && !is_doubtful();
    }

  private:
    // On a lost device nothing has computed what stands there, and a forked process shares it with its parent. A graph without a reply in time may still
    // read and write there.
    uint8_t *place(const ggml_tensor *tensor, size_t offset, size_t size) const {
        Channel &channel = session().channel();
        if (!channel.may_call() || !channel.is_past_doubt()) return nullptr;
        size_t at = 0;
        return find_range(tensor, offset, size, at) ? blob_.memory + at : nullptr;
    }

    const Blob blob_;
};

} // namespace

bool RemoteBuffer::find_range(const ggml_tensor *tensor, size_t offset, size_t bytes, size_t &at) const {
    uintptr_t data = reinterpret_cast<uintptr_t>(tensor->data);
    uintptr_t base = reinterpret_cast<uintptr_t>(base_);
    size_t room = size_;
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

bool RemoteBuffer::free_on_host() noexcept {
    return guarded("free_buffer", false, [this] {
        BufferFreeBufferReply reply;
        CallResult result = session_.channel().call(Call::buffer_free_buffer, BufferFreeBufferRequest{handle_}, reply);
        result.report("free_buffer");
        // What is on a lost device is not used again, whether its worker has ended or only does not answer.
        return result.outcome == Outcome::answered || result.outcome == Outcome::lost;
    });
}

void RemoteBuffer::set_async(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, InFlight &in_flight) noexcept {
    if (guarded("set_tensor_async", false, [&] { return begin_set(tensor, data, offset, size, in_flight); })) return;
    session_.channel().lose_transfer();
    in_flight.fail();
}

void RemoteBuffer::get_async(const ggml_tensor *tensor, void *data, size_t offset, size_t size, InFlight &in_flight) noexcept {
    if (guarded("get_tensor_async", false, [&] { return begin_get(tensor, data, offset, size, in_flight); })) return;
    std::memset(data, 0, size);
    session_.channel().lose_transfer();
    in_flight.fail();
}

// A forked child, where every call fails, may have the lock of a thread that is not there.
bool RemoteBuffer::is_doubtful() const { return !in_forked_child() && session_.channel().doubtful().has(handle_); }

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
    return report("cpy_tensor", result) && reply.copied;
}

namespace {

// A blob that is to be a buffer's. Left, unless somebody says otherwise: whatever is thrown, the host may yet come to use it.
class TakenBlob {
  public:
    explicit TakenBlob(BlobReserve &reserve) : reserve_(reserve) {}
    ~TakenBlob() {
        if (blob.memory == nullptr) return;
        guarded("buffer_from_ptr", 0, [this] {
            reserve_.leave(blob);
            return 0;
        });
    }
    TakenBlob(const TakenBlob &) = delete;
    TakenBlob &operator=(const TakenBlob &) = delete;

    Blob release() { return std::exchange(blob, {}); }
    void give_back() { reserve_.give_back(release()); }

    Blob blob;

  private:
    BlobReserve &reserve_;
};

// A buffer that the host has. Without memory for it here the host's is freed, as by its own end.
template <typename Made, typename... Arguments> std::unique_ptr<Made> made_here(Arguments &&...arguments) {
    try {
        return std::make_unique<Made>(arguments...);
    } catch (const std::bad_alloc &) {
        const Made nobodys(arguments...);
        throw;
    }
}

} // namespace

std::unique_ptr<RemoteBuffer> allocate_shared(Session &session, uint32_t device, size_t size, size_t alignment) {
    TakenBlob taken(session.buffer_blobs());
    const Blob &blob = taken.blob;
    Status status = session.buffer_blobs().take(size, taken.blob);
    if (!status.ok()) {
        log(LogLevel::debug, "%s; the buffer is copied instead", status.text().c_str());
        return nullptr;
    }
    if (!is_aligned(blob.memory, alignment)) {
        log(LogLevel::debug, "a blob is not aligned to %zu bytes; the buffer is copied instead", alignment);
        taken.give_back();
        return nullptr;
    }
    DeviceBufferFromPtrReply reply;
    CallTraits traits;
    traits.device = device;
    CallResult result =
        session.channel().call(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{blob.resource, size, size}, reply, traits);
    if (result.ok() && reply.buffer != 0) return made_here<SharedBuffer>(session, reply.buffer, taken.release(), size);
    log(LogLevel::debug, "buffer_from_ptr: %s", result.ok() ? "refused" : result.text().c_str());
    // As with a buffer: without an answer the host may still come to use the blob.
    if (!result.timed_out()) taken.give_back();
    return nullptr;
}

// Two calls where the host does not tell both at once. False when there is no buffer; `told`: whether its base was told. Once
// there is one, nothing is thrown, for it is the caller's to free.
bool make_on_host(Session &session, uint64_t buft, size_t size, AllocWithBaseReply &made, bool &told) {
    Channel &channel = session.channel();
    if (session.has(Extension::buffer_base)) {
        told = report("alloc_buffer", channel.call(Call::alloc_with_base, AllocWithBaseRequest{buft, size}, made));
        return told && made.buffer != 0;
    }
    BufferTypeAllocBufferReply buffer;
    if (!report("alloc_buffer", channel.call(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{buft, size}, buffer))) return false;
    if (buffer.buffer == 0) return false;
    BufferGetBaseReply base;
    told = guarded("get_base", false, [&] {
        return report("get_base", channel.call(Call::buffer_get_base, BufferGetBaseRequest{buffer.buffer}, base));
    });
    made = {buffer.buffer, base.base};
    return true;
}

std::unique_ptr<RemoteBuffer> allocate_copied(Session &session, uint64_t buft, size_t size, size_t alignment, Whereabouts whereabouts) {
    AllocWithBaseReply made;
    bool told = false;
    if (!make_on_host(session, buft, size, made, told)) return nullptr;
    // The base is only a number, but one that ggml counts on from: no buffer may begin at 0 or wrap around, and from one that is not
    // aligned tensors would not all fit that ggml has counted, which ends the program.
    bool usable = told && made.base != 0 && size <= UINT64_MAX - made.base && made.base % alignment == 0;
#if defined(APIR_PLANT_TRUSTED_BASE)
    usable = told;
#endif
    if (told && !usable) log(LogLevel::error, "get_base: %#llx is no usable base", static_cast<unsigned long long>(made.base));
    auto copied = made_here<CopiedBuffer>(session, made.buffer, reinterpret_cast<void *>(made.base), size, whereabouts);
    return usable ? std::move(copied) : nullptr;
}

} // namespace apir::guest
