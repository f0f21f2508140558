// The component's own threads: what happens without a call of QEMU's.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <csignal>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <blocked_signals.hpp>
#include <call_log.hpp>

#include "component.hpp"
#include "component_log.hpp"

namespace apir::virgl {
namespace {

// How often released memory is looked at until its worker is past it.
constexpr std::chrono::milliseconds memory_poll{20};

int ms_until(uint64_t moment_ns, uint64_t now_ns) {
    if (moment_ns <= now_ns) return 0;
    return static_cast<int>(std::min<uint64_t>((moment_ns - now_ns) / 1'000'000 + 1, INT_MAX));
}

} // namespace

void Component::start_watching() {
    if (watcher_.joinable() && sweeper_.joinable()) return;
    // QEMU's signals are for its main thread: the new ones inherit them blocked.
    const BlockedSignals blocked;
    if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    pthread_setname_np(watcher_.native_handle(), "apir-watcher");
    sweeper_ = std::thread([this] { sweep(); });
    pthread_setname_np(sweeper_.native_handle(), "apir-sweeper");
}

void Component::poke() {
    uint64_t one = 1;
    if (write(poke_fd_, &one, sizeof one) < 0) return; // full: it is awake anyway
}

int Component::wait_ms(uint64_t now_ns) const {
    int wait = -1;
    auto at_most = [&wait](int ms) { wait = wait < 0 || ms < wait ? ms : wait; };
    for (const Ending &ending : endings_)
        at_most(ms_until(ending.deadline_ns, now_ns));
    for (const auto &entry : contexts_) {
        if (std::optional<uint64_t> look = entry.second->next_look_ns()) at_most(ms_until(*look, now_ns));
    }
    return wait;
}

void Component::watch() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        std::vector<pollfd> watched{{poke_fd_, POLLIN, 0}};
        for (const auto &entry : contexts_)
            if (entry.second->worker() != nullptr && !entry.second->lost())
                watched.push_back({entry.second->worker()->pidfd(), POLLIN, 0});
        for (const Ending &ending : endings_) watched.push_back({ending.context->worker()->pidfd(), POLLIN, 0});
        int timeout = wait_ms(monotonic_ns());
        lock.unlock();
        poll(watched.data(), watched.size(), timeout);
        uint64_t pokes = 0;
        if (read(poke_fd_, &pokes, sizeof pokes) < 0) pokes = 0; // it was not the poke
        lock.lock();
        notice_lost();
        for (auto &entry : contexts_) entry.second->look_for_progress(monotonic_ns());
        drive_endings(monotonic_ns());
    }
}

// What is released becomes free when its worker is past it, of which nobody tells.
bool Component::is_to_be_looked_at_again() const {
    return std::any_of(contexts_.begin(), contexts_.end(), [](const auto &entry) { return entry.second->arena().has_large_released(); });
}

void Component::sweep() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        give_memory_back(lock);
        std::vector<std::shared_ptr<Context>> discarded = std::exchange(discarded_, {});
        lock.unlock();
        discarded.clear();
        lock.lock();
        if (stopping_ || more_to_empty_ || !discarded_.empty()) continue;
        if (is_to_be_looked_at_again()) to_sweep_.wait_for(lock, memory_poll);
        else to_sweep_.wait(lock);
    }
}

void Component::notice_lost() {
    for (auto &entry : contexts_) {
        Context &context = *entry.second;
        if (context.worker() == nullptr || context.lost()) continue;
        std::string how = context.reap();
        if (!how.empty()) context.lose(how);
    }
}

void Component::drive_endings(uint64_t now_ns) {
    for (auto at = endings_.begin(); at != endings_.end();) {
        std::string how = at->context->reap();
        if (!how.empty()) {
            log(Level::info, "context %" PRIu32 " has ended; its process %d %s", at->context->id(), at->context->worker()->pid(),
                how.c_str());
            std::shared_ptr<Context> context = std::move(at->context);
            at = endings_.erase(at);
            discard(std::move(context));
            continue;
        }
        if (now_ns >= at->deadline_ns) {
            at->context->signal(at->terminated ? SIGKILL : SIGTERM);
            if (!at->terminated)
                log(Level::warn, "context %" PRIu32 " has ended, but its process has not: SIGTERM", at->context->id());
            at->terminated = true;
            at->deadline_ns = now_ns + term_ns;
        }
        ++at;
    }
    if (endings_.empty()) all_ended_.notify_all();
}

// A piece of each context's.
void Component::give_memory_back(std::unique_lock<std::mutex> &lock) {
    std::vector<std::shared_ptr<Context>> contexts;
    for (const auto &entry : contexts_) contexts.push_back(entry.second);
    more_to_empty_ = false;
    for (const auto &context : contexts) {
        std::optional<Range> range = context->arena().next_to_empty(context->done());
        if (!range) continue;
        more_to_empty_ = true;
        lock.unlock();
        context->arena().empty(*range);
        lock.lock();
        context->arena().emptied();
    }
    // One may have ended meanwhile, and these be the last to hold it: its memory goes without the lock.
    lock.unlock();
    contexts.clear();
    lock.lock();
}

} // namespace apir::virgl
