// A graph as call 22 has it: ids of the nodes, then a record of every tensor that can be reached from them.
#pragma once

#include <string>

#include "abi/backend_interface.hpp"
#include "apir_gen.hpp"

namespace apir::guest {

// False, with the cause in `error`, when a tensor does not fit the protocol or a node reads or writes memory that the
// host does not have. Ids are 1, 2, … in the order in which tensors are met: no guest pointer leaves the guest.
bool encode_graph(ggml_cgraph *graph, Graph &encoded, std::string &error);

size_t encoded_size(const Graph &graph);

} // namespace apir::guest
