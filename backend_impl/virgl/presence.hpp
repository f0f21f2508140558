// What all workers of this QEMU share: a word that tells which context was the last at work, and two about how much they have logged.
//
// A worker that takes naps while it waits (worker/wakefulness.hpp) takes processor time from whoever works meanwhile. So only the one that
// worked last may. Nothing depends on the word's truth: a worker that was taken over by its guest can at worst make the same QEMU's other
// workers sleep early, or nap where they should not, and silence their logs, or fill them, as it can by itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

#include <log_budget.hpp>

#include "shared_file.hpp"

namespace apir::virgl {

class Presence {
  public:
    static constexpr size_t memory_size = 4096;

    // Maps the memory behind `fd`; throws std::system_error.
    Presence(int fd, uint32_t context)
        : memory_(map_shared_file(fd, memory_size)), word_(reinterpret_cast<std::atomic<uint32_t> *>(memory_)), context_(context) {}
    ~Presence() { munmap(memory_, memory_size); }
    Presence(const Presence &) = delete;
    Presence &operator=(const Presence &) = delete;

    // Most often the word is read only, so that workers which work at the same time do not fight for its line more than they have to.
    void at_work() {
        if (!was_last()) word_->store(context_, std::memory_order_relaxed);
    }
    // For the component's log, and for that of the host libraries.
    LogBudget::PaidUntil *component_log() { return reinterpret_cast<LogBudget::PaidUntil *>(memory_ + component_log_offset); }
    LogBudget::PaidUntil *host_log() { return reinterpret_cast<LogBudget::PaidUntil *>(memory_ + host_log_offset); }
    bool was_last() const { return word_->load(std::memory_order_relaxed) == context_; }

  private:
    // In cache lines of their own.
    static constexpr size_t component_log_offset = 128;
    static constexpr size_t host_log_offset = 256;

    uint8_t *memory_;
    std::atomic<uint32_t> *word_;
    uint32_t context_;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

} // namespace apir::virgl
