#include "interrupted_processor.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <system_error>
#include <vector>

namespace apir::guest {

namespace {

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Names of what is in a folder; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path &folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) names.push_back(at->path().filename());
    return names;
}

// The kernel names an interrupt's handler as virtio3-control, or virtio3-virtqueues where one does for all queues.
bool is_of_control_queue(const std::string &handler) { return ends_with(handler, "-control") || ends_with(handler, "-virtqueues"); }

// Has the calling thread go on at another processor. What it is allowed afterwards is what it was before.
bool leave(int processor) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    // A system with more processors than fit is left to itself.
    if (processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    cpu_set_t others = allowed;
    CPU_CLR(static_cast<size_t>(processor), &others);
    if (sched_setaffinity(0, sizeof others, &others) != 0) return false; // there are none, for example
    sched_setaffinity(0, sizeof allowed, &allowed);
    return true;
}

} // namespace

bool InterruptWatch::is_alone(uintptr_t thread, Clock::time_point now) {
    const Clock::rep at = now.time_since_epoch().count();
    const Clock::rep since = at - submitted_at_.load(std::memory_order_relaxed);
    submitted_at_.store(at, std::memory_order_relaxed);
    if (thread_.load(std::memory_order_relaxed) != thread || since > Clock::duration(paused).count()) {
        thread_.store(thread, std::memory_order_relaxed);
        in_a_row_.store(0, std::memory_order_relaxed);
    }
    const uint32_t before = in_a_row_.load(std::memory_order_relaxed);
    if (before < alone) in_a_row_.store(before + 1, std::memory_order_relaxed);
    return before >= alone;
}

bool InterruptWatch::should_look(int processor, Clock::time_point now) {
    const Clock::rep at = now.time_since_epoch().count();
    if (processor == processor_.load(std::memory_order_relaxed) && at < again_at_.load(std::memory_order_relaxed)) return false;
    if (at < next_look_.load(std::memory_order_relaxed)) return false;
    next_look_.store(at + pause_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    processor_.store(processor, std::memory_order_relaxed);
    again_at_.store(at + period.count(), std::memory_order_relaxed);
    return true;
}

void InterruptWatch::moved(int to, Clock::time_point now) {
    const Clock::rep at = now.time_since_epoch().count();
    const Clock::rep since = at - moved_at_.exchange(at, std::memory_order_relaxed);
    const Clock::rep pause = pause_.load(std::memory_order_relaxed);
    const Clock::rep next = since < 4 * pause ? std::min(2 * pause, longest_pause.count()) : shortest_pause.count();
    pause_.store(next, std::memory_order_relaxed);
    next_look_.store(at + next, std::memory_order_relaxed);
    processor_.store(to, std::memory_order_relaxed);
}

InterruptedProcessor::InterruptedProcessor(const std::string &node, const std::string &root) {
    const std::filesystem::path interrupts = root + "/sys/class/drm/" + node.substr(node.rfind('/') + 1) + "/device/msi_irqs";
    for (const std::string &number : names_in(interrupts)) {
        const std::filesystem::path interrupt = root + "/proc/irq/" + number;
        const std::vector<std::string> names = names_in(interrupt);
        if (std::any_of(names.begin(), names.end(), is_of_control_queue)) affinity_ = interrupt / "effective_affinity_list";
    }
}

std::optional<int> InterruptedProcessor::find() const {
    if (affinity_.empty()) return std::nullopt;
    std::ifstream file(affinity_);
    int processor = -1;
    std::string more;
    // Several are a list, as 0-1 or 0,2.
    if (!(file >> processor) || processor < 0 || file >> more) return std::nullopt;
    return processor;
}

bool InterruptedProcessor::keep_off() {
    static thread_local const char own = 0;
    if (affinity_.empty()) return false;
    const InterruptWatch::Clock::time_point now = InterruptWatch::Clock::now();
    if (!watch_.is_alone(reinterpret_cast<uintptr_t>(&own), now)) return false;
    const int here = sched_getcpu();
    if (here < 0 || !watch_.should_look(here, now) || find() != here || !leave(here)) return false;
    watch_.moved(sched_getcpu(), InterruptWatch::Clock::now());
    return true;
}

} // namespace apir::guest
