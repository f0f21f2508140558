// The context's command ring at the worker: none, or the one that the guest offered and this took.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <apir_gen.hpp>
#include <ring.hpp>

#include "../config.hpp"
#include "../shared_queue.hpp"
#include "blobs.hpp"

namespace apir::virgl {

// Whether the host's configuration (key apir.ring) lets guests have one.
bool ring_allowed(const Config &config);

class CommandRing {
  public:
    CommandRing(const BlobTable &blobs, QueueConsumer &queue, bool allowed, uint32_t context)
        : blobs_(blobs), queue_(queue), allowed_(allowed), context_(context), command_(ring_largest_slot - ring_command_offset) {}

    bool allowed() const { return allowed_; }
    // Takes a ring that the guest has laid out. False, with the reason in the log: there is one already, or its resource,
    // measures or size do not do.
    bool open(const RingCreateRequest &offer);
    // A resource is going; a ring in it is no more.
    void forget(uint32_t resource);

    bool is_open() const { return consumer_.has_value(); }
    bool available() const { return consumer_ && consumer_->available(); }
    // Copies the next command out of shared memory; its bytes stay until the next take(), whatever becomes of the ring. False when
    // there is none. A ring with nonsense in it is closed, and the guest told so.
    bool take(Entry &entry);

    // Before and after the worker sleeps; in between it asks whether it may.
    void announce_sleep();
    bool may_sleep() const { return !consumer_ || consumer_->may_sleep(); }
    void awake();

  private:
    void note_arrivals();

    const BlobTable &blobs_;
    QueueConsumer &queue_;
    const bool allowed_;
    const uint32_t context_;
    uint32_t resource_ = 0;
    std::optional<RingConsumer> consumer_;
    std::vector<uint8_t> command_; // the one under way; room for that of any ring, which may be another one before it is carried out
    std::vector<uint64_t> seen_ns_; // by slot: when its command was first seen
    uint64_t seen_ = 0; // number of the first command that was not
    bool closed_ = false;
    int refusals_ = 0;
};

} // namespace apir::virgl
