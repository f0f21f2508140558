// What nothing on this machine can be quicker than: a context of its own on the virtio-gpu device, spoken to without any library.
#pragma once

#include <memory>

#include "guest/device.hpp"
#include "request.hpp"
#include "row.hpp"

namespace apir::bench {

// The host library of this context is echo_library.cpp.
class Floors {
  public:
    // Throws Failure when there is no context to be had of the device, or another host library answers.
    explicit Floors(std::unique_ptr<guest::Device> device);
    ~Floors();
    Floors(const Floors &) = delete;
    Floors &operator=(const Floors &) = delete;

    // `rounds` of a word that both sides poll: `ns` of each.
    void word(const Request &request, Row &row);
    // `rounds` of the smallest command, each behind the other's reply and after `pause_ms`: `ns` of the submission alone, as part of a
    // call, `answered_ns` until the reply is there.
    void submission(const Request &request, Row &row);
    // `rounds` of a command that gets no reply, at least two, one at the heels of the other: `ns` of each submission.
    void burst(const Request &request, Row &row);
    // `size` bytes between memory and a mapped blob, `direction` to or from: `ns` of every copy loop, by name.
    void copy(const Request &request, Row &row);
    // `size` bytes between the host's memory and a blob of little, copied by the host alone, `direction` as above: how many nanoseconds the host says
    // that its copying took, by way of copying. Throws Failure when it says none, or more than passed meanwhile.
    void host_copy(const Request &request, Row &row);

  private:
    guest::Blob blob(size_t size);
    void open();
    void send(uint32_t type, uint32_t call, const uint32_t *payload, size_t words);
    uint32_t answer();
    uint64_t copied_by_host(const uint32_t *payload, size_t words);

    std::unique_ptr<guest::Device> device_;
    guest::Blob reply_;
    guest::Blob word_;
    uint32_t type_offset_ = 0;
};

} // namespace apir::bench
