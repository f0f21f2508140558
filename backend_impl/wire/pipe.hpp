// One end of a pipe: a ring of bytes in shared memory that one side fills while the other empties it. Nothing is waited for in here, and
// neither end believes the other. protocol/PIPES.md tells the whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "apir_gen.hpp"

namespace apir {

// Where a pipe's area lies in its resource, as the guest chose it.
struct PipeArea {
    uint32_t begin = 0;
    uint32_t room = 0;

    bool valid() const { return begin >= pipe_words_size && room != 0; }
    // Bytes of the resource up to the area's end.
    uint64_t bytes() const { return uint64_t{begin} + room; }
};

class PipeEnd {
  public:
    enum class Role { fills, empties };

    // The resource is there as far as the area's end; `size` bytes go through, at most pipe_largest.
    PipeEnd(uint8_t *resource, PipeArea area, size_t size, Role role)
        : area_(resource + area.begin), room_(area.room), size_(static_cast<uint32_t>(size)), role_(role),
          own_(word_at(resource, role == Role::fills ? pipe_put_offset : pipe_taken_offset)),
          others_(word_at(resource, role == Role::fills ? pipe_taken_offset : pipe_put_offset)) {}

    // For the guest, before the other side is told of the pipe.
    static void lay_out(uint8_t *resource) {
        store(word_at(resource, pipe_put_offset), 0);
        store(word_at(resource, pipe_taken_offset), 0);
    }

    // Bytes that this end may fill, or empty, in one go at place(). Looks at the other side's word.
    size_t available() {
        if (broken_) return 0;
        const uint32_t other = __atomic_load_n(others_, __ATOMIC_ACQUIRE);
        // How far the other side is behind: for who empties, behind what it says was put in.
        const bool fills = role_ == Role::fills;
        const uint32_t within = fills ? moved_ - other : other - moved_;
        const bool in_step = fills ? other <= moved_ && within <= room_ : other >= moved_ && other <= size_ && within <= room_;
        if (!in_step || other < seen_) {
            broken_ = true;
            return 0;
        }
        seen_ = other;
        return std::min({fills ? room_ - within : within, room_ - moved_ % room_, size_ - moved_});
    }
    // What available() is at most, however long one waits.
    size_t most() const { return std::min(room_ - moved_ % room_, size_ - moved_); }
    // Where they lie.
    uint8_t *place() const { return area_ + moved_ % room_; }
    // They were filled, or emptied.
    void move(size_t bytes) {
        moved_ += static_cast<uint32_t>(bytes);
        store(own_, moved_);
    }

    size_t moved() const { return moved_; }
    bool done() const { return moved_ == size_; }
    // The other side's word is none that it can be, or it has given up: nothing more comes.
    bool broken() const { return broken_; }
    // Whether the other side says that it has moved everything.
    bool others_done() const { return __atomic_load_n(others_, __ATOMIC_ACQUIRE) == size_; }
    // For the guest's end.
    void give_up() { store(own_, pipe_given_up); }

    // Whether the other side's word has changed since available() last looked.
    bool has_news() const { return __atomic_load_n(others_, __ATOMIC_RELAXED) != seen_; }

  private:
    static uint32_t *word_at(uint8_t *resource, uint32_t offset) { return reinterpret_cast<uint32_t *>(resource + offset); }
    static void store(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

    uint8_t *area_;
    uint32_t room_;
    uint32_t size_;
    Role role_;
    uint32_t *own_;
    const uint32_t *others_;
    uint32_t moved_ = 0; // in memory of our own: what the shared word says afterwards does not matter
    uint32_t seen_ = 0;
    bool broken_ = false;
};

} // namespace apir
