// Buffers of a session.
#pragma once

#include <cstdint>
#include <memory>

#include <ggml-backend.h>

#include "handles.hpp"

namespace apir::host {

struct FreeBuffer {
    // ggml_backend_buffer_free, not the buffer's own function: a buffer that does not own its memory (ggml-cpu's
    // from-pointer buffer) has none, and ggml then only deletes the buffer object.
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};

struct Buffer {
    std::unique_ptr<ggml_backend_buffer, FreeBuffer> ggml;
    uint8_t *base; // real address, or what the backend takes for one; never told to the guest
    uint64_t size;
    uint64_t allocated; // bytes of the device's memory; 0 for one in memory of the guest's
    uint64_t told_base; // what the guest takes for the base
};

using BufferTable = HandleTable<Buffer, HandleKind::buffer>;

} // namespace apir::host
