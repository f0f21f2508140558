// The command ring's two ends in one process: full, wrapped, from four threads; and each of them against an other side that
// writes what it likes.
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "host_expect.hpp"
#include "wire/ring.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr RingShape small{4, 64};

// A ring's memory, which was something else's before, with both its ends.
struct Ring {
    explicit Ring(RingShape measures = small) : shape(measures), words(shape.bytes() / 8 + 8, UINT64_MAX) {}
    uint8_t *memory() { return reinterpret_cast<uint8_t *>(words.data() + (8 - reinterpret_cast<uintptr_t>(words.data()) / 8 % 8) % 8); }
    uint64_t &turn(uint64_t slot) { return RingPlaces(memory(), shape).turn(slot); }
    uint32_t &size(uint64_t slot) { return RingPlaces(memory(), shape).size(slot); }

    RingShape shape;
    std::vector<uint64_t> words;
    RingProducer producer{memory(), shape};
    RingConsumer consumer{memory(), shape};
};

Push push(Ring &ring, uint32_t number, size_t size = sizeof(uint32_t)) {
    uint8_t bytes[128] = {};
    std::memcpy(bytes, &number, sizeof number);
    return ring.producer.push(bytes, size);
}

// The number that is taken; -1: none, -2: the ring is broken.
int64_t take(Ring &ring, size_t &size) {
    uint8_t bytes[128];
    switch (ring.consumer.take(bytes, size)) {
    case Take::empty: return -1;
    case Take::broken: return -2;
    case Take::taken: break;
    }
    uint32_t number = 0;
    std::memcpy(&number, bytes, sizeof number);
    return number;
}
int64_t take(Ring &ring) {
    size_t size = 0;
    return take(ring, size);
}

void shapes() {
    for (RingShape good : {RingShape{2, 64}, RingShape{32, 4160}, RingShape{1024, 65600}}) expect(good.valid(), "a good shape");
    for (RingShape bad : {RingShape{0, 64}, RingShape{1, 64}, RingShape{3, 64}, RingShape{2048, 64}, RingShape{UINT32_MAX, 64}, RingShape{2, 0},
                          RingShape{2, 32}, RingShape{2, 100}, RingShape{2, 65664}, RingShape{2, UINT32_MAX}})
        expect(!bad.valid(), "shape " + std::to_string(bad.slots) + " x " + std::to_string(bad.slot_size));
    expect_equal(RingShape{1024, 65600}.bytes(), uint64_t{128} + 1024 * 65600, "bytes");
}

// Numbers go through in order, lap after lap; a full ring says so and has room again when one was taken.
void full_and_wrapped() {
    Ring ring;
    uint32_t pushed = 0;
    int64_t taken = 0;
    expect_equal(take(ring), int64_t{-1}, "an empty ring");
    for (int lap = 0; lap < 1000; ++lap) {
        while (push(ring, pushed) == Push::done) ++pushed;
        expect(push(ring, pushed) == Push::full, "a full ring says that it is full");
        expect_equal(pushed - static_cast<uint32_t>(taken), small.slots, "commands in a full ring");
        for (int i = 0; i <= lap % 4; ++i) expect_equal(take(ring), taken++, "the next number");
    }
    while (taken < pushed) expect_equal(take(ring), taken++, "the rest");
    expect(!ring.consumer.available() && take(ring) == -1, "empty again");
}

void sizes() {
    Ring ring;
    expect(push(ring, 1, 0) == Push::refused, "nothing");
    expect(push(ring, 1, small.capacity()) == Push::done && take(ring) == 1, "as long as it goes");
    expect(push(ring, 1, small.capacity() + 1) == Push::refused, "too long");
    expect(!ring.consumer.available(), "a refused command is not there");
}

// Who pushes while the worker sleeps, or is about to, owes the doorbell: one of them.
void doorbell() {
    Ring ring;
    expect(ring.producer.state() == RingState::offered, "nobody has taken it yet");
    push(ring, 1);
    expect(!ring.producer.owes_doorbell(), "the worker is awake");
    ring.consumer.announce_sleep();
    expect(!ring.consumer.may_sleep(), "it may not sleep over a command");
    ring.consumer.awake();
    expect(!ring.producer.owes_doorbell(), "it is awake again");
    expect_equal(take(ring), int64_t{1}, "the command");
    ring.consumer.announce_sleep();
    expect(ring.consumer.may_sleep(), "nothing to do");
    push(ring, 2);
    push(ring, 3);
    expect(ring.producer.owes_doorbell() && !ring.producer.owes_doorbell(), "one owes the doorbell");
    ring.producer.doorbell_failed();
    expect(ring.producer.owes_doorbell(), "it failed: the next one owes it");
}

// Nonsense in the words that the guest writes ends the ring at the worker, for good.
void hostile_guest() {
    const uint64_t turns[] = {2, 3, 5, UINT64_MAX, uint64_t{1} << 63};
    for (uint64_t turn : turns) {
        Ring ring;
        ring.turn(0) = turn;
        ring.size(0) = small.capacity(); // of a command that would fit
        expect(ring.consumer.available(), "it is looked at");
        expect_equal(take(ring), int64_t{-2}, "turn " + std::to_string(turn));
        ring.turn(0) = 1;
        expect(take(ring) == -2 && !ring.consumer.available() && ring.consumer.may_sleep(), "once broken, broken for good");
    }
    for (uint32_t size : {0U, small.capacity() + 1, UINT32_MAX}) {
        Ring ring;
        push(ring, 1);
        ring.size(0) = size;
        expect_equal(take(ring), int64_t{-2}, "size " + std::to_string(size));
    }
    Ring ring;
    push(ring, 7);
    take(ring);
    ring.turn(1) = 0; // of no lap at all
    ring.size(1) = small.capacity();
    expect_equal(take(ring), int64_t{-2}, "a turn below the number");
}

// Nonsense in the words that the host writes never holds a thread of the guest.
void hostile_host() {
    for (uint64_t turn : {uint64_t{1} << 40, UINT64_MAX, uint64_t{7}}) {
        Ring ring;
        ring.turn(0) = turn;
        expect(push(ring, 1) == Push::broken, "turn " + std::to_string(turn));
    }
    Ring ring;
    for (uint32_t state : {0U, 2U, 3U, 77U}) {
        RingPlaces(ring.memory(), small).state() = state;
        expect(!ring.producer.open(), "state " + std::to_string(state));
    }
    ring.consumer.say(RingState::open);
    expect(ring.producer.open(), "open");
}

// A guest that scribbles all over the ring while the worker serves it: the worker returns from every call.
void scribbling() {
    Ring ring;
    std::atomic<bool> ends{false};
    std::atomic<bool> begun{false};
    std::thread guest([&] {
        std::mt19937_64 random(1);
        begun.store(true);
        while (!ends.load()) {
            __atomic_store_n(&ring.turn(random() % 4), random() % 16, __ATOMIC_RELAXED);
            __atomic_store_n(&ring.size(random() % 4), static_cast<uint32_t>(random() % 80), __ATOMIC_RELAXED);
        }
    });
    while (!begun.load()) std::this_thread::yield();
    int broken = 0;
    for (int round = 0; round < 200000 && (round < 2000 || broken == 0); ++round) {
        RingConsumer consumer(ring.memory(), small);
        uint8_t bytes[64];
        size_t size = 0;
        for (int i = 0; i < 100; ++i) {
            Take taken = consumer.take(bytes, size);
            broken += taken == Take::broken ? 1 : 0;
            expect(taken != Take::taken || (size > 0 && size <= small.capacity()), "a size beyond the slot");
        }
    }
    ends.store(true);
    guest.join();
    expect(broken > 0, "nonsense was seen");
}

size_t length_of(uint32_t number) { return sizeof number + number % 40; }

// Four threads through a ring of four slots, with a worker that goes to sleep whenever it can.
void threads() {
    constexpr uint32_t producers = 4;
    constexpr uint32_t each = 20000;
    Ring ring;
    std::atomic<uint32_t> bell{0};
    std::vector<std::thread> all;
    for (uint32_t id = 0; id < producers; ++id)
        all.emplace_back([&, id] {
            for (uint32_t number = 1; number <= each; ++number) {
                while (push(ring, id * 1'000'000 + number, length_of(number)) == Push::full) std::this_thread::yield();
                if (ring.producer.owes_doorbell()) bell.fetch_add(1);
            }
        });
    uint32_t seen[producers] = {};
    uint32_t sleeps = 0;
    for (uint32_t total = 0; total < producers * each;) {
        size_t size = 0;
        int64_t number = take(ring, size);
        if (number >= 0) {
            uint32_t id = static_cast<uint32_t>(number) / 1'000'000;
            if (id >= producers || static_cast<uint32_t>(number) % 1'000'000 != ++seen[id] || size != length_of(seen[id])) {
                expect(false, "number " + std::to_string(number) + " out of its thread's order, or of another length");
                std::exit(1);
            }
            ++total;
            continue;
        }
        uint32_t heard = bell.load();
        ring.consumer.announce_sleep();
        if (ring.consumer.may_sleep()) {
            ++sleeps;
            while (bell.load() == heard) std::this_thread::yield();
        }
        ring.consumer.awake();
    }
    for (std::thread &thread : all) thread.join();
    std::printf("    the worker slept %u times\n", sleeps);
    expect_equal(take(ring), int64_t{-1}, "nothing is left");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"shapes", shapes},
                      {"full_and_wrapped", full_and_wrapped},
                      {"sizes", sizes},
                      {"doorbell", doorbell},
                      {"hostile_guest", hostile_guest},
                      {"hostile_host", hostile_host},
                      {"scribbling", scribbling},
                      {"threads", threads}},
                     count > 1 ? values[1] : nullptr);
}
