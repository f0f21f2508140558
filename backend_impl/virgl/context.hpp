// One context of the guest's, on QEMU's side: its blobs, its queue, its worker. Not locked: see component.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "arena.hpp"
#include "config.hpp"
#include "shared_queue.hpp"
#include "worker_process.hpp"

namespace apir::virgl {

// Bounds per context: what a guest can make the host hold.
struct ContextLimits {
    // Of the blobs that the guest has at a time; variable APIR_GPU_SHMEM_WINDOW_BYTES, else default_blob_bytes (the key gpu.shmem_window is for the host
    // library alone). The arena is three times as large, and a context holds no more memory than that: once for these blobs; once for those that were
    // freed while the worker is behind, so that a context at its limit can exchange one for another; and once for what lies between large ones, which
    // begin at huge pages, half as much as both have at most.
    uint64_t blob_bytes;
    size_t blobs;
};
inline constexpr uint64_t default_blob_bytes = uint64_t{16} << 30;
inline constexpr size_t default_blobs = 65536;

// A worker is ended when commands wait and it has neither finished one nor beaten for this long; key apir.stall_limit_ms,
// 0: never. This is no limit on a graph: with a host library that beats after each node it is one on a node, with another
// one on a command. Noticed a quarter of it later at most.
inline constexpr uint64_t default_stall_limit_ms = 3'600'000;

class Context {
  public:
    Context(uint32_t id, uint32_t capset, const ContextLimits &limits);
    ~Context() { --living_; }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    // How many there are, those included that are gone for the guest while QEMU may still have a blob of theirs mapped.
    static size_t living() { return living_; }

    uint32_t id() const { return id_; }
    Arena &arena() { return arena_; }
    int queue_fd() const { return queue_.fd(); }
    bool lost() const { return lost_; }
    const WorkerProcess *worker() const { return worker_.get(); }

    // False when the context has a worker already and its queue is full.
    bool configure(const std::string &key, const std::string &value);

    // Room for a blob of a whole number of pages; nothing when the context is at its limits, or its worker far behind, which `why_not` says in words.
    std::optional<Range> add_blob(uint32_t resource, uint64_t size, const char *&why_not);
    void remove_blob(uint32_t resource);

    // Starts the worker; a failure is logged and loses the context.
    void start_worker(const std::string &program, int presence_fd);

    // Hands a command to the worker; never waits. What cannot be handed over is answered with a failure.
    void submit(const void *command, size_t size);

    // Whether the watcher, which looks at nothing while nothing waits, has to begin to look at this context.
    bool begins_to_wait();
    // When it has to look again, if at all.
    std::optional<uint64_t> next_look_ns() const;
    // Ends a worker that does not get on.
    void look_for_progress(uint64_t now_ns);

    // The worker has ended: answers or marks all that it left unanswered.
    void lose(const std::string &how);
    // Asks the worker to end by itself.
    void close() { queue_.close(); }
    // How far the worker is in the queue.
    uint64_t done();
    // Takes the worker's exit status; empty while it runs.
    std::string reap() { return worker_->reap(); }
    void signal(int number) const {
        if (worker_ != nullptr) worker_->signal(number);
    }

  private:
    struct Pending {
        uint64_t position; // of the queue, behind the command
        uint32_t resource; // that gets the reply
    };

    bool push_blob(EntryKind kind, uint32_t resource, Range range);
    void push_removals();
    void forget_done();
    void answer(uint32_t resource, uint32_t code);
    bool ring_command_under_way() const { return queue_.begun() != queue_.finished(); }
    // Whether the worker got on since this was asked last.
    bool got_on();
    uint64_t period_ns() const;
    void mark_ring_dead();

    static inline std::atomic<size_t> living_{0};

    uint32_t id_;
    uint32_t capset_;
    ContextLimits limits_;
    Config config_;
    Arena arena_;
    QueueProducer queue_;
    std::unordered_map<uint32_t, Range> blobs_;
    uint64_t blob_bytes_ = 0;
    std::vector<uint32_t> removals_; // that found the queue full
    std::vector<Range> removed_ranges_;
    std::deque<Pending> pending_;
    std::unique_ptr<WorkerProcess> worker_;
    bool lost_ = false;
    bool told_full_ = false;
    uint64_t stall_limit_ns_ = 0;
    bool watched_ = false;
    uint64_t looked_ns_ = 0; // last look of the watcher's
    uint64_t moved_ns_ = 0; // last look that saw the worker get on
    uint64_t seen_position_ = 0;
    uint64_t seen_beats_ = 0;
    uint64_t seen_begun_ = 0; // commands of the ring
    uint64_t seen_finished_ = 0;
};

} // namespace apir::virgl
