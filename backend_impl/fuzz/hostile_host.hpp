// A host that lies to its guest: how it answers each command is in the bytes of an input, and what it writes into the command ring.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ring.hpp"
#include "tests/guest_fake.hpp"

namespace apir::fuzz {

// The input: a byte for what the host's device can, two for the extensions that it accepts, then a byte per command. Below
// `first_lie` the command is answered as a good host does.
class HostileHost : public guest::test::ScriptedHost {
  public:
    static constexpr uint8_t first_lie = 160;
    static constexpr size_t head_bytes = 3;

    HostileHost(const uint8_t *data, size_t size);

    void on_blob(uint32_t resource, const guest::Blob &blob) override;
    void on_blob_closed(uint32_t resource) override;
    void on_command(const std::vector<uint8_t> &command) override;

  private:
    enum class Answer { good, garbled, twice, late, never };

    uint8_t byte() { return at_ < data_.size() ? data_[at_++] : uint8_t{0}; }
    Answer answer_of(const CommandHeader &header);
    void answer(const std::vector<uint8_t> &command);
    void garble(uint32_t resource);
    void script_extensions();
    bool open_ring(const RingCreateRequest &offer);
    void serve_ring();
    void spoil_ring();

    std::recursive_mutex serving_; // held over a command: no blob is closed under the host's hands
    std::map<uint32_t, guest::Blob> pages_;
    std::vector<uint8_t> data_;
    size_t at_ = 0;
    std::vector<uint8_t> late_;
    uint32_t ring_resource_ = 0;
    RingShape ring_shape_;
    std::unique_ptr<RingConsumer> ring_;
};

} // namespace apir::fuzz
