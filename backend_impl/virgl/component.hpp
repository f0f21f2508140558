// All contexts of this QEMU that are ours, behind the virgl_renderer_* functions.
//
// Three threads come here: QEMU's main thread, through the functions; the watcher, which notices the end of workers, and ends those of contexts that are
// gone; and the sweeper, which gives memory back. That may take seconds, for some gigabytes by themselves, and for any where a worker that was taken over keeps
// the file busy: so the watcher does not wait for it. One mutex guards everything. The main thread must not wait: whatever
// it does stops the whole guest. So the mutex is held over nothing that waits for a worker or the guest, but over what the kernel
// does: the start of a worker, until its program begins; a line of the log, a file's disk included (no reader of a pipe, no
// terminal), and once the emptying of the host library's; page faults in memory that is shared with a worker, which one that was taken over can make take longer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "context.hpp"

namespace apir::virgl {

// More contexts at once than any guest has programs that compute; bounds the processes it can make.
inline constexpr size_t max_contexts = 64;
// And with those that are gone but for a blob, which holds the memory of all of its context and two descriptors: as many again.
inline constexpr size_t max_living_contexts = 2 * max_contexts;
// And those of which QEMU forgot blobs in a reset: their addresses stay taken for ever. Reboots with programs that compute; beyond, no
// context is served until QEMU ends.
inline constexpr size_t max_left_contexts = 1024;
// Blobs that QEMU has mapped for its guest at once, of all contexts together. Each is a memory region of QEMU's, or a mapping of its process, and each new
// one costs QEMU's main thread time for all that are there: milliseconds beyond some hundreds, so that a program that maps thousands would keep the whole
// guest from going on. QEMU before 11 ends beyond 4096 sections of memory, of which a region takes up to five, and with KVM at 32764 slots. Our
// guest's programs have some ten each, a hundred and more only with many buffers of their own, and copy where one cannot be mapped.
inline constexpr size_t max_mapped_blobs = 768;
// A context that is gone: how long its worker has to end by itself, then after SIGTERM.
inline constexpr uint64_t grace_ns = 2'000'000'000;
inline constexpr uint64_t term_ns = 1'000'000'000;
// The same when QEMU itself waits for it.
inline constexpr uint64_t short_grace_ns = 200'000'000;

class Component {
  public:
    Component();
    ~Component();
    Component(const Component &) = delete;
    Component &operator=(const Component &) = delete;

    bool owns_context(uint32_t context);
    bool owns_resource(uint32_t resource);

    // These return 0 or a negative errno, as virglrenderer does.
    int create_context(uint32_t context, uint32_t capset);
    void destroy_context(uint32_t context);
    int configure(uint32_t context, const char *key, const char *value);
    int create_blob(uint32_t context, uint32_t resource, uint64_t size);
    int map_blob(uint32_t resource, void **address, uint64_t *size);
    int map_blob_at(uint32_t resource, void *address);
    void unmap_blob(uint32_t resource);
    void remove_blob(uint32_t resource);
    int submit(uint32_t context, const void *command, size_t size);
    // All contexts are gone, and so are the numbers of their blobs: QEMU may forget those without a word. What it had mapped of them
    // leads to memory for ever. With `wait` it returns when the workers have ended.
    void reset(bool wait);

  private:
    struct Blob {
        std::shared_ptr<Context> context; // the memory stays while QEMU may have it mapped
        Range range;
        bool mapped = false; // at the arena's own addresses
        bool counted = false; // among those that are mapped; at addresses of QEMU's until it is gone, for QEMU does not tell of the end
    };
    struct Ending {
        std::shared_ptr<Context> context;
        uint64_t deadline_ns;
        bool terminated;
    };

    std::shared_ptr<Context> find(uint32_t context) const;
    // Whether one more may be mapped, if it is one more.
    bool may_map(uint32_t resource, const Blob &blob) const;
    void count(Blob &blob, bool mapped);
    void ensure_worker(Context &context);
    void discard(std::shared_ptr<Context> context);
    void end(std::shared_ptr<Context> context);
    void start_watching();
    void watch();
    void poke();
    int wait_ms(uint64_t now_ns) const;
    void notice_lost();
    void drive_endings(uint64_t now_ns);
    void sweep();
    bool is_to_be_looked_at_again() const;
    void look_at_released(Context &context);
    void give_memory_back(std::unique_lock<std::mutex> &lock);

    mutable std::mutex mutex_;
    std::unordered_map<uint32_t, std::shared_ptr<Context>> contexts_;
    std::unordered_map<uint32_t, Blob> blobs_;
    size_t mapped_blobs_ = 0;
    std::list<Ending> endings_;
    std::condition_variable all_ended_;
    // For the sweeper to destroy: to unmap much memory takes long.
    std::vector<std::shared_ptr<Context>> discarded_;
    bool any_worker_started_ = false; // the host library's log is this QEMU's
    bool stopping_ = false;
    bool more_to_empty_ = false; // memory of contexts, by the sweeper
    std::condition_variable to_sweep_;
    int presence_fd_;
    int poke_fd_;
    std::string program_;
    std::thread watcher_;
    std::thread sweeper_;
};

} // namespace apir::virgl
