// Which of the guest's processors takes a virtio device's interrupts, by what Linux says of it, and how to keep away from it. An emulated one is at each
// of them for twenty to thirty microseconds, half of what a call takes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>

namespace apir::guest {

// The processor that is interrupted when the device of this character device number has used its first queue, which is where a virtio-gpu's commands go.
// -1 where that is not known: it has no interrupt of that queue's own (MSI-X), or several processors take it. `root`: of the file system, "" for the
// real one. Reads a handful of small files.
int interrupted_processor(dev_t device, const std::string &root = "");

// For any number of threads.
class InterruptedProcessor {
  public:
    // `find`: the processor, as above; asked with the first look and now and then, for interrupts may be given to another one.
    explicit InterruptedProcessor(std::function<int()> find) : find_(std::move(find)) {}

    // Whether the calling thread is elsewhere. One that is there for the `patience`th time in a row goes to another processor that it may use, if there
    // is one, and may use all of them again at once. Where it comes back, somebody wants it there: it is left alone for longer each time. Threads that
    // look in turns may keep each other from moving.
    bool keep_away();

    static constexpr uint32_t patience = 16;
    static constexpr uint32_t first_pause = 256; // looks
    static constexpr uint32_t longest_pause = 1 << 16;
    static constexpr uint32_t asked_every = 4096; // looks

  private:
    int number();

    const std::function<int()> find_;
    std::atomic<uint32_t> looks_{0};
    std::atomic<int> number_{-1};
    std::atomic<uint32_t> there_{0}; // in a row
    std::atomic<uint32_t> left_alone_{0}; // looks that are still to come
    std::atomic<uint32_t> pause_{first_pause};
};

} // namespace apir::guest
