// A virtio-gpu device whose other side is the real component with real workers, in this process and without QEMU: guest library,
// component, worker and host library as they are, the whole stack but for the kernel and the virtual machine.
#pragma once

#include <mutex>
#include <set>

#include "guest/device.hpp"

namespace apir::test {

// One context. The functions of virglrenderer are QEMU's main thread's: one call at a time.
class StackDevice : public guest::Device {
  public:
    ~StackDevice() override;

    std::vector<std::string> nodes() override { return {"/no/node"}; }
    guest::Status open(const std::string &) override { return {}; }
    guest::Status get_caps(uint32_t capset, void *data, size_t size) override;
    guest::Status init_context(uint32_t capset) override;
    guest::Status create_blob(size_t size, guest::Blob &blob) override;
    void close_blob(guest::Blob &blob) override;
    guest::Status submit(const void *command, size_t size) override;

    // Of all contexts so far; and blobs that are open in all of them.
    static uint32_t contexts();
    static size_t open_blobs();

  private:
    uint32_t context_ = 0;
};

// The component's set-up for its first context, and its end.
class StackHost {
  public:
    // `ggml_library` is what the host library drives.
    explicit StackHost(const char *ggml_library);
    ~StackHost();
    StackHost(const StackHost &) = delete;
    StackHost &operator=(const StackHost &) = delete;
};

// Processes of this one's children: the workers.
std::vector<int> worker_pids();
// Resident memory without what is shared, in KiB.
long private_kib(int pid);

} // namespace apir::test
