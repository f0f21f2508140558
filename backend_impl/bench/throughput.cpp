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

// One byte of each page, and no more, so that the memory stays as warm as it is.
void change(Bytes &bytes) {
    constexpr size_t page = 4096;
    for (size_t at = 0; at < bytes.size; at += page) bytes.data[at] = static_cast<uint8_t>(~bytes.data[at]);
}

// A tensor, what is written to it, and where it is read to.
class Moved {
  public:
    Moved(Subject &subject, size_t size) : bytes(size), back(size), buffer_(subject.place_bytes(tensor_, size)) {
        fill(bytes);
        // Once before the clock runs, so that every page of it is there, on both sides.
        write();
        read();
        check();
    }

    void write() { ggml_backend_tensor_set(&tensor_, bytes.data.get(), 0, bytes.size); }
    void read() { ggml_backend_tensor_get(&tensor_, back.data.get(), 0, back.size); }
    void check() const {
        if (std::memcmp(bytes.data.get(), back.data.get(), bytes.size) != 0) throw Failure("the tensor did not keep its bytes");
    }

    Bytes bytes;
    Bytes back;

  private:
    ggml_tensor tensor_;
    Buffer buffer_;
};

template <typename Call, typename Change> void sampled(const Request &request, Row &row, Call call, Change before_last) {
    const size_t together = request.number("together", 1);
    auto sample = [&] {
        for (size_t left = together; left > 0; --left) call();
    };
    Timed made = timed_warm(request.number("warm", 0, 0), request.number("rounds", 10), sample, before_last);
    for (uint64_t &ns : made.ns) ns /= together;
    made.calls *= together;
    row.samples(made);
}

} // namespace

// The calls say nothing when they fail. So other bytes are written last, and they are read back; and what is read last is read over others.
void set(Subject &subject, const Request &request, Row &row) {
    const bool sent = request.number("sent", 0, 0) != 0;
    Moved moved(subject, request.number("size", 4));
    auto call = [&] {
        moved.write();
        if (sent) subject.ask_memory();
    };
    sampled(request, row, call, [&] { change(moved.bytes); });
    moved.read();
    moved.check();
    row.number("size", moved.bytes.size);
}

void get(Subject &subject, const Request &request, Row &row) {
    Moved moved(subject, request.number("size", 4));
    sampled(request, row, [&] { moved.read(); }, [&] { change(moved.back); });
    moved.check();
    row.number("size", moved.bytes.size);
}

} // namespace apir::bench
