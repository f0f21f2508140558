#include "interrupted_processor.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sys/sysmacros.h>
#include <system_error>

#include "processors.hpp"

namespace apir::guest {

namespace {

namespace fs = std::filesystem;

constexpr const char *bus_name = "virtio"; // and a number
constexpr const char *first_queue = "-control"; // behind the device's name, in the name of its interrupt

// The virtio device behind a PCI device; "" when there is none.
std::string virtio_name(const fs::path &device) {
    for (const fs::directory_entry &entry : fs::directory_iterator(device)) {
        std::string name = entry.path().filename();
        if (name.rfind(bus_name, 0) == 0) return name;
    }
    return {};
}

int number_in(const fs::path &file) {
    std::ifstream stream(file);
    std::string text;
    std::getline(stream, text);
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    // A list of several begins with a number, too.
    return error == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

} // namespace

int interrupted_processor(dev_t device, const std::string &root) {
    try {
        const fs::path folder = root + "/sys/dev/char/" + std::to_string(major(device)) + ":" + std::to_string(minor(device)) + "/device";
        const std::string name = virtio_name(folder);
        if (name.empty()) return -1;
        for (const fs::directory_entry &entry : fs::directory_iterator(folder / "msi_irqs")) {
            const fs::path interrupt = root + "/proc/irq/" + entry.path().filename().string();
            if (fs::is_directory(interrupt / (name + first_queue))) return number_in(interrupt / "effective_affinity_list");
        }
    } catch (const std::exception &) { // no such files, or no memory to look at them
    }
    return -1;
}

int InterruptedProcessor::number() {
    if (looks_.fetch_add(1, std::memory_order_relaxed) % asked_every == 0) number_.store(find_(), std::memory_order_relaxed);
    return number_.load(std::memory_order_relaxed);
}

// What several threads do to the same counts moves one of them too early or too late.
bool InterruptedProcessor::keep_away() {
    const int its = number();
    if (its < 0) return false;
    const uint32_t left_alone = left_alone_.load(std::memory_order_relaxed);
    if (left_alone != 0) left_alone_.store(left_alone - 1, std::memory_order_relaxed);
    if (its != sched_getcpu()) {
        there_.store(0, std::memory_order_relaxed);
        return true;
    }
    if (there_.fetch_add(1, std::memory_order_relaxed) + 1 < patience || left_alone != 0) return false;
    there_.store(0, std::memory_order_relaxed);
    const uint32_t pause = pause_.load(std::memory_order_relaxed);
    left_alone_.store(pause, std::memory_order_relaxed);
    pause_.store(std::min(pause * 2, longest_pause), std::memory_order_relaxed);
    step_aside();
    return its != sched_getcpu();
}

} // namespace apir::guest
