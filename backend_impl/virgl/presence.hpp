// Which context of this QEMU was the last at work: one word that all its workers share.
//
// A worker that takes naps while it waits (worker/wakefulness.hpp) takes processor time from whoever works meanwhile. So only the one that
// worked last may. Nothing depends on the word's truth: a worker that was taken over by its guest can at worst make the same QEMU's other
// workers sleep early, or nap where they should not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

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
    bool was_last() const { return word_->load(std::memory_order_relaxed) == context_; }

  private:
    uint8_t *memory_;
    std::atomic<uint32_t> *word_;
    uint32_t context_;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

} // namespace apir::virgl
