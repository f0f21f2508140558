// Computing a graph with lies in it.
#pragma once

#include <abi/backend_interface.hpp>

#include "lies.hpp"

namespace apir::liar {

using Compute = ggml_status (*)(ggml_backend_t, ggml_cgraph *);

// How the wrapped library is reached from a graph.
struct Honest {
    ggml_backend_dev_t device;
    Compute compute;
};

// Computes on the wrapped library's backend. What is lied about is felt by everything that is computed from it.
ggml_status compute_with_lies(ggml_backend_t backend, const Honest &honest, Liar &liar, ggml_cgraph *graph);

} // namespace apir::liar
