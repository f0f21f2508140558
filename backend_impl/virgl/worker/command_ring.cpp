#include "command_ring.hpp"

#include <cinttypes>

#include <call_log.hpp>

#include "../component_log.hpp"

namespace apir::virgl {
namespace {

// Lines about refused offers, per context: a hostile guest must not fill the disk.
constexpr int most_complaints = 20;

} // namespace

bool ring_allowed(const Config &config) {
    auto at = config.find("apir.ring");
    if (at == config.end() || at->second.empty() || at->second == "1") return true;
    if (at->second != "0") log(Level::warn, "apir.ring is '%s'; known are 0 and 1", at->second.c_str());
    return at->second != "0";
}

bool CommandRing::open(const RingCreateRequest &offer) {
    const RingShape shape{offer.slots, offer.slot_size};
    const MappedBlob *blob = blobs_.find(offer.resource);
    const char *why = nullptr;
    if (!allowed_) why = "rings are switched off (VIRGL_APIR_RING)";
    else if (consumer_) why = "there is one already";
    else if (blob == nullptr) why = "its resource is unknown";
    else if (!shape.valid()) why = "its measures are not allowed";
    else if (shape.bytes() > blob->size) why = "its resource is too small";
    if (why != nullptr) {
        if (refusals_++ < most_complaints)
            log(Level::warn, "context %u: a command ring in resource %" PRIu32 " is refused: %s", context_, offer.resource, why);
        return false;
    }
    resource_ = offer.resource;
    seen_ns_.assign(shape.slots, 0);
    seen_ = 0;
    closed_ = false;
    consumer_.emplace(blob->data, shape);
    consumer_->say(RingState::open);
    queue_.tell_ring(blobs_.offset_of(*blob) + 1);
    log(Level::info, "context %u: a command ring of %" PRIu32 " slots in resource %" PRIu32, context_, offer.slots, offer.resource);
    return true;
}

void CommandRing::forget(uint32_t resource) {
    if (!consumer_ || resource != resource_) return;
    consumer_.reset();
    queue_.tell_ring(0);
}

// A command may wait behind others: its time in the queue begins when it is first seen. Only the guest knows better, and is not asked.
void CommandRing::note_arrivals() {
    const uint64_t now = monotonic_ns();
    const uint64_t slots = consumer_->shape().slots;
    const uint64_t next = consumer_->next();
    if (seen_ <= next) { // whatever stands there, it is seen now
        seen_ns_[next % slots] = now;
        seen_ = next + 1;
    }
    for (; seen_ < next + slots && consumer_->stands(seen_); ++seen_) seen_ns_[seen_ % slots] = now;
}

bool CommandRing::take(Entry &entry) {
    if (!consumer_ || closed_ || !consumer_->available()) return false;
    note_arrivals();
    const uint64_t seen_ns = seen_ns_[consumer_->next() % seen_ns_.size()];
    size_t size = 0;
    switch (consumer_->take(command_.data(), size)) {
    case Take::empty: return false;
    case Take::taken: entry = {EntryKind::command, command_.data(), size, seen_ns}; return true;
    case Take::broken: break;
    }
    closed_ = true;
    consumer_->say(RingState::closed);
    log(Level::error, "context %u: nonsense in the command ring in resource %" PRIu32 "; it is closed", context_, resource_);
    return false;
}

void CommandRing::announce_sleep() {
    if (consumer_) consumer_->announce_sleep();
}

void CommandRing::awake() {
    if (consumer_) consumer_->awake();
}

} // namespace apir::virgl
