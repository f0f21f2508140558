// ggml_quantize_chunk, computed by a quantiser on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ggml-backend.h>
#include <mutex>

namespace apir::reference {

// As the function's own arguments are.
struct Chunk {
    ggml_type type;
    const float *from;
    void *to;
    int64_t start;
    int64_t rows;
    int64_t row_elements;
    const float *importance;

    int64_t elements() const { return rows * row_elements; }
    size_t size() const;
    void *at_start() const;
};

// Whether the first use of a type in a process has tables computed, which takes an emulated guest minutes.
bool has_tables(ggml_type type);

class RemoteQuantiser {
  public:
    explicit RemoteQuantiser(ggml_backend_t backend) : backend_(backend) {}

    // Whether the way to the host is shorter than computing here, and can be gone at all.
    bool is_for(const Chunk &chunk) const;
    // Computes on the host. Throws std::runtime_error.
    void quantise(const Chunk &chunk);

  private:
    std::mutex mutex_; // the program quantises in several threads; one backend is for one at a time
    ggml_backend_t backend_;
};

} // namespace apir::reference
