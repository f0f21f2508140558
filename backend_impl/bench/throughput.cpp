#include <algorithm>
#include <cstring>
#include <memory>

#include "clock.hpp"
#include "measures.hpp"

namespace apir::bench {

namespace {

// Memory of the program's own. Not a vector, which would write zeros first: that takes an emulator seconds.
struct Bytes {
    explicit Bytes(size_t count) : data(new uint8_t[count]), size(count) {}
    std::unique_ptr<uint8_t[]> data;
    const size_t size;
};

// No eight bytes are like others, so that none can be in another's place.
void fill(Bytes &bytes) {
    constexpr uint64_t odd = 0x9e3779b97f4a7c15;
    for (size_t at = 0; at < bytes.size; at += sizeof(uint64_t)) {
        const uint64_t word = (at / sizeof(uint64_t) + 1) * odd;
        std::memcpy(bytes.data.get() + at, &word, std::min(sizeof word, bytes.size - at));
    }
}

template <typename Call> void moved(Subject &subject, const Request &request, Row &row, Call call) {
    const size_t size = request.number("size", 4);
    Bytes bytes(size);
    Bytes back(size);
    fill(bytes);
    ggml_tensor tensor;
    Buffer buffer = subject.place_bytes(tensor, size);
    // Once before the clock runs, so that every page of it is there, on both sides.
    ggml_backend_tensor_set(&tensor, bytes.data.get(), 0, size);
    ggml_backend_tensor_get(&tensor, back.data.get(), 0, size);
    if (std::memcmp(bytes.data.get(), back.data.get(), size) != 0) throw Failure("the tensor did not keep its bytes");
    const size_t together = request.number("together", 1);
    auto sample = [&] {
        for (size_t left = together; left > 0; --left) call(tensor, bytes, back);
    };
    Timed made = timed_warm(request.number("warm", 0, 0), request.number("rounds", 10), sample);
    for (uint64_t &ns : made.ns) ns /= together;
    made.calls *= together;
    row.samples(made).number("size", size);
}

} // namespace

void set(Subject &subject, const Request &request, Row &row) {
    const bool sent = request.number("sent", 0, 0) != 0;
    moved(subject, request, row, [&subject, sent](ggml_tensor &tensor, const Bytes &bytes, const Bytes &) {
        ggml_backend_tensor_set(&tensor, bytes.data.get(), 0, bytes.size);
        if (sent) subject.ask_memory();
    });
}

void get(Subject &subject, const Request &request, Row &row) {
    moved(subject, request, row, [](ggml_tensor &tensor, const Bytes &, const Bytes &back) {
        ggml_backend_tensor_get(&tensor, back.data.get(), 0, back.size);
    });
}

} // namespace apir::bench
