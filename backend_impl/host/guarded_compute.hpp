// Computing a checked graph: what can be known only when it runs is checked here.
//
// Data that says where a kernel goes (see data_use.hpp) is read, checked, and handed to the kernel as a copy, for the guest may write to
// its shared memory at any time; what is sorted is sorted in memory of ours. A graph that makes such data itself is computed in parts: up
// to where it is there, then on. Only devices whose kernels run in this process's memory need it; a GPU's kernel goes where its driver
// lets it.
//
// A refusal of data that the graph itself has made comes when its first part has been computed: the guest's tensors then hold that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

#include <ggml-backend.h>

#include "data_use.hpp"

namespace apir::host {

struct ComputeLimits {
    double node_work = 1e13; // see graph_work.hpp; a node cannot be interrupted
    double graph_work = 1e15;
};

// An exception came out of ggml's backend, which cannot be used again.
class BackendThrew : public std::exception {
  public:
    explicit BackendThrew(const char *cause) noexcept { std::snprintf(text_, sizeof text_, "ggml: %s", cause); }
    const char *what() const noexcept override { return text_; }

  private:
    char text_[120]; // of its own: there may be no memory
};

class GuardedCompute {
  public:
    explicit GuardedCompute(const ComputeLimits &limits) : limits_(limits) {}

    // Throws Refusal for a graph that would take too long, and for data by which a kernel would leave its tensors; std::bad_alloc;
    // BackendThrew. The graph is as it was when this returns or throws.
    ggml_status compute(ggml_backend_t backend, bool in_host_memory, ggml_cgraph *graph);

  private:
    // A node that uses data, and what stands in for the tensors of the guest's.
    struct Guarded {
        ggml_tensor *node = nullptr;
        int position = 0;
        DataUse use;
        ggml_tensor *source = nullptr; // the guest's
        ggml_tensor copy{};
        std::vector<uint8_t> content; // of the copy
        void *result = nullptr; // where the guest's is, while it is computed elsewhere
        std::vector<uint8_t> sorted; // there
        bool again = false; // the same node was sorted before
    };
    struct GiveBack;
    struct Written;

    void check_work(ggml_cgraph *graph) const;
    void find_guarded(ggml_cgraph *graph);
    int part_end(ggml_cgraph *graph, int begin) const;
    // Those of the nodes from `begin` to before `end`.
    std::pair<size_t, size_t> guarded_in(int begin, int end) const;
    void take(int begin, int end);
    void give_back(int begin, int end);
    ggml_status compute_part(ggml_backend_t backend, ggml_cgraph *graph, int begin, int end);

    ComputeLimits limits_;
    std::vector<Guarded> guarded_; // of the graph under way, in its order
    std::vector<uint8_t> pool_; // of a part's ggml_context
};

} // namespace apir::host
