// Valid graphs of one or a few ops, laid out in a buffer, with content that the ops can compute with.
#pragma once

#include <vector>

#include "host_world.hpp"
#include "op_seed.hpp"
#include "random.hpp"

namespace apir::fuzz {

struct SeedGraph {
    WideGraph graph;
    Bytes memory; // at the end of the buffer
};

// One op with its sources, in an order of memory that chance decides; the last tensor ends where the buffer does. Now and then
// indices are computed by a node of their own. `content` is none of ggml's numbers but chance's where `wild`.
SeedGraph seed_graph(const OpSeed &seed, uint64_t buffer, Random &random, bool wild);

// One op of which one tensor has other strides, of dimensions of 1 as well, and lies at the buffer's beginning or its end: what a
// kernel goes beyond it, it goes beyond the buffer.
SeedGraph strided_graph(const OpSeed &seed, uint64_t buffer, Random &random);

// Both in one graph: the nodes of the second behind those of the first.
SeedGraph joined(const SeedGraph &first, const SeedGraph &second);

} // namespace apir::fuzz
