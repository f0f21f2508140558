// Calls that ask about buffer types, and those that make buffers.
#include <cinttypes>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_layout.hpp"
#include "huge_pages.hpp"
#include "refusal.hpp"
#include "session.hpp"
#include "supports_op.hpp"

namespace apir::host {
namespace {

// Distance between made-up bases, so that the end of one buffer is not the beginning of the next.
constexpr uint64_t base_gap = uint64_t{1} << 16;
// Bases start anew here; they are only told, never taken back, so that two alike do no harm.
constexpr uint64_t last_base = uint64_t{1} << 46;

} // namespace

uint64_t Session::handle_of(HostDevice &device) {
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device.ggml);
    if (type == nullptr) refuse("the device has no buffer type");
    // A device always gives the same one.
    if (device.buffer_type == 0 || *buffer_types_.find(device.buffer_type) != type) device.buffer_type = buffer_types_.add(type);
    return device.buffer_type;
}

uint64_t Session::made_up_base(const void *base, uint64_t size, uint64_t alignment) {
    uint64_t step = alignment > base_gap ? alignment : base_gap;
    if (next_base_ > last_base) next_base_ = uint64_t{1} << 40;
    uint64_t aligned = (next_base_ + step - 1) / step * step;
    next_base_ = aligned + (size < last_base ? size : 0) + step;
    // As far from an aligned address as the real one is: padding then comes out the same on both sides.
    return aligned + reinterpret_cast<uintptr_t>(base) % alignment;
}

uint64_t Session::keep(ggml_backend_buffer_t made, uint64_t size, uint64_t allocated) {
    Buffer buffer{};
    buffer.ggml.reset(made);
    buffer.base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(made));
    // Backends may round the size up; the guest owns what it asked for.
    buffer.size = size;
    buffer.allocated = allocated;
    buffer.told_base = made_up_base(buffer.base, size, ggml_backend_buffer_get_alignment(made));
    uint64_t &sum = allocated_[ggml_backend_buffer_get_type(made)];
    uint64_t handle = buffers_.add(std::move(buffer));
    sum += allocated;
    return handle;
}

uint64_t Session::alloc_size(ggml_backend_buffer_type_t type, OpTensors &op) {
    ggml_backend_dev_t owner = ggml_backend_buft_get_device(type);
    // Some backends look at the sources of some ops: then they have to be there.
    if (!op.acceptable(owner == nullptr ? device().ggml : owner)) op.forget_op();
    if (owner != nullptr && has_cuda_kernels(owner) && !has_cuda_blocks(*op.tensor())) refuse("the size of blocks that lie apart");
    return ggml_backend_buft_get_alloc_size(type, op.tensor());
}

DeviceBufferFromPtrReply Session::on_device_buffer_from_ptr(const DeviceBufferFromPtrRequest &request) {
    if (!device().props.caps.buffer_from_host_ptr) refuse("the device makes no buffers from host memory");
    if (request.size == 0) refuse("a buffer of no bytes");
    if (buffers_.size() >= max_buffers) refuse("%zu buffers are enough", buffers_.size());
    SharedRange range = shared(request.resource, request.size);
    uint64_t largest = request.max_tensor_size < request.size ? request.max_tensor_size : request.size;
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device().ggml);
    if (reinterpret_cast<uintptr_t>(range.data) % ggml_backend_buft_get_alignment(type) != 0)
        refuse("resource %" PRIu32 " is not aligned for the device", request.resource);
    gather_huge_pages(range.data, request.size); // before a device takes hold of its pages
    ggml_backend_buffer_t made = ggml_backend_dev_buffer_from_host_ptr(device().ggml, range.data, request.size, largest);
    if (made == nullptr) return {0, 0};
    return {keep(made, request.size, 0), handle_of(device())};
}

BufferTypeGetNameReply Session::on_buffer_type_get_name(const BufferTypeGetNameRequest &request) {
    return {ggml_backend_buft_name(buffer_type(request.buft))};
}

BufferTypeGetAlignmentReply Session::on_buffer_type_get_alignment(const BufferTypeGetAlignmentRequest &request) {
    return {ggml_backend_buft_get_alignment(buffer_type(request.buft))};
}

BufferTypeGetMaxSizeReply Session::on_buffer_type_get_max_size(const BufferTypeGetMaxSizeRequest &request) {
    return {ggml_backend_buft_get_max_size(buffer_type(request.buft))};
}

BufferTypeIsHostReply Session::on_buffer_type_is_host(const BufferTypeIsHostRequest &) { return {false}; }

// What malloc had in a new buffer before, addresses among it, is not the guest's to read: of a large one, of which not all may ever be used, the pages
// are given back, and come again as zeros. False when it is small, or that cannot be had.
static bool drop_pages(void *base, uint64_t size) {
    constexpr uint64_t least = uint64_t{1} << 20;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    auto *from = static_cast<uint8_t *>(base);
    const size_t before = (page - reinterpret_cast<uintptr_t>(from) % page) % page;
    const size_t behind = (reinterpret_cast<uintptr_t>(from) + size) % page;
    if (size < least || madvise(from + before, size - before - behind, MADV_DONTNEED) != 0) return false;
    std::memset(from, 0, before);
    std::memset(from + size - behind, 0, behind);
    return true;
}

BufferTypeAllocBufferReply Session::on_buffer_type_alloc_buffer(const BufferTypeAllocBufferRequest &request) {
    ggml_backend_buffer_type_t type = buffer_type(request.buft);
    if (buffers_.size() >= max_buffers) refuse("%zu buffers are enough", buffers_.size());
    size_t free = 0;
    size_t total = 0;
    ggml_backend_dev_t owner = ggml_backend_buft_get_device(type);
    ggml_backend_dev_memory(owner == nullptr ? device().ggml : owner, &free, &total);
    // What the device can never hold, all buffers together, is not tried: an overcommitting kernel would promise it. Devices may not
    // know their total.
    uint64_t limit = memory_limit_ != 0 ? memory_limit_ : total;
    uint64_t allocated = allocated_[type];
    bool above = limit != 0 && (request.size > limit || allocated > limit - request.size);
    if (above)
        log(Level::warn, "ggml-virtgpu-backend: no buffer of %" PRIu64 " bytes: others have %" PRIu64 " of the %" PRIu64 " that they may have (ggml.memory)",
            request.size, allocated, limit);
    bool impossible = request.size == 0 || request.size > ggml_backend_buft_get_max_size(type) || above;
    ggml_backend_buffer_t made = impossible ? nullptr : ggml_backend_buft_alloc_buffer(type, request.size);
    if (made == nullptr) return {0};
    if (ggml_backend_buffer_is_host(made)) {
        void *base = ggml_backend_buffer_get_base(made);
        wish_for_huge_pages(base, request.size); // before it is first used
        // That of ggml's own base library has no device.
        const bool is_of_malloc = owner == nullptr || ggml_backend_dev_type(owner) == GGML_BACKEND_DEVICE_TYPE_CPU;
        if (!is_of_malloc || !drop_pages(base, request.size)) ggml_backend_buffer_clear(made, 0);
    }
    return {keep(made, request.size, request.size)};
}

AllocWithBaseReply Session::on_alloc_with_base(const AllocWithBaseRequest &request) {
    const uint64_t made = on_buffer_type_alloc_buffer({request.buft, request.size}).buffer;
    return {made, made == 0 ? 0 : buffer(made).told_base};
}

BufferTypeGetAllocSizeReply Session::on_buffer_type_get_alloc_size(const BufferTypeGetAllocSizeRequest &request) {
    OpTensors op(request.op);
    return {alloc_size(buffer_type(request.buft), op)};
}

WideGetAllocSizeReply Session::on_wide_get_alloc_size(const WideGetAllocSizeRequest &request) {
    OpTensors op(request.tensors);
    return {alloc_size(buffer_type(request.buft), op)};
}

} // namespace apir::host
