// What the host's answers about an op hang on, in two words: the same for ops that it is told of in the same words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/backend_interface.hpp"

namespace apir::guest {

struct OpSignature {
    uint64_t first = 0;
    uint64_t second = 0;

    bool operator==(const OpSignature &other) const { return first == other.first && second == other.second; }
};

struct OpSignatureHash {
    size_t operator()(const OpSignature &signature) const { return static_cast<size_t>(signature.first); }
};

// Parts of the words that do not go into every question, or not into its answer.
struct SignatureParts {
    bool leaf_names = false;     // by which some backends know a weight
    uint64_t offset_bits = 0; // as told_offset() has it: any in calls 6 and 15, those of the device's alignment in 66
};

// Where a view among the sources begins, if one of these bits of it is set; else that goes untold, as 0.
inline uint64_t told_offset(const ggml_tensor *source, uint64_t bits) { return (source->view_offs & bits) != 0 ? source->view_offs : 0; }

// Of the op with its view source and its sources: types, shapes, strides, ops, parameters, flags, and which of them are one
// tensor. A hash of 128 bits: that two ops that are asked for have the same is not to be expected.
OpSignature signature_of(const ggml_tensor *op, SignatureParts parts);

} // namespace apir::guest
