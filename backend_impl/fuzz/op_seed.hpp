// Ops as real programs ask for them: one line each of seeds/ops.txt, which graphs to mutate are made of.
//
//   NAME PARAMETERS RESULT SOURCE…    tensors are TYPE,ne0,ne1,ne2,ne3,nb0,nb1,nb2,nb3; "-" is a source that is not there
//
// Most lines are cases of the distribution's test-backend-ops (written by op_seed_spy.cpp), the rest ops that it does not have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <apir_gen.hpp>
#include <ggml.h>

namespace apir::fuzz {

struct SeedTensor {
    uint32_t type = 0;
    int64_t ne[4] = {};
    uint64_t nb[4] = {};

    // Bytes from the first to behind the last by the strides.
    uint64_t bytes() const;
    bool is_index() const { return type == GGML_TYPE_I32 || type == GGML_TYPE_I64; }
};

struct OpSeed {
    uint32_t op = 0;
    std::string family; // the op's name, or that of its sub-operation
    int32_t parameters[16] = {};
    SeedTensor result;
    std::vector<std::optional<SeedTensor>> sources;

    uint64_t bytes() const;
};

// Ends the program with a text when the file is none, or has no op.
std::vector<OpSeed> read_op_seeds(const std::string &path);

} // namespace apir::fuzz
