#include "supports_op.hpp"

#include "op_rules.hpp"
#include "refusal.hpp"
#include "tensor_check.hpp"

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
        extent_of(sources_[i]);
        op_.src[i] = &sources_[i];
    }
}

bool OpTensors::acceptable(ggml_backend_dev_t device) const {
    try {
        check_op(op_, device);
    } catch (const Refusal &) {
        return false;
    }
    return true;
}

void OpTensors::forget_op() {
    op_.op = GGML_OP_NONE;
    for (ggml_tensor *&source : op_.src) source = nullptr;
}

} // namespace apir::host
