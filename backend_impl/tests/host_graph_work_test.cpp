// How much work products and attention are by their shapes: what large models ask may be computed, what would take days may not.
#include <string>
#include <vector>

#include "host/graph_work.hpp"
#include "host/guarded_compute.hpp"
#include "host_expect.hpp"

using namespace apir;
using namespace apir::host;
using namespace apir::test;

namespace {

struct Row {
    const char *name;
    ggml_op op;
    std::vector<std::vector<int64_t>> shapes; // the result's, then its sources'
    double steps;                             // of the innermost loops
};

double work_of(const Row &row) {
    std::vector<ggml_tensor> tensors(row.shapes.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        for (int axis = 0; axis < GGML_MAX_DIMS; ++axis) tensors[i].ne[axis] = row.shapes[i][static_cast<size_t>(axis)];
        if (i > 0) tensors[0].src[i - 1] = &tensors[i];
    }
    tensors[0].op = row.op;
    return host::work_of(tensors[0]);
}

const Row of_models[] = {
    {"an output matrix and one token", GGML_OP_MUL_MAT, {{256000, 1, 1, 1}, {8192, 256000, 1, 1}, {8192, 1, 1, 1}}, 8192. * 256000},
    {"an output matrix and 512 tokens", GGML_OP_MUL_MAT, {{256000, 512, 1, 1}, {8192, 256000, 1, 1}, {8192, 512, 1, 1}}, 8192. * 256000 * 512},
    {"scores of heads that share keys", GGML_OP_MUL_MAT, {{131072, 1, 64, 1}, {128, 131072, 8, 1}, {128, 1, 64, 1}}, 128. * 131072 * 64},
    {"8 of 256 experts", GGML_OP_MUL_MAT_ID, {{2048, 8, 512, 1}, {7168, 2048, 256, 1}, {7168, 1, 512, 1}, {8, 512, 1, 1}}, 7168. * 2048 * 8 * 512},
    {"an outer product of many", GGML_OP_OUT_PROD, {{8192, 1, 4, 1}, {8192, 65536, 1, 1}, {1, 65536, 4, 1}}, 8192. * 65536 * 4},
    {"attention to 131072 tokens", GGML_OP_FLASH_ATTN_EXT,
     {{128, 64, 1, 1}, {128, 1, 64, 1}, {128, 131072, 8, 1}, {128, 131072, 8, 1}, {131072, 64, 1, 1}}, 2. * 128 * 64 * 131072},
    {"attention of 512 tokens to 131072", GGML_OP_FLASH_ATTN_EXT,
     {{128, 64, 512, 1}, {128, 512, 64, 1}, {128, 131072, 8, 1}, {128, 131072, 8, 1}, {131072, 512, 1, 1}}, 2. * 128 * 64 * 512 * 131072},
    {"attention by long queries to short values", GGML_OP_FLASH_ATTN_EXT,
     {{512, 128, 1, 1}, {576, 1, 128, 1}, {576, 131072, 1, 1}, {512, 131072, 1, 1}}, (576. + 512) * 128 * 131072},
};

constexpr int64_t many = int64_t{1} << 16;

const Row of_days[] = {
    {"a product of large squares", GGML_OP_MUL_MAT, {{many, many, 1, 1}, {many, many, 1, 1}, {many, many, 1, 1}}, 2.8e14},
    {"a product of one matrix and many", GGML_OP_MUL_MAT, {{1024, 1024, many, 1}, {many, 1024, 1, 1}, {many, 1024, many, 1}}, 4.5e15},
    {"a matrix that is one of numbers of all", GGML_OP_MUL_MAT, {{many, many, 1, 1}, {4096, many, 1, 1}, {4096, many, 1, 1}}, 1.7e13},
    {"one expert for all", GGML_OP_MUL_MAT_ID, {{many, 64, many, 1}, {many, many, 1, 1}, {many, 1, many, 1}, {64, many, 1, 1}}, 1.8e16},
    {"an outer product of long ones", GGML_OP_OUT_PROD, {{4096, many, 1, 1}, {4096, many, 1, 1}, {many, many, 1, 1}}, 1.7e13},
    {"an outer product for each of many", GGML_OP_OUT_PROD, {{1024, 1024, many, 1}, {1024, many, 1, 1}, {1024, many, many, 1}}, 4.5e15},
    {"attention of all heads to one's keys", GGML_OP_FLASH_ATTN_EXT,
     {{64, 64, many, 64}, {64, many, 64, 64}, {64, many, 1, 1}, {64, many, 1, 1}}, 2.2e15},
    {"attention by long queries to values of one number", GGML_OP_FLASH_ATTN_EXT,
     {{1, 64, many, 1}, {4096, many, 64, 1}, {4096, many, 1, 1}, {1, many, 1, 1}}, 1.1e15},
    {"attention by queries of one number to long values", GGML_OP_FLASH_ATTN_EXT,
     {{4096, 64, many, 1}, {1, many, 64, 1}, {1, many, 1, 1}, {4096, many, 1, 1}}, 1.1e15},
    {"attention of tiles to one key", GGML_OP_FLASH_ATTN_EXT,
     {{8, 1 << 20, 65, 1}, {131064, 65, 1 << 20, 1}, {131064, 1, 1, 1}, {8, 1, 1, 1}}, 64. * 131072 * 65 * (1 << 20)},
    {"attention to keys beyond any memory", GGML_OP_FLASH_ATTN_EXT,
     {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, INT64_MAX, 1, 1}, {1, INT64_MAX, 1, 1}}, 1.8e19},
};

void models_are_computed() {
    for (const Row &row : of_models) {
        const double work = work_of(row);
        expect(work >= row.steps, std::string(row.name) + ": no step is left out of " + std::to_string(work));
        expect(work <= 2 * row.steps, std::string(row.name) + ": none is counted that is not made, of " + std::to_string(work));
        expect(work < ComputeLimits().node_work, std::string(row.name) + " may be computed: " + std::to_string(work));
    }
}

void days_are_not() {
    for (const Row &row : of_days) {
        const double work = work_of(row);
        expect(work >= row.steps * 0.95, std::string(row.name) + ": no step is left out of " + std::to_string(work));
        expect(work > ComputeLimits().node_work, std::string(row.name) + " is refused: " + std::to_string(work));
    }
}

// A result of few numbers, or none, that much is read for.
void sources_are_gone_over() {
    const Row conversion{"", GGML_OP_MUL_MAT, {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, many * many, 1}}, 0};
    expect(work_of(conversion) >= static_cast<double>(many * many), "numbers of a large source");
    const Row nothing{"", GGML_OP_OUT_PROD, {{many, many, 1, 1}, {many, 0, 1, 1}, {many, 0, 1, 1}}, 0};
    expect(work_of(nothing) >= static_cast<double>(many * many), "numbers of a result that is made of nothing");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"models_are_computed", models_are_computed}, {"days_are_not", days_are_not}, {"sources_are_gone_over", sources_are_gone_over}},
                     count > 1 ? values[1] : nullptr);
}
