// An op with its sources, rebuilt from the in-line form of calls 6 and 15 or from records. No pointer of the guest's is followed or kept.
#pragma once

#include <vector>

#include <apir_gen.hpp>
#include <ggml-backend.h>

namespace apir::host {

class OpTensors {
  public:
    // Throws Refusal when a record is no tensor of ggml's.
    explicit OpTensors(const OpRecord &record);
    // The op first; its sources and its view source by id.
    explicit OpTensors(const std::vector<WideTensorRecord> &records);
    OpTensors(const OpTensors &) = delete;
    OpTensors &operator=(const OpTensors &) = delete;

    const ggml_tensor *tensor() const { return &op_; }
    // Whether the device may be asked about it: see op_rules.hpp.
    bool acceptable(ggml_backend_dev_t device) const;
    // Whether what will be at the places that views have is computed there.
    bool will_lie_well(ggml_backend_dev_t device) const;
    // Leaves a plain tensor of the same shape.
    void forget_op();

  private:
    ggml_tensor op_{};
    ggml_tensor view_{};
    ggml_tensor sources_[max_sources + 1]{}; // of records: all but the op
};

} // namespace apir::host
