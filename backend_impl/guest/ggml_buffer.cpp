// ggml's buffer interface: tensor data in and out.
#include "ggml_slots.hpp"

#include <cstring>

#include "tensor_encoding.hpp"

namespace apir::guest {

namespace {

void free_buffer(ggml_backend_buffer_t buffer) {
    if (in_forked_child()) return; // goes with the process
    guarded("free_buffer", 0, [&] {
        std::unique_ptr<RemoteBuffer> remote(static_cast<RemoteBuffer *>(buffer->context));
        remote->session().channel().doubtful().forget(remote->handle());
        const Hold lender(remote->lender());
        lender->release(std::move(remote));
        return 0;
    });
}

// For a shared buffer the blob's address here, for a copied one a number that the host made up.
void *get_base(ggml_backend_buffer_t buffer) { return remote_buffer(buffer).base(); }

// libggml has no way to tell the program: the next graph fails. After a read too: it may be to compute what the program made of zeros.
bool told(ggml_backend_buffer_t buffer, bool carried_over) {
    if (!carried_over) remote_buffer(buffer).session().channel().lose_transfer();
    return carried_over;
}

void memset_tensor(ggml_backend_buffer_t buffer, ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) {
    told(buffer, guarded("memset_tensor", false, [&] { return remote_buffer(buffer).fill(tensor, value, offset, size); }));
}

bool set_bytes(ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    return told(buffer, guarded("set_tensor", false, [&] { return remote_buffer(buffer).set(tensor, data, offset, size); }));
}

// What could not be read is zeros, never whatever stood in the program's memory, nor what a graph that failed has left as it was.
bool get_bytes(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data, size_t offset, size_t size) {
    RemoteBuffer &remote = remote_buffer(buffer);
    const bool got = told(buffer, guarded("get_tensor", false, [&] { return remote.get(tensor, data, offset, size) && !remote.is_doubtful(); }));
    if (!got) std::memset(data, 0, size);
    return got;
}

void set_tensor(ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    set_bytes(buffer, tensor, data, offset, size);
}

void get_tensor(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data, size_t offset, size_t size) {
    get_bytes(buffer, tensor, data, offset, size);
}

// Rows that lie side by side in the tensor and in the program's memory are one transfer. Others go one by one, for what
// lies between them in the tensor must not be touched.
void set_tensor_2d(ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data, size_t offset, size_t size,
                   size_t n_copies, size_t stride_tensor, size_t stride_data) {
    if (stride_tensor == size && stride_data == size) {
        set_bytes(buffer, tensor, data, offset, size * n_copies);
        return;
    }
    const uint8_t *row = static_cast<const uint8_t *>(data);
    for (size_t i = 0; i < n_copies; ++i, row += stride_data) {
        if (!set_bytes(buffer, tensor, row, offset + i * stride_tensor, size)) return;
    }
}

void get_tensor_2d(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data, size_t offset, size_t size,
                   size_t n_copies, size_t stride_tensor, size_t stride_data) {
    if (stride_tensor == size && stride_data == size) {
        get_bytes(buffer, tensor, data, offset, size * n_copies);
        return;
    }
    // All rows are read, or zeroed: after a lost device each fails at once.
    uint8_t *row = static_cast<uint8_t *>(data);
    for (size_t i = 0; i < n_copies; ++i, row += stride_data) get_bytes(buffer, tensor, row, offset + i * stride_tensor, size);
}

// Within the host, without the data coming here. False lets ggml copy by way of get and set.
bool cpy_tensor(ggml_backend_buffer_t buffer, const ggml_tensor *src, ggml_tensor *dst) {
    return guarded("cpy_tensor", false, [&] {
        ggml_backend_buffer_t from = own_buffer(src);
        if (from == nullptr || &remote_buffer(from).session() != &remote_buffer(buffer).session()) return false;
        if (remote_buffer(from).is_doubtful()) return false; // then ggml reads, and is told
        return remote_buffer(buffer).copy(src, dst);
    });
}

void clear(ggml_backend_buffer_t buffer, uint8_t value) {
    told(buffer, guarded("clear", false, [&] { return remote_buffer(buffer).clear(value); }));
}

constexpr abi::BufferInterface buffer_interface = {
    free_buffer,
    get_base,
    nullptr, // init_tensor: each call carries the whole record, the host keeps nothing per tensor; null means success
    memset_tensor,
    set_tensor,
    get_tensor,
    set_tensor_2d,
    get_tensor_2d,
    cpy_tensor,
    clear,
    nullptr, // reset: nothing is kept per tensor that could be reset
#if APIR_GGML_GENERATION > 0
    nullptr, // set_tensor_n, get_tensor_n and cpy_tensor_n: ggml calls those of one tensor instead
    nullptr,
    nullptr,
#endif
};

} // namespace

ggml_backend_buffer_t make_buffer(ggml_backend_buffer_type_t buft, std::unique_ptr<RemoteBuffer> remote) {
    size_t size = remote->size();
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, buffer_interface, remote.get(), size);
    if (buffer != nullptr) remote.release();
    return buffer;
}

bool is_own_buffer(ggml_backend_buffer_t buffer) { return buffer->iface.free_buffer == free_buffer; }

} // namespace apir::guest
