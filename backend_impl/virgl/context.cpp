#include "context.hpp"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <unistd.h>

#include <apir_gen.hpp>
#include <call_log.hpp>

#include "component_log.hpp"

namespace apir::virgl {
namespace {

constexpr uint64_t ns_per_ms = 1'000'000;
constexpr uint64_t most_stall_limit_ms = uint64_t{1000} * 3600 * 24 * 365;

uint64_t stall_limit_ns(const Config &config) {
    auto at = config.find("apir.stall_limit_ms");
    if (at == config.end()) return default_stall_limit_ms * ns_per_ms;
    char *end = nullptr;
    uint64_t limit = std::strtoull(at->second.c_str(), &end, 10);
    if (*end == '\0' && end != at->second.c_str() && limit <= most_stall_limit_ms) return limit * ns_per_ms;
    log(Level::warn, "apir.stall_limit_ms is '%s', which is no number of milliseconds", at->second.c_str());
    return default_stall_limit_ms * ns_per_ms;
}

} // namespace

// Three times: see ContextLimits. It is sparse.
Context::Context(uint32_t id, uint32_t capset, const ContextLimits &limits)
    : id_(id), capset_(capset), limits_(limits), arena_(limits.blob_bytes * 3) {
    ++living_;
}

bool Context::configure(const std::string &key, const std::string &value) {
    config_[key] = value;
    if (worker_ == nullptr) return true;
    std::string entry = key + '\0' + value + '\0';
    return queue_.push(EntryKind::config, entry.data(), entry.size(), monotonic_ns());
}

uint64_t Context::done() {
    if (worker_ == nullptr || lost_) return queue_.position(); // nobody is using what was queued
    bool sane = true;
    uint64_t position = queue_.done(sane);
    if (!sane) {
        log(Level::error, "context %" PRIu32 ": the worker has written nonsense into its queue; it is ended", id_);
        worker_->signal(SIGKILL);
    }
    return position;
}

bool Context::push_blob(EntryKind kind, uint32_t resource, Range range) {
    BlobEntry entry{range.offset, range.size, resource, 0};
    return queue_.push(kind, &entry, sizeof entry, monotonic_ns());
}

void Context::push_removals() {
    while (!removals_.empty() && push_blob(EntryKind::blob_removed, removals_.back(), {0, 0})) {
        arena_.release(removed_ranges_.back(), queue_.position());
        removals_.pop_back();
        removed_ranges_.pop_back();
    }
}

std::optional<Range> Context::add_blob(uint32_t resource, uint64_t size, const char *&why_not) {
    const auto refused = [&why_not](const char *why) { return why_not = why, std::nullopt; };
    if (lost_) return refused("its worker is lost");
    if (blobs_.size() >= limits_.blobs) return refused("it has as many blobs as a context may have");
    if (size > limits_.blob_bytes - blob_bytes_) return refused("with those that it has, that is more than a context may have");
    push_removals();
    // An id whose removal the worker has not been told of must not be told anew before it.
    if (!removals_.empty()) return refused("its worker has yet to take what came before the end of another blob");
    std::optional<uint64_t> offset = arena_.allocate(size, done());
    if (!offset) return refused(arena_.awaits_worker() ? "its worker has yet to leave others that were freed" : "what is free lies apart");
    Range range{*offset, size};
    if (!push_blob(EntryKind::blob_added, resource, range)) {
        arena_.release(range, queue_.position());
        return refused("its worker has yet to take what it was told before");
    }
    blobs_[resource] = range;
    blob_bytes_ += size;
    return range;
}

void Context::remove_blob(uint32_t resource) {
    auto at = blobs_.find(resource);
    if (at == blobs_.end()) return;
    blob_bytes_ -= at->second.size;
    if (lost_) {
        blobs_.erase(at); // no worker to tell, no blob to come
        return;
    }
    removals_.push_back(resource);
    removed_ranges_.push_back(at->second);
    blobs_.erase(at);
    push_removals();
}

void Context::start_worker(const std::string &program, int presence_fd) {
    // Environment variables count only where the hypervisor has configured nothing.
    if (config_.empty()) config_ = config_from_environment(capset_);
    stall_limit_ns_ = stall_limit_ns(config_);
    try {
        worker_ = std::make_unique<WorkerProcess>(WorkerSpec{program, id_, capset_, queue_.fd(), arena_.fd(), presence_fd, config_});
    } catch (const std::exception &failure) {
        log(Level::error, "context %" PRIu32 ": %s", id_, failure.what());
        lost_ = true;
        return;
    }
    log(Level::info, "context %" PRIu32 " on capset %" PRIu32 " is served by process %d", id_, capset_, worker_->pid());
}

void Context::submit(const void *command, size_t size) {
    Reader reader(command, size);
    CommandHeader header;
    if (!read(reader, header)) return; // too short to name a reply resource
    if (lost_) return answer(header.reply_resource, static_cast<uint32_t>(ReturnCode::worker_lost));
    push_removals();
    forget_done();
    const uint64_t now = monotonic_ns();
    if (size <= max_command_size && queue_.push(EntryKind::command, command, size, now)) {
        // Its time begins now, whenever the watcher looks.
        if (pending_.empty() && !ring_command_under_way()) moved_ns_ = now;
        pending_.push_back({queue_.position(), header.reply_resource});
        return;
    }
    if (!told_full_)
        log(Level::warn, "context %" PRIu32 ": a command of %zu bytes is refused: too long, or too many are waiting", id_, size);
    told_full_ = true;
    answer(header.reply_resource, static_cast<uint32_t>(ReturnCode::call_failed));
}

void Context::forget_done() {
    uint64_t position = done();
    while (!pending_.empty() && pending_.front().position <= position) pending_.pop_front();
}

bool Context::begins_to_wait() {
    if (watched_ || stall_limit_ns_ == 0 || pending_.empty()) return false;
    watched_ = true;
    looked_ns_ = moved_ns_ = monotonic_ns();
    got_on();
    return true;
}

bool Context::got_on() {
    const uint64_t position = done();
    const uint64_t beats = queue_.beats();
    const uint64_t begun = queue_.begun();
    const uint64_t finished = queue_.finished();
    const bool same = position == seen_position_ && beats == seen_beats_ && begun == seen_begun_ && finished == seen_finished_;
    seen_position_ = position;
    seen_beats_ = beats;
    seen_begun_ = begun;
    seen_finished_ = finished;
    return !same;
}

uint64_t Context::period_ns() const { return std::max(stall_limit_ns_ / 4, ns_per_ms); }

std::optional<uint64_t> Context::next_look_ns() const {
    if (!watched_) return std::nullopt;
    return looked_ns_ + period_ns();
}

void Context::look_for_progress(uint64_t now_ns) {
    if (!watched_ || now_ns < *next_look_ns()) return;
    // Nobody looked for as long: then the worker may have been stopped, too, with all of this machine or of its part.
    const bool slept = now_ns - looked_ns_ > 2 * period_ns();
    looked_ns_ = now_ns;
    forget_done();
    // Commands of a ring do not pass by here: a context with a ring is looked at for as long as it has one.
    watched_ = !pending_.empty() || queue_.ring() != 0;
    if (!watched_) return;
    const bool waits = !pending_.empty() || ring_command_under_way();
    if (got_on() || !waits || slept) moved_ns_ = now_ns;
    if (now_ns - moved_ns_ < stall_limit_ns_) return;
    log(Level::error, "context %" PRIu32 ": process %d has not got on for %" PRIu64 " ms (VIRGL_APIR_STALL_LIMIT_MS); it is ended", id_,
        worker_->pid(), (now_ns - moved_ns_) / ns_per_ms);
    worker_->signal(SIGKILL);
    moved_ns_ = now_ns;
}

void Context::answer(uint32_t resource, uint32_t code) {
    auto at = blobs_.find(resource);
    if (at == blobs_.end()) return;
    auto *notify = reinterpret_cast<uint32_t *>(arena_.at(at->second.offset));
    // Only where no reply is: the worker may have answered before it ended. Release, as the worker's own store: the guest
    // reads with acquire.
    uint32_t expected = 0;
    __atomic_compare_exchange_n(notify, &expected, code + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

// The guest looks at this while it waits. The worker's word for where the ring is goes no further than its own arena.
void Context::mark_ring_dead() {
    uint64_t ring = queue_.ring();
    if (ring == 0 || (ring - 1) % ring_slots_offset != 0 || ring - 1 > arena_.size() - ring_slots_offset) return;
    auto *state = reinterpret_cast<uint32_t *>(arena_.at(ring - 1 + ring_state_offset));
    __atomic_store_n(state, static_cast<uint32_t>(RingState::dead), __ATOMIC_RELEASE);
}

void Context::lose(const std::string &how) {
    forget_done();
    log(Level::error, "context %" PRIu32 ": process %d %s; %zu commands were waiting%s; the context is lost", id_,
        worker_ == nullptr ? -1 : worker_->pid(), how.c_str(), pending_.size(),
        ring_command_under_way() ? " and one of the ring was under way" : "");
    lost_ = true;
    mark_ring_dead();
    watched_ = false;
    for (const Pending &command : pending_) answer(command.resource, static_cast<uint32_t>(ReturnCode::worker_lost));
    pending_.clear();
}

} // namespace apir::virgl
