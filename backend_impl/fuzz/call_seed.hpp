// A good message of every call, and graphs as messages.
#pragma once

#include "graph_seed.hpp"
#include "host_world.hpp"
#include "random.hpp"

namespace apir::fuzz {

// A call of the schema with a request that is well-formed, and often carried out; sometimes on a device.
Message call_message(Random &random, const Handles &handles);

// A graph to be computed, or asked about (supports_op, get_alloc_size), in narrow or in wide records.
Message message_of(const SeedGraph &graph, const Handles &handles, Random &random);

WideGraph widened(const Graph &graph);
WideGraph widened(const WideGraph &graph);
// As the call takes it: 22 in narrow records, 71 in wide ones.
Bytes encoded_graph(const WideGraph &graph, uint32_t call);
// The payload then says how long the graph is.
Message with_graph_size(Message message);

} // namespace apir::fuzz
