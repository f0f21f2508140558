// What a guest has in front of it: an initialised host library with a real backend, shared resources, some buffers, and a graph of
// which the right answer is known.
//
// Memory that graphs compute in ends at a page that nobody may touch and begins behind one: a kernel that leaves its buffer dies there.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <apir_gen.hpp>

#include "host/callbacks.hpp"
#include "message.hpp"
#include "supervise.hpp"

namespace apir::fuzz {

// The same in every fresh world, so that a saved message means the same again.
struct Handles {
    uint64_t type = 0; // of the device's buffers
    uint64_t home = 0; // where graphs are made to compute: a buffer in a shared resource where the device has those
    uint64_t pool = 0; // one of the host's, as large
    uint64_t known = 0; // of the known graph
    uint64_t stale = 0; // freed
};

enum class Outcome { done, refused };

class HostWorld {
  public:
    static constexpr uint32_t reply_resource = 1, data_resource = 2, memory_resource = 3, small_resource = 4;
    static constexpr uint64_t memory_bytes = uint64_t{1} << 20;
    static constexpr uint64_t data_bytes = uint64_t{1} << 20;

    // Ends the program with a text when the library cannot be opened or initialised.
    HostWorld(const std::string &host_library, std::map<std::string, std::string> config);
    ~HostWorld();
    HostWorld(const HostWorld &) = delete;
    HostWorld &operator=(const HostWorld &) = delete;

    // Ends the context and makes a new one, with all in its first state.
    void renew();
    const Handles &handles() const { return handles_; }
    // Hands a message to the host library. What it made is freed again.
    Outcome run(const Message &message);
    // Whether the known graph still computes the bits that it did at first.
    bool known_graph_works();

  private:
    struct Guarded;
    uint32_t dispatch(uint32_t call, const Bytes &payload);
    template <typename Reply, typename Request> Reply ask(uint32_t call, const Request &request);
    void start();
    void make_buffers();
    void fill_memory(const Bytes &content);
    void undo(const Message &message, Outcome outcome);
    bool compute_known(std::vector<float> &result);
    static const char *get_config(uint32_t context, const char *key);
    static void *get_shmem_ptr(uint32_t context, uint32_t resource);

    std::map<std::string, std::string> config_;
    std::map<uint32_t, std::unique_ptr<Guarded>> resources_;
    apir_callbacks callbacks_{get_config, get_shmem_ptr};
    uint32_t (*initialize_)(uint32_t, apir_callbacks *) = nullptr;
    void (*deinit_)(uint32_t) = nullptr;
    uint32_t (*dispatcher_)(uint32_t, apir_callbacks *, uint32_t, char *, const char *, char *, const char *, char **) = nullptr;
    void (*progress_)(uint32_t, std::atomic<uint64_t> *) = nullptr; // of our library alone
    void (*ending_)(uint32_t, const std::atomic<uint32_t> *) = nullptr; // as that one
    std::atomic<uint64_t> beats_{0};
    std::atomic<uint32_t> never_ends_{0};
    Handles handles_;
    bool memory_is_shared_ = false;
    Bytes reply_; // of the last call
    std::vector<float> known_result_;
    int failed_status_ = unable_status; // of the process, when a world cannot be made; that of a wrong result once one could
};

} // namespace apir::fuzz
