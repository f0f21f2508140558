// How good graphs and good bytes are made bad.
#pragma once

#include "host_world.hpp"
#include "random.hpp"

namespace apir::fuzz {

// One change of one thing: a shape, a stride, a type, an op, a parameter, a link, a place (that of another tensor, too), a handle, a
// flag, or the list of nodes.
void mutate_graph(WideGraph &graph, const Handles &handles, Random &random);
// The same of a tensor that stands for itself.
void mutate_tensor(WideTensorRecord &tensor, const Handles &handles, Random &random);

// A flipped bit, an edge integer, a cut, or some bytes too many.
void mutate_bytes(Bytes &bytes, Random &random);

// One of the handles there are, one that is no longer, or none at all.
uint64_t any_handle(const Handles &handles, Random &random);

} // namespace apir::fuzz
