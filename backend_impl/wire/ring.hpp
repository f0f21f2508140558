// The command ring: its layout in shared memory, the guest's end of it and the worker's. No input or output in here, nothing
// is waited for, and neither end believes the other. protocol/RING.md tells the whole; in short:
//
// Slot number t % slots belongs to command number t. Its word `turn` says whose it is: t, free for a producer; t + 1, the command stands in it; and
// when the consumer has copied it out, t + slots, free for the next lap. A producer claims a number by raising a counter of
// the guest's own, and from then on nobody else touches that slot until it publishes: threads do not wait for each other,
// and commands are carried out in the order of their numbers. So a thread's commands keep their order, and one that was
// published before another was begun comes before it, whichever threads they are of.
//
// Sleep. The worker stores asleep = 1, then looks at the next turn once more, and sleeps only when there is nothing. A
// producer stores turn, then looks at asleep. All four are seq_cst, so they stand in one order that both agree on: either
// the store of turn is before the worker's look, and it does not sleep; or its look is before that store, hence its asleep
// = 1 is too, and the producer's look, which comes behind its own store, finds it. Whoever then swaps the 1 for a 0 owes the
// doorbell; that the others who find a 0 may rely on it is because that one only has to be run by the guest's scheduler.
//
// `Memory` is how the words are reached: SharedMemory, but for the test that runs every interleaving of these very functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "apir_gen.hpp"
#include "short_copies.hpp"

namespace apir {

// A ring's measures, as the guest chose them.
struct RingShape {
    uint32_t slots = 0;
    uint32_t slot_size = 0; // with its header

    bool valid() const {
        return slots >= 2 && slots <= ring_most_slots && (slots & (slots - 1)) == 0 && slot_size >= 64 &&
               slot_size <= ring_largest_slot && slot_size % 64 == 0;
    }
    // Bytes of shared memory.
    uint64_t bytes() const { return ring_slots_offset + uint64_t{slots} * slot_size; }
    // Longest command.
    uint32_t capacity() const { return slot_size - ring_command_offset; }
};

// Words of shared memory, one atomic operation each.
struct SharedMemory {
    static_assert(__atomic_always_lock_free(8, nullptr), "the other side of a ring knows no locks of ours");

    template <typename T> static T acquire(const T &word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
    template <typename T> static T look(const T &word) { return __atomic_load_n(&word, __ATOMIC_SEQ_CST); }
    template <typename T> static void release(T &word, T value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }
    template <typename T> static void tell(T &word, T value) { __atomic_store_n(&word, value, __ATOMIC_SEQ_CST); }
    template <typename T> static T swap(T &word, T value) { return __atomic_exchange_n(&word, value, __ATOMIC_SEQ_CST); }
    // `expected` to one more; on failure `expected` is what stands there.
    template <typename T> static bool raise(T &word, T &expected) {
        return __atomic_compare_exchange_n(&word, &expected, expected + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    static void copy(uint8_t *to, const uint8_t *from, size_t size) { copy_short(to, from, size); }
};

// Where a ring's words lie.
class RingPlaces {
  public:
    RingPlaces(uint8_t *memory, RingShape shape) : memory_(memory), shape_(shape) {}

    const RingShape &shape() const { return shape_; }
    uint32_t &asleep() const { return *reinterpret_cast<uint32_t *>(memory_ + ring_asleep_offset); }
    uint32_t &state() const { return *reinterpret_cast<uint32_t *>(memory_ + ring_state_offset); }
    uint64_t &turn(uint64_t ticket) const { return *reinterpret_cast<uint64_t *>(slot(ticket) + ring_turn_offset); }
    uint32_t &size(uint64_t ticket) const { return *reinterpret_cast<uint32_t *>(slot(ticket) + ring_size_offset); }
    uint8_t *command(uint64_t ticket) const { return slot(ticket) + ring_command_offset; }

  private:
    uint8_t *slot(uint64_t ticket) const {
        return memory_ + ring_slots_offset + (ticket & (shape_.slots - 1)) * size_t{shape_.slot_size};
    }

    uint8_t *memory_;
    RingShape shape_;
};

enum class Push {
    done,
    full,    // try again later
    refused, // too long, or nothing
    broken,  // the other side wrote what it may not: the ring is of no use any more
};

// The guest's end. Any number of threads at once.
template <typename Memory> class BasicRingProducer {
  public:
    // Lays out an empty ring, before the other side is told of it. `shape` is valid and its bytes fit the memory.
    BasicRingProducer(uint8_t *memory, RingShape shape) : at_(memory, shape) {
        at_.asleep() = 0;
        at_.state() = static_cast<uint32_t>(RingState::offered);
        for (uint64_t ticket = 0; ticket < shape.slots; ++ticket) at_.turn(ticket) = ticket;
    }

    Push push(const uint8_t *command, size_t size) {
        if (size == 0 || size > at_.shape().capacity()) return Push::refused;
        uint64_t ticket = Memory::acquire(tail_);
        for (;;) {
            uint64_t turn = Memory::acquire(at_.turn(ticket));
            if (turn == ticket) {
                if (Memory::raise(tail_, ticket)) break;
                continue;
            }
            uint64_t now = Memory::acquire(tail_);
            if (now == ticket) return a_lap_behind(turn, ticket) ? Push::full : Push::broken;
            ticket = now;
        }
        Memory::copy(at_.command(ticket), command, size);
        Memory::release(at_.size(ticket), static_cast<uint32_t>(size));
        Memory::tell(at_.turn(ticket), ticket + 1);
        return Push::done;
    }

    // Whether the caller, who pushed a command, now has to ring the doorbell.
    bool owes_doorbell() { return Memory::look(at_.asleep()) != 0 && Memory::swap(at_.asleep(), 0U) != 0; }
    // It could not be rung: the next one owes it.
    void doorbell_failed() { Memory::tell(at_.asleep(), 1U); }

    // Whether commands are taken, as far as the other side says.
    bool open() const { return state() == RingState::open; }
    RingState state() const { return static_cast<RingState>(Memory::acquire(at_.state())); }

  private:
    // The slot's command of one lap ago is not taken yet, or is still being written.
    bool a_lap_behind(uint64_t turn, uint64_t ticket) const {
        uint64_t next = turn + at_.shape().slots;
        return next == ticket || next == ticket + 1;
    }

    RingPlaces at_;
    uint64_t tail_ = 0; // the next command's number; never in shared memory
};

enum class Take { empty, taken, broken };

// The worker's end. One thread.
template <typename Memory> class BasicRingConsumer {
  public:
    // `shape` is valid and its bytes fit the memory.
    BasicRingConsumer(uint8_t *memory, RingShape shape) : at_(memory, shape) {}

    const RingShape &shape() const { return at_.shape(); }
    // Whether take() has something to say.
    bool available() const { return !broken_ && Memory::acquire(at_.turn(head_)) != head_; }
    // Number of the next command to be taken.
    uint64_t next() const { return head_; }
    // Whether the command of that number, next() or one of the lap from there on, stands in the ring already.
    bool stands(uint64_t ticket) const { return Memory::acquire(at_.turn(ticket)) == ticket + 1; }
    // Copies the next command out and frees its slot; `command` has room for the shape's capacity. Everything is read once,
    // and nothing that the guest wrote is used as it stands but a length that was checked.
    Take take(uint8_t *command, size_t &size) {
        if (broken_) return Take::broken;
        uint64_t turn = Memory::acquire(at_.turn(head_));
        if (turn == head_) return Take::empty;
        uint32_t told = turn == head_ + 1 ? Memory::acquire(at_.size(head_)) : 0;
#if defined(APIR_PLANT_TRUSTED_SIZE)
        const uint32_t most = UINT32_MAX;
#else
        const uint32_t most = at_.shape().capacity();
#endif
        if (told == 0 || told > most) {
            broken_ = true;
            return Take::broken;
        }
        Memory::copy(command, at_.command(head_), told);
        Memory::release(at_.turn(head_), head_ + at_.shape().slots);
        ++head_;
        size = told;
        return Take::taken;
    }

    // Says that the worker is about to sleep; then it has to ask may_sleep(), and sleeps only on yes.
    void announce_sleep() { Memory::tell(at_.asleep(), 1U); }
    bool may_sleep() const { return broken_ || Memory::look(at_.turn(head_)) == head_; }
    void awake() { Memory::release(at_.asleep(), 0U); }

    void say(RingState state) { Memory::release(at_.state(), static_cast<uint32_t>(state)); }

  private:
    RingPlaces at_;
    uint64_t head_ = 0; // the next command's number; never in shared memory
    bool broken_ = false;
};

using RingProducer = BasicRingProducer<SharedMemory>;
using RingConsumer = BasicRingConsumer<SharedMemory>;

} // namespace apir
