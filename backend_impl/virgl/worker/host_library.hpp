// The host library, any that keeps protocol 0.1 or 0.2: loaded, initialised, called.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <apir_gen.hpp>
#include <host_abi.hpp>
#include <log_budget.hpp>

#include "../config.hpp"
#include "blobs.hpp"

namespace apir::virgl {

// What the library can ask about; outlives it.
struct HostWorld {
    uint32_t context;
    Config config;
    BlobTable *blobs;
    std::atomic<uint64_t> *beats; // that a library of ours raises while it works
    char *last_op = nullptr; // where a library of ours names the op that a graph ends with
    LogBudget::PaidUntil *log_paid_until_ns = nullptr; // of the libraries' log in all workers
    const std::atomic<uint32_t> *closing = nullptr; // where a library of ours sees that the context is to end
    bool ending = false; // then resources are not answered for
};

class HostLibrary {
  public:
    // Only one at a time in a process: the callbacks carry no pointer of ours.
    explicit HostLibrary(HostWorld &world);
    ~HostLibrary();
    HostLibrary(const HostLibrary &) = delete;
    HostLibrary &operator=(const HostLibrary &) = delete;

    // LoadLibrary: the code for the guest, see LoadCode.
    uint32_t load();
    bool loaded() const { return dispatcher_ != nullptr; }
    // Forward: what the library returned; `reply_size` becomes what it wrote of `room`.
    uint32_t call(uint32_t number, const uint8_t *request, size_t request_size, uint8_t *reply, size_t room, size_t &reply_size);

  private:
    uint32_t open(const std::string &path);

    HostWorld &world_;
    HostCallbacks callbacks_;
    void *library_ = nullptr;
    HostDeinit deinit_ = nullptr;
    HostDispatcher dispatcher_ = nullptr;
};

} // namespace apir::virgl
