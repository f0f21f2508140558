#include <cstring>

#include "clock.hpp"
#include "measures.hpp"

namespace apir::bench {

namespace {

// Memory of the program's own, every page of it there before the clock runs.
std::vector<uint8_t> pattern(size_t size) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + (i >> 12));
    return bytes;
}

template <typename Call> void moved(Subject &subject, const Request &request, Row &row, Call call) {
    const size_t size = request.number("size", 4);
    std::vector<uint8_t> bytes = pattern(size);
    std::vector<uint8_t> back(size);
    ggml_tensor tensor;
    Buffer buffer = subject.place_bytes(tensor, size);
    ggml_backend_tensor_set(&tensor, bytes.data(), 0, size);
    ggml_backend_tensor_get(&tensor, back.data(), 0, size);
    if (std::memcmp(bytes.data(), back.data(), size) != 0) throw Failure("the tensor did not keep its bytes");
    row.samples(timed(request.number("rounds", 10), [&] { call(tensor, bytes, back); })).number("size", size);
}

} // namespace

void set(Subject &subject, const Request &request, Row &row) {
    moved(subject, request, row, [](ggml_tensor &tensor, const std::vector<uint8_t> &bytes, std::vector<uint8_t> &) {
        ggml_backend_tensor_set(&tensor, bytes.data(), 0, bytes.size());
    });
}

void get(Subject &subject, const Request &request, Row &row) {
    moved(subject, request, row, [](ggml_tensor &tensor, const std::vector<uint8_t> &, std::vector<uint8_t> &back) {
        ggml_backend_tensor_get(&tensor, back.data(), 0, back.size());
    });
}

} // namespace apir::bench
