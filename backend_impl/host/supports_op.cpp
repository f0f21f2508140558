#include "supports_op.hpp"

#include <cinttypes>

#include "op_rules.hpp"
#include "refusal.hpp"
#include "tensor_check.hpp"
#include "vulkan_layout.hpp"

namespace apir::host {

OpTensors::OpTensors(const OpRecord &record) {
    fill(op_, record.tensor);
    extent_of(op_);
    if (record.tensor.view_src != 0) {
        fill(view_, record.view_src);
        extent_of(view_);
        op_.view_src = &view_;
        op_.view_offs = record.tensor.view_offs;
    }
    static_assert(max_sources == GGML_MAX_SRC);
    for (size_t i = 0; i < record.source_count(); ++i) {
        fill(sources_[i], record.src[i]);
        sources_[i].view_offs = record.src[i].view_offs;
        extent_of(sources_[i]);
        op_.src[i] = &sources_[i];
    }
    complete_cast(op_);
}

OpTensors::OpTensors(const std::vector<WideTensorRecord> &records) {
    if (records.empty() || records.size() > max_sources + 2) refuse("an op of %zu tensors", records.size());
    auto with_id = [&](uint64_t id) -> ggml_tensor * {
        if (id == 0) return nullptr;
        for (size_t i = 1; i < records.size(); ++i)
            if (records[i].id == id) return &sources_[i - 1];
        // A cast names itself as where it writes.
        if (records[0].id == id) return &op_;
        refuse("source %#" PRIx64 " is not among the tensors", id);
    };
    for (size_t i = 0; i < records.size(); ++i) {
        ggml_tensor &tensor = i == 0 ? op_ : sources_[i - 1];
        fill(tensor, records[i]);
        extent_of(tensor);
        tensor.view_offs = records[i].view_offs;
    }
    op_.view_src = with_id(records[0].view_src);
    if (op_.view_src == &op_) refuse("a view of itself");
    for (size_t i = 0; i < max_sources; ++i) op_.src[i] = with_id(records[0].src[i]);
    complete_cast(op_);
}

bool OpTensors::acceptable(ggml_backend_dev_t device) const {
    try {
        check_op(op_, device);
    } catch (const Refusal &) {
        return false;
    }
    return true;
}

bool OpTensors::will_lie_well(ggml_backend_dev_t device) const {
    return is_view_op(op_.op) || ggml_is_empty(&op_) || !has_vulkan_kernels(device) || will_have_vulkan_layout(op_, device);
}

void OpTensors::forget_op() {
    op_.op = GGML_OP_NONE;
    for (ggml_tensor *&source : op_.src) source = nullptr;
}

} // namespace apir::host
