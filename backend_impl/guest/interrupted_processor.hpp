// The processor that takes a device's interrupts, and how a thread that submits commands keeps off it. Each command that the kernel does not fence
// brings an interrupt, soon after it was handed over. Under an emulator its handler, and the kernel's worker that this wakes, keep a thread on the same
// processor from seeing its reply, and from copying: bound to that one of two processors an empty call of protocol 0.2 took 103 to 117 us, bound to the
// other one mostly 35 to 60. Left to itself a thread stays on either for long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace apir::guest {

// When a thread that submits should look where interrupts go, and so may be moved. Any number of threads; what they do to the same numbers meanwhile
// costs a look at most.
class InterruptWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // Submissions of one thread in a row, none of them long after the one before. Several threads that submit need all processors there are, and to be
    // moved takes as long as some calls: not before the first one after a pause.
    static constexpr uint32_t alone = 32;
    static constexpr Clock::duration paused = std::chrono::milliseconds(10);
    // Between two looks of a thread that stays where it is: interrupts may be sent elsewhere.
    static constexpr Clock::duration period = std::chrono::seconds(1);
    // Between two looks otherwise. A thread that is brought back soon after it was moved is left there for longer each time.
    static constexpr Clock::duration shortest_pause = std::chrono::milliseconds(10);
    static constexpr Clock::duration longest_pause = std::chrono::seconds(1);

    // A thread submits, known by any number of its own that is not 0. Whether it has been the only one for long.
    bool is_alone(uintptr_t thread, Clock::time_point now);
    // Whether that one should look, at this processor.
    bool should_look(int processor, Clock::time_point now);
    // It was moved.
    void moved(int to, Clock::time_point now);

  private:
    std::atomic<uintptr_t> thread_{0};
    std::atomic<uint32_t> in_a_row_{0};
    std::atomic<Clock::rep> submitted_at_{0};
    std::atomic<int> processor_{-1}; // at which it looked, or to which it was moved
    std::atomic<Clock::rep> again_at_{0}; // there
    std::atomic<Clock::rep> next_look_{0};
    std::atomic<Clock::rep> moved_at_{0};
    std::atomic<Clock::rep> pause_{shortest_pause.count()};
};

class InterruptedProcessor {
  public:
    // Of the virtio-gpu device of this render node, as /dev/dri/renderD128. `root`: before /sys and /proc.
    explicit InterruptedProcessor(const std::string &node, const std::string &root = "");

    // Nothing where the system does not say, or there are several.
    std::optional<int> find() const;
    // The calling thread submits a command: it goes on elsewhere where this is the processor, if it may, and stays free to be brought back. Whether it was
    // moved.
    bool keep_off();

  private:
    std::string affinity_; // file; empty: there is none
    InterruptWatch watch_;
};

} // namespace apir::guest
