// A graph as calls 22 and 71 have it: ids of the nodes, then a record of every node, of its sources, and of the tensors that
// these are views of. What a source was computed from is no part of the graph unless the source is a node: it goes as a leaf,
// and what programs cut in parts takes no more bytes than the parts.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "abi/backend_interface.hpp"
#include "apir_gen.hpp"

namespace apir::guest {

// A graph as it goes over the wire, and the tensors that it was made of.
struct EncodedGraph {
    // The ids of a record's tensor and of those that it refers to, 0 where there is none; whether it is a node; the operation that is told
    // (GGML_OP_NONE for what is no node).
    struct Links {
        uint32_t id = 0;
        int32_t op = 0;
        bool node = false;
        uint32_t view_source = 0;
        std::array<uint32_t, max_sources> sources{};
    };

    bool wide = false;
    std::vector<uint8_t> bytes;
    size_t records_at = 0; // in bytes
    size_t record_size = 0;
    // As the records have them: each stands behind one that refers to it, or is a node.
    std::vector<const ggml_tensor *> order;
    std::vector<Links> links; // of the records
    std::vector<uint32_t> nodes; // their ids

    size_t tensors() const { return order.size(); }
    const uint8_t *record(size_t i) const { return bytes.data() + records_at + i * record_size; }
};

// Only looks at its source from another side: nothing is computed.
bool only_a_view(const ggml_tensor *tensor);

// By the records of 0.2, which are smaller, wherever they do, else by wide ones if those may be used. False, with the cause in `error`,
// when a tensor does not fit the protocol or a node reads or writes memory that the host does not have. Ids are 1, 2, … in the
// order in which tensors are met: no guest pointer leaves the guest.
bool encode_graph(ggml_cgraph *graph, bool may_be_wide, EncodedGraph &encoded, std::string &error);

} // namespace apir::guest
