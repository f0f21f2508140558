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
    bool leaf_names = false; // by which some backends know a weight
    uint64_t offset_bits = 0; // as told_offset() has it: all in calls 6 and 15, those below the device's alignment in 66, none in 67
};

// What is told of where a view among the sources begins. Nothing, as 0, where none of these bits is set; these bits alone, which then tell as much,
// where elements come out even with what they count up to; else all.
inline uint64_t told_offset(const ggml_tensor *source, uint64_t bits) {
    if ((source->view_offs & bits) == 0) return 0;
    return (bits + 1) % ggml_type_size(source->type) == 0 ? source->view_offs & bits : source->view_offs;
}

// Of the op with its view source and its sources: types, shapes, strides, where views begin, ops, parameters, flags, leaves' names, and which of
// them are one tensor. A hash of 128 bits: that two ops that are asked for have the same is not to be expected.
OpSignature signature_of(const ggml_tensor *op, SignatureParts parts);

} // namespace apir::guest
