// A device whose host is a host library in this process: everything but the transport. A command is served by the thread that
// sends it, one at a time, as a component's worker does.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "guest/device.hpp"

namespace apir::bench {

class LoopbackDevice : public guest::Device {
  public:
    // Throws Failure when the library does not load.
    LoopbackDevice(const std::string &host_library, std::string ggml_library, std::string threads);
    ~LoopbackDevice() override;
    LoopbackDevice(const LoopbackDevice &) = delete;
    LoopbackDevice &operator=(const LoopbackDevice &) = delete;

    std::vector<std::string> nodes() override { return {"loopback"}; }
    guest::Status open(const std::string &) override { return {}; }
    guest::Status get_caps(uint32_t capset, void *data, size_t size) override;
    guest::Status init_context(uint32_t) override { return {}; }
    guest::Status create_blob(size_t size, guest::Blob &blob) override;
    void close_blob(guest::Blob &blob) override;
    guest::Status submit(const void *command, size_t size) override;

    // For the host library's callbacks.
    const char *config(const std::string &key);
    void *memory(uint32_t resource) const;

  private:
    struct Slot {
        std::atomic<uint8_t *> memory{nullptr};
        size_t size = 0;
    };

    uint32_t serve(uint32_t type, uint32_t call, const char *request, const char *request_end, char *reply, const char *reply_end);

    void *library_;
    void *dispatcher_;
    const std::string ggml_library_;
    const std::string threads_;
    std::string size_text_;
    std::mutex serving_;
    std::mutex slots_;
    std::vector<uint32_t> free_;
    std::array<Slot, 4096> blobs_;
};

} // namespace apir::bench
