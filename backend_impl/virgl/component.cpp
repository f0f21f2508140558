#include "component.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <call_log.hpp>
#include <unawaited_write.hpp>

#include "component_log.hpp"
#include "presence.hpp"
#include "shared_file.hpp"
#include "short_turns.hpp"

namespace apir::virgl {
namespace {

constexpr uint64_t page = 4096;

// Three times as many are addresses that a process has.
constexpr uint64_t most_blob_bytes = default_blob_bytes * 64;

ContextLimits limits() {
    const ContextLimits usual{default_blob_bytes, default_blobs};
    const char *window = std::getenv("APIR_GPU_SHMEM_WINDOW_BYTES");
    if (window == nullptr || *window == '\0') return usual;
    char *end = nullptr;
    const uint64_t bytes = std::strtoull(window, &end, 0);
    if (*end == '\0' && bytes >= page && bytes <= most_blob_bytes) return {bytes / page * page, usual.blobs};
    log(Level::warn, "APIR_GPU_SHMEM_WINDOW_BYTES is '%s', which is not a number of bytes from %" PRIu64 " to %" PRIu64 ": contexts have %" PRIu64, window,
        page, most_blob_bytes, usual.blob_bytes);
    return usual;
}

// Whether it is the file itself that `fd` leads to.
bool leads_to(int fd, const struct stat &file) {
    struct stat there {};
    return fstat(fd, &there) == 0 && there.st_dev == file.st_dev && there.st_ino == file.st_ino;
}

// All workers append to the host library's log, for a guest decides when each of them loads its library. So it begins anew here. Nothing is said: that a
// log cannot be written is told by each library that opens it. Only a file is opened: who reads a pipe would see its end when it is closed. And none that
// other lines go to: /dev/stderr is another one for a worker, too.
void empty_host_log() {
    const char *path = std::getenv("APIR_LLAMA_CPP_LOG_TO_FILE");
    struct stat file {};
    if (path == nullptr || stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return;
    for (int fd : {STDOUT_FILENO, STDERR_FILENO, log_fd()})
        if (leads_to(fd, file)) return;
    const int fd = open_unawaited(path, O_TRUNC | O_CLOEXEC);
    if (fd >= 0) close(fd);
}

} // namespace

Component::Component()
    : presence_fd_(make_shared_file("apir-presence", Presence::memory_size)), poke_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      program_(worker_program(reinterpret_cast<const void *>(&limits))) {
    if (poke_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Component::~Component() {
    reset(true);
    {
        std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    poke();
    to_sweep_.notify_all();
    if (watcher_.joinable()) watcher_.join();
    if (sweeper_.joinable()) sweeper_.join();
    close(poke_fd_);
    close(presence_fd_);
}

std::shared_ptr<Context> Component::find(uint32_t context) const {
    auto at = contexts_.find(context);
    return at == contexts_.end() ? nullptr : at->second;
}

bool Component::owns_context(uint32_t context) {
    std::lock_guard lock(mutex_);
    return contexts_.count(context) != 0;
}

bool Component::owns_resource(uint32_t resource) {
    std::lock_guard lock(mutex_);
    return blobs_.count(resource) != 0;
}

int Component::create_context(uint32_t context, uint32_t capset) {
    std::lock_guard lock(mutex_);
    if (find(context) != nullptr) return -EINVAL;
    const size_t served = contexts_.size() + endings_.size();
    if (served >= max_contexts || Context::living() >= max_living_contexts) {
        log(Level::warn, "context %" PRIu32 " is refused: there are %zu already, and %zu that are gone but for their blobs", context, served,
            Context::living() - std::min(served, Context::living()));
        return -ENOSPC;
    }
    if (Arena::left() >= max_left_contexts) {
        log(Level::warn, "context %" PRIu32 " is refused: resets have left memory of %zu behind", context, Arena::left());
        return -ENOSPC;
    }
    try {
        contexts_.emplace(context, std::make_shared<Context>(context, capset, limits()));
        // This is the thread that will carry its commands.
        take_short_turns(Heirs::alike);
        start_watching();
    } catch (const std::exception &failure) {
        contexts_.erase(context);
        log(Level::error, "context %" PRIu32 ": %s", context, failure.what());
        return -ENOMEM;
    }
    return 0;
}

// A worker is started by the first blob or command: contexts that a guest only opens to look cost no process.
void Component::ensure_worker(Context &context) {
    if (context.worker() != nullptr || context.lost()) return;
    if (!std::exchange(any_worker_started_, true)) empty_host_log();
    context.start_worker(program_, presence_fd_);
    poke(); // there is one more to watch
}

// The sweeper holds contexts for a moment, too, and lets go of them without the lock: whoever else does may be the last to hold one at any time. Only one
// that a guest still has is held for sure.
void Component::discard(std::shared_ptr<Context> context) {
    if (find(context->id()) == context) return;
    discarded_.push_back(std::move(context));
    to_sweep_.notify_all();
}

void Component::end(std::shared_ptr<Context> context) {
    if (context->worker() == nullptr || context->lost()) return discard(std::move(context));
    context->close();
    endings_.push_back({std::move(context), monotonic_ns() + grace_ns, false});
}

void Component::destroy_context(uint32_t context) {
    std::lock_guard lock(mutex_);
    auto at = contexts_.find(context);
    if (at == contexts_.end()) return;
    std::shared_ptr<Context> ended = std::move(at->second);
    contexts_.erase(at);
    end(std::move(ended));
    poke();
}

int Component::configure(uint32_t context, const char *key, const char *value) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Context> found = find(context);
    if (found == nullptr || key == nullptr || value == nullptr) return -1;
    return found->configure(key, value) ? 0 : -1;
}

int Component::create_blob(uint32_t context, uint32_t resource, uint64_t size) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Context> found = find(context);
    if (found == nullptr || size == 0 || resource == 0) return -EINVAL;
    if (blobs_.count(resource) != 0) return -EINVAL;
    if (size > most_blob_bytes) return -ENOMEM;
    ensure_worker(*found);
    if (found->lost()) return -EIO; // the log has why
    size = (size + page - 1) / page * page;
    const char *why_not = "";
    std::optional<Range> range = found->add_blob(resource, size, why_not);
    look_at_released(*found);
    if (!range) {
        log(Level::warn, "context %" PRIu32 ": no room for a blob of %" PRIu64 " bytes: %s", context, size, why_not);
        return -ENOMEM;
    }
    blobs_.emplace(resource, Blob{std::move(found), *range});
    return 0;
}

bool Component::may_map(uint32_t resource, const Blob &blob) const {
    if (blob.counted || mapped_blobs_ < max_mapped_blobs) return true;
    log(Level::warn, "context %" PRIu32 ": resource %" PRIu32 " is not mapped: %zu are already", blob.context->id(), resource, mapped_blobs_);
    return false;
}

void Component::count(Blob &blob, bool mapped) {
    if (mapped && !blob.counted) ++mapped_blobs_;
    if (!mapped && blob.counted) --mapped_blobs_;
    blob.counted = mapped;
}

int Component::map_blob(uint32_t resource, void **address, uint64_t *size) {
    std::lock_guard lock(mutex_);
    auto at = blobs_.find(resource);
    if (at == blobs_.end()) return -EINVAL;
    if (!may_map(resource, at->second)) return -ENOMEM;
    *address = at->second.context->arena().at(at->second.range.offset);
    *size = at->second.range.size;
    at->second.mapped = true;
    count(at->second, true);
    return 0;
}

void Component::unmap_blob(uint32_t resource) {
    std::lock_guard lock(mutex_);
    auto at = blobs_.find(resource);
    if (at == blobs_.end()) return;
    at->second.mapped = false;
    count(at->second, false);
}

int Component::map_blob_at(uint32_t resource, void *address) {
    std::lock_guard lock(mutex_);
    auto at = blobs_.find(resource);
    if (at == blobs_.end()) return -EINVAL;
    Blob &blob = at->second;
    if (!may_map(resource, blob)) return -ENOMEM;
    if (!map_shared_file_at(address, blob.context->arena().fd(), blob.range.offset, blob.range.size)) return -errno;
    count(blob, true);
    return 0;
}

// What the end of a blob releases, of which the worker may have been told only now: the queue had no room.
void Component::look_at_released(Context &context) {
    if (context.arena().has_large_released()) to_sweep_.notify_all();
}

void Component::remove_blob(uint32_t resource) {
    std::lock_guard lock(mutex_);
    auto at = blobs_.find(resource);
    if (at == blobs_.end()) return;
    count(at->second, false);
    std::shared_ptr<Context> context = std::move(at->second.context);
    blobs_.erase(at);
    context->remove_blob(resource);
    look_at_released(*context);
    discard(std::move(context));
}

int Component::submit(uint32_t context, const void *command, size_t size) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Context> found = find(context);
    if (found == nullptr) return -EINVAL;
    ensure_worker(*found);
    const bool is_swept = found->arena().has_large_released();
    found->submit(command, size);
    if (!is_swept) look_at_released(*found);
    if (found->begins_to_wait()) poke();
    return 0;
}

void Component::reset(bool wait) {
    std::unique_lock lock(mutex_);
    for (auto &entry : std::exchange(blobs_, {})) {
        Blob &blob = entry.second;
        count(blob, false);
        if (blob.mapped) blob.context->arena().leave_mapped(blob.range);
        discard(std::move(blob.context));
    }
    for (auto &entry : std::exchange(contexts_, {})) end(std::move(entry.second));
    uint64_t limit = monotonic_ns() + short_grace_ns;
    if (wait)
        for (Ending &ending : endings_) ending.deadline_ns = std::min(ending.deadline_ns, limit);
    poke();
    // The watcher takes them through SIGTERM and SIGKILL; only one that hangs in the kernel outlasts that, and ends with QEMU.
    if (wait)
        all_ended_.wait_for(lock, std::chrono::nanoseconds(short_grace_ns + 2 * term_ns), [this] { return endings_.empty(); });
}

} // namespace apir::virgl
