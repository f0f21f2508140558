#include "tensor_encoding.hpp"

#include <cstring>
#include <type_traits>

#include "ggml_slots.hpp"
#include "op_signature.hpp"
#include "remote_buffer.hpp"
#include "wire/short_copies.hpp"

namespace apir::guest {

namespace {

constexpr uint64_t present = 1;

// Shape and parameters; all pointers 0. A leaf keeps its name, by which some backends know a weight; names of computed
// tensors differ from graph to graph and mean nothing.
RawTensor raw_of(const ggml_tensor *tensor) {
    RawTensor raw;
    raw.type = tensor->type;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        raw.ne[i] = tensor->ne[i];
        raw.nb[i] = tensor->nb[i];
    }
    raw.op = tensor->op;
    if (!calls_program(tensor)) std::memcpy(raw.op_params, tensor->op_params, sizeof raw.op_params);
    raw.flags = tensor->flags;
    raw.view_offs = tensor->view_offs;
    if (tensor->op == GGML_OP_NONE) copy_name(raw.name, tensor->name);
    return raw;
}

} // namespace

ggml_backend_buffer_t own_buffer(const ggml_tensor *tensor) {
    ggml_backend_buffer_t buffer = tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
    return buffer != nullptr && is_own_buffer(buffer) ? buffer : nullptr;
}

bool calls_program(const ggml_tensor *op) {
    return op->op == GGML_OP_MAP_CUSTOM1 || op->op == GGML_OP_MAP_CUSTOM2 || op->op == GGML_OP_MAP_CUSTOM3 || op->op == GGML_OP_CUSTOM;
}

bool fits_record(const ggml_tensor *tensor) {
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (tensor->ne[i] < 0 || tensor->ne[i] > UINT32_MAX || tensor->nb[i] > UINT32_MAX) return false;
    }
    return true;
}

bool op_fits_records(const ggml_tensor *op) {
    if (!fits_record(op)) return false;
    if (op->view_src != nullptr && !fits_record(op->view_src)) return false;
    for (const ggml_tensor *source : op->src) {
        if (source != nullptr && !fits_record(source)) return false;
    }
    return true;
}

namespace {

// Type, shape, op, parameters and flags.
template <typename Record> Record described(const ggml_tensor *tensor) {
    Record record;
    record.type = tensor->type;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        record.ne[i] = static_cast<std::remove_reference_t<decltype(record.ne[i])>>(tensor->ne[i]);
        record.nb[i] = static_cast<std::remove_reference_t<decltype(record.nb[i])>>(tensor->nb[i]);
    }
    record.op = tensor->op;
    if (!calls_program(tensor)) std::memcpy(record.op_params, tensor->op_params, sizeof record.op_params);
    record.flags = tensor->flags;
    return record;
}

bool fits(const ggml_tensor *, const WideTensorRecord &) { return true; }
bool fits(const ggml_tensor *tensor, const TensorRecord &) { return fits_record(tensor); }

} // namespace

template <typename Record> std::optional<Record> record_of(const ggml_tensor *tensor) {
    Record record = described<Record>(tensor);
    if (!fits(tensor, record)) return std::nullopt;
    copy_name(record.name, tensor->name);
    if (ggml_backend_buffer_t buffer = own_buffer(tensor)) {
        const RemoteBuffer &remote = remote_buffer(buffer);
        uint64_t data = reinterpret_cast<uintptr_t>(tensor->data);
        uint64_t base = reinterpret_cast<uintptr_t>(remote.base());
        if (data < base || data - base > remote.size()) return std::nullopt;
        record.buffer = remote.handle();
        record.data = data - base;
    }
    return record;
}
template std::optional<TensorRecord> record_of(const ggml_tensor *tensor);
template std::optional<WideTensorRecord> record_of(const ggml_tensor *tensor);

std::vector<WideTensorRecord> op_records_of(const ggml_tensor *op, uint64_t offset_bits) {
    std::vector<const ggml_tensor *> tensors{op};
    auto id_of = [&](const ggml_tensor *tensor) -> uint64_t {
        if (tensor == nullptr) return 0;
        size_t at = 0;
        while (at < tensors.size() && tensors[at] != tensor) ++at;
        if (at == tensors.size()) tensors.push_back(tensor);
        return at + 1;
    };
    WideTensorRecord first = described<WideTensorRecord>(op);
    first.id = 1;
    first.view_src = id_of(op->view_src);
    first.view_offs = op->view_offs;
    for (size_t i = 0; i < max_sources; ++i) first.src[i] = id_of(op->src[i]);
    std::vector<WideTensorRecord> records{first};
    for (size_t i = 1; i < tensors.size(); ++i) {
        records.push_back(described<WideTensorRecord>(tensors[i]));
        records.back().id = i + 1;
        records.back().view_offs = told_offset(tensors[i], offset_bits);
    }
    // A leaf keeps its name, as in raw_of.
    for (size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i]->op == GGML_OP_NONE) copy_name(records[i].name, tensors[i]->name);
    return records;
}

OpRecord op_record_of(const ggml_tensor *op) {
    OpRecord record;
    record.tensor = raw_of(op);
    if (op->view_src != nullptr) {
        record.tensor.view_src = present;
        record.view_src = raw_of(op->view_src);
    }
    for (size_t i = 0; i < max_sources && op->src[i] != nullptr; ++i) {
        record.tensor.src[i] = present;
        record.src[i] = raw_of(op->src[i]);
    }
    return record;
}

} // namespace apir::guest
