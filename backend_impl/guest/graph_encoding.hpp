// A graph as calls 22 and 71 have it: ids of the nodes, then a record of every node, of its sources, and of the tensors that
// these are views of. What a source was computed from is no part of the graph unless the source is a node: it goes as a leaf,
// and what programs cut in parts takes no more bytes than the parts.
#pragma once

#include <string>
#include <vector>

#include "abi/backend_interface.hpp"
#include "apir_gen.hpp"

namespace apir::guest {

// False, with the cause in `error`, when a tensor does not fit the protocol or a node reads or writes memory that the
// host does not have. Ids are 1, 2, … in the order in which tensors are met: no guest pointer leaves the guest.
// `order` gets the tensors as the records have them: each stands behind one that refers to it, or is a node.
// `Message` is Graph or WideGraph.
template <typename Message>
bool encode_graph(ggml_cgraph *graph, Message &encoded, std::vector<const ggml_tensor *> &order, std::string &error);

// Whether shapes and strides of all tensors that a graph's records are made of fit those of call 22.
bool graph_fits_records(ggml_cgraph *graph);

template <typename Message> size_t encoded_size(const Message &graph) {
    return 4 + 8 * graph.nodes.size() + 4 + decltype(graph.tensors)::value_type::wire_size * graph.tensors.size();
}

} // namespace apir::guest
