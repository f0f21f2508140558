// Target: both ends of the command ring, each against memory that the other side writes to as it likes. Input: the measures, then steps
// of four bytes: what is done, and where something is written in between.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <ring.hpp>

#include "target.hpp"

using namespace apir;

namespace {

constexpr uint32_t most_slots = 16, largest_slot = 512;

// On the heap, just as large as the ring: a sanitizer sees every byte beyond.
struct Ring {
    explicit Ring(RingShape wanted) : shape(wanted), words(new uint64_t[wanted.bytes() / 8]()) {}
    uint8_t *memory() const { return reinterpret_cast<uint8_t *>(words.get()); }
    RingShape shape;
    std::unique_ptr<uint64_t[]> words;
};

// The other side writes a word somewhere: into the head, or into a slot's.
void scribble(Ring &ring, uint32_t step) {
    uint64_t place = (step >> 8) % (ring.shape.bytes() / 4) * 4;
    uint32_t value = (step & 0x80) != 0 ? 0xffffffffu : (step >> 20);
    std::memcpy(ring.memory() + place, &value, sizeof value);
}

void take(Ring &ring, RingConsumer &consumer) {
    std::unique_ptr<uint8_t[]> command(new uint8_t[ring.shape.capacity()]);
    size_t size = 0;
    if (consumer.take(command.get(), size) == Take::taken && (size == 0 || size > ring.shape.capacity())) std::abort();
}

void push(RingProducer &producer, uint32_t step) {
    static const uint8_t bytes[largest_slot] = {};
    producer.push(bytes, std::min<size_t>(step >> 8 & 0x3ff, sizeof bytes));
    if (producer.owes_doorbell() && (step & 0x80) != 0) producer.doorbell_failed();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    RingShape shape{data[0], static_cast<uint32_t>(data[1]) * 64u};
    if (!shape.valid() || shape.slots > most_slots || shape.slot_size > largest_slot) return 0;
    Ring ring(shape);
    RingProducer producer(ring.memory(), shape);
    RingConsumer consumer(ring.memory(), shape);
    for (size_t at = 4; at + 4 <= size; at += 4) {
        uint32_t step;
        std::memcpy(&step, data + at, sizeof step);
        switch (step % 6) {
        case 0: push(producer, step); break;
        case 1: take(ring, consumer); break;
        case 2: scribble(ring, step); break;
        case 3: consumer.announce_sleep(), (void)consumer.may_sleep(); break;
        case 4: consumer.awake(), consumer.say(static_cast<RingState>(step >> 8)); break;
        default: (void)producer.open(), (void)consumer.available();
        }
    }
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    return apir::fuzz::mutate_plainly(data, size, most, seed);
}
