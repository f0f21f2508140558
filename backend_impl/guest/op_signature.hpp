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
    bool source_offsets = false; // of views among the sources; call 6 and 15 have them, 66 and 67 only the op's own
};

// Of the op with its view source and its sources: types, shapes, strides, ops, parameters, flags, and which of them are one
// tensor. A hash of 128 bits: that two ops that are asked for have the same is not to be expected.
OpSignature signature_of(const ggml_tensor *op, SignatureParts parts);

} // namespace apir::guest
