// The ring's state machine, all of it: two guest threads and a worker in every order of their steps, the worker asleep, being
// woken, the ring full, a doorbell that cannot be rung for a while, and the worker dying at any moment. Looked for: a command that is
// lost, carried out twice, torn or out of order; a wake-up that is missed; a thread that waits for ever. Each defect that is planted
// has to be found.
//
// The guest's threads run BasicRingProducer, the worker BasicRingConsumer, as they are. What is around them is written down
// here, step by step as it stands there: RingTransport::submit and await, QueueProducer::push with QueueConsumer::sleep (the
// doorbell), Service::run without its spins (they only look), Context::lose. Service::serve_ring's and the host library's work is one step.
// protocol/RING.md has what is not in here.
#include <algorithm>
#include <array>
#include <utility>

#include "ring_interleavings.hpp"
#include "wire/ring.hpp"

using namespace apir;
using namespace apir::test;

namespace {

enum class Plant {
    none,
    published_before_written, // turn is stored before the command's bytes
    freed_before_read,        // the slot is given back before its bytes were copied out
    written_before_free,      // the command's bytes are written before the slot is known to be free
    claim_not_atomic,         // two loads and stores in the place of a compare-and-swap
    asleep_after_look,        // the worker looks for commands first, then says that it sleeps
    store_behind_look,        // the producer's store of turn is not seq_cst: it becomes visible behind its look at asleep
    deaf_to_death,            // who waits does not look at the ring's state
    deaf_without_room,        // nor who waits for room
    kick_is_forgotten,        // who owes the doorbell does not ring it
    failure_is_kept,          // a doorbell that could not be rung does not put the 1 back
    not_rung_again,           // who waits for a reply does not ring again where that failed
    not_rung_again_when_full, // nor who waits for room
};

constexpr RingShape shape{2, 64};
constexpr size_t producers = 2;
constexpr uint32_t most_commands = 3;

struct Plan {
    std::array<uint32_t, producers> commands; // of each guest thread
    bool await_each;                          // or all of them at the end
    bool death;
    bool failing = false; // the doorbell, for a while
    bool takes = true;    // otherwise the worker is dead before it takes a command, and is told dead later
    Plant plant = Plant::none;
};

struct Command {
    uint32_t producer, number, check, inverse;
};

class RingScene;
RingScene *scene = nullptr;

// Shared memory, one step at a time.
struct Stepped {
    template <typename T> static T acquire(const T &word);
    template <typename T> static T look(const T &word);
    template <typename T> static void release(T &word, T value);
    template <typename T> static void tell(T &word, T value);
    template <typename T> static T swap(T &word, T value) {
        T old = seen(word);
        word = value;
        return old;
    }
    template <typename T> static bool raise(T &word, T &expected);
    static void copy(uint8_t *to, const uint8_t *from, size_t size);

  private:
    template <typename T> static T seen(const T &word) {
        Machine::current().point();
        Machine::current().note(word);
        return word;
    }
};

class RingScene : public Scene {
  public:
    explicit RingScene(const Plan &plan) : plan_(plan), producer_(memory_, shape), consumer_(memory_, shape) {
        scene = this;
        worker_dead_ = !plan.takes;
        tell_state(RingState::open);
    }

    std::vector<Machine::Body> bodies() override {
        std::vector<Machine::Body> all{[this] { work(); }};
        for (uint32_t i = 0; i < producers; ++i) all.emplace_back([this, i] { call(i); });
        if (plan_.death) all.emplace_back([this] { die(); });
        if (plan_.failing) all.emplace_back([this] { fail(); });
        return all;
    }

    bool alive(size_t thread) const override { return thread != 0 || !worker_dead_; }

    uint64_t state() const override {
        uint64_t hash = 0;
        for (size_t at = 0; at < sizeof memory_; at += sizeof(uint64_t)) {
            uint64_t word;
            std::memcpy(&word, memory_ + at, sizeof word);
            Machine::mix(hash, word);
        }
        Machine::mix(hash, tail_of_producers_);
        Machine::mix(hash, heads_);
        for (uint32_t word : {queue_tail_, queue_head_, queue_asleep_, bell_}) Machine::mix(hash, word);
        for (bool flag : {worker_dead_, deaf_, unrung_}) Machine::mix(hash, flag ? 1 : 0);
        for (size_t i = 0; i < producers; ++i)
            for (uint32_t word : {served_[i], replies_[i], published_[i]}) Machine::mix(hash, word);
        for (const auto &commands : before_)
            for (const Counts &counts : commands)
                for (uint32_t count : counts) Machine::mix(hash, count);
        return hash;
    }
    const char *wrong() const override { return wrong_; }
    const char *wrong_at_rest(const Machine &machine) const override {
        for (size_t i = 1; i <= producers; ++i)
            if (!machine.ended(i)) return worker_dead_ ? "a thread waits for a worker that is dead" : "a thread waits for ever";
        for (size_t i = 0; i < producers && !worker_dead_; ++i)
            if (replies_[i] != plan_.commands[i]) return "a command was not carried out";
        return nullptr;
    }

    const Plan &plan() const { return plan_; }
    bool is_asleep_word(const void *at) const { return at == memory_ + ring_asleep_offset; }
    void tells_too_late() { wrong_ = "the worker's word that it sleeps may become visible behind its look"; }
    bool in_ring(const void *at) const { return at >= memory_ && at < memory_ + sizeof memory_; }
    // A command's length is a part of its bytes: one step with them.
    bool is_size(const void *at) const { return slot_with(at, ring_size_offset) != nullptr; }
    // What a producer with Plant::written_before_free does as it looks whose a slot is.
    void write_too_soon(const void *turn, size_t thread) {
        uint8_t *slot = slot_with(turn, ring_turn_offset);
        if (slot == nullptr || thread == 0 || thread > producers) return;
        const uint32_t size = sizeof(Command);
        machine().point();
        std::memcpy(slot + ring_command_offset, &submitted_[thread - 1], size);
        std::memcpy(slot + ring_size_offset, &size, sizeof size);
    }
    // The producers' own counter, as it is seen from outside.
    uint64_t tail_of_producers_ = 0;
    struct Late {
        uint8_t *to;
        const uint8_t *from;
        size_t size;
    } late_{};
    // A store that others do not see yet, of each thread.
    struct Hidden {
        uint64_t *word = nullptr;
        uint64_t value = 0;
    };
    std::array<Hidden, producers + 3> hidden_;

  private:
    // The slot that has this word at `offset`; nullptr: none.
    uint8_t *slot_with(const void *at, uint64_t offset) const {
        for (uint64_t slot = 0; slot < shape.slots; ++slot) {
            uint8_t *const begin = const_cast<uint8_t *>(memory_) + ring_slots_offset + slot * shape.slot_size;
            if (at == begin + offset) return begin;
        }
        return nullptr;
    }
    Machine &machine() const { return Machine::current(); }
    bool open() const { return state_word() == static_cast<uint32_t>(RingState::open); }
    void tell_state(RingState state) { std::memcpy(memory_ + ring_state_offset, &state, sizeof state); }
    uint32_t state_word() const {
        uint32_t word = 0;
        std::memcpy(&word, memory_ + ring_state_offset, sizeof word);
        return word;
    }
    bool has_room() const {
        uint64_t turn = 0;
        std::memcpy(&turn, memory_ + ring_slots_offset + tail_of_producers_ % shape.slots * shape.slot_size, sizeof turn);
        return turn == tail_of_producers_;
    }
    // What RingTransport::gone looks at.
    bool hopeless() const { return plan_.plant != Plant::deaf_to_death && !open(); }
    bool hopeless_without_room() const { return plan_.plant != Plant::deaf_without_room && hopeless(); }

    // A guest's thread: Channel::Exchange over RingTransport.
    void call(uint32_t i) {
        for (uint32_t number = 1; number <= plan_.commands[i]; ++number) {
            machine().checkpoint(number);
            if (!submit(i, number)) return;
            if (plan_.await_each && !await(i, number)) return;
        }
        await(i, plan_.commands[i]);
    }

    bool submit(uint32_t i, uint32_t number) {
        const Command command{i, number, i * 100 + number, ~(i * 100 + number)};
        submitted_[i] = command;
        before_[i][number] = published_;
        Push pushed;
        while ((pushed = producer_.push(reinterpret_cast<const uint8_t *>(&command), sizeof command)) == Push::full) {
            machine().wait_until([this] { return has_room() || hopeless_without_room() || has_to_ring(Plant::not_rung_again_when_full); });
            if (hopeless()) return false;
            if (has_to_ring(Plant::not_rung_again_when_full)) ring_if_owed();
            machine().checkpoint(most_commands + number);
        }
        if (pushed != Push::done) wrong_ = "a producer finds the ring broken";
        published_[i] = number;
        ring_if_owed();
        return true;
    }

    // RingTransport::ring_doorbell.
    void ring_if_owed() {
        if (!producer_.owes_doorbell() || plan_.plant == Plant::kick_is_forgotten) return;
        machine().point();
        unrung_ = false;
        if (kick()) return;
        machine().point();
        unrung_ = true;
        if (plan_.plant != Plant::failure_is_kept) producer_.doorbell_failed();
    }

    // RingTransport::remind, at each step of waiting. Those at which it does nothing are left out, and those at which it fails again.
    bool has_to_ring(Plant not_done) const {
        uint32_t asleep = 0;
        std::memcpy(&asleep, memory_ + ring_asleep_offset, sizeof asleep);
        return unrung_ && asleep != 0 && !deaf_ && plan_.plant != not_done;
    }

    bool await(uint32_t i, uint32_t number) {
        for (;;) {
            machine().wait_until([this, i, number] { return replies_[i] >= number || hopeless() || has_to_ring(Plant::not_rung_again); });
            if (replies_[i] >= number || hopeless()) return replies_[i] >= number;
            ring_if_owed();
            machine().checkpoint(2 * most_commands + number);
        }
    }

    // EXECBUFFER, Context::submit, QueueProducer::push. False when it failed.
    bool kick() {
        machine().point();
        machine().note(deaf_ ? 1 : 0);
        if (deaf_) return false;
        ++queue_tail_;
        machine().point();
        machine().note(queue_asleep_);
        if (queue_asleep_ == 0) return true;
        machine().point();
        ++bell_;
        return true;
    }

    // Service::run.
    void work() {
        for (;;) {
            machine().checkpoint(0);
            machine().point();
            queue_head_ = queue_tail_;
            uint8_t bytes[64];
            size_t size = 0;
            Take taken = consumer_.take(bytes, size);
            if (taken == Take::taken) serve(bytes, size);
            else if (taken == Take::broken) wrong_ = "the worker finds the ring broken";
            else sleep();
        }
    }

    void serve(const uint8_t *bytes, size_t size) {
        Command command{};
        ++heads_;
        if (size == sizeof command) std::memcpy(&command, bytes, sizeof command);
        bool whole = size == sizeof command && command.producer < producers && command.check == ~command.inverse &&
                     command.check == command.producer * 100 + command.number && command.number <= most_commands;
        if (!whole) {
            wrong_ = "a torn command";
            return;
        }
        if (command.number <= served_[command.producer]) wrong_ = "a command is carried out twice";
        if (command.number > served_[command.producer] + 1) wrong_ = "a command is lost or overtaken";
        for (size_t other = 0; other < producers; ++other)
            if (before_[command.producer][command.number][other] > served_[other]) wrong_ = "a later command overtakes an earlier one";
        served_[command.producer] = command.number;
        machine().point();
        replies_[command.producer] = command.number;
    }

    // Service::rest and QueueConsumer::sleep.
    void sleep() {
        bool looked_too_soon = plan_.plant == Plant::asleep_after_look ? consumer_.may_sleep() : false;
        consumer_.announce_sleep();
        machine().point();
        const uint32_t heard = bell_;
        machine().note(heard);
        machine().point();
        queue_asleep_ = 1;
        machine().point();
        bool idle = queue_tail_ == queue_head_;
        machine().note(idle ? 1 : 0);
        if (idle && (plan_.plant == Plant::asleep_after_look ? looked_too_soon : consumer_.may_sleep()))
            machine().wait_until([this, heard] { return bell_ != heard; });
        queue_asleep_ = 0;
        consumer_.awake();
    }

    // The worker is killed, at any moment; later QEMU notices: Context::lose.
    void die() {
        machine().point();
        worker_dead_ = true;
        machine().point();
        tell_state(RingState::dead);
    }

    // EXECBUFFER fails for a while.
    void fail() {
        machine().point();
        deaf_ = true;
        machine().point();
        deaf_ = false;
    }

  public:
    bool worker_dead_ = false;

  private:
    const Plan plan_;
    alignas(64) uint8_t memory_[ring_slots_offset + size_t{shape.slots} * shape.slot_size] = {};
    BasicRingProducer<Stepped> producer_;
    BasicRingConsumer<Stepped> consumer_;
    uint32_t queue_tail_ = 0, queue_head_ = 0, queue_asleep_ = 0, bell_ = 0;
    uint64_t heads_ = 0;
    bool deaf_ = false;    // EXECBUFFER
    bool unrung_ = false;  // as RingTransport has it
    using Counts = std::array<uint32_t, producers>;
    Counts served_{}, replies_{}, published_{};
    std::array<Command, producers> submitted_{}; // follows from the threads' states
    std::array<std::array<Counts, most_commands + 1>, producers> before_{}; // published when a command was begun
    const char *wrong_ = nullptr;
};

// What a thread has copied out of the ring belongs to its state as what it reads there does.
void copied(uint8_t *to, const uint8_t *from, size_t size) {
    std::memcpy(to, from, size);
    if (!scene->in_ring(from)) return;
    for (size_t at = 0; at < size; at += sizeof(uint32_t)) {
        uint32_t word = 0;
        std::memcpy(&word, to + at, std::min(sizeof word, size - at));
        Machine::current().note(word);
    }
}

void perform(RingScene::Late &late) {
    if (late.to != nullptr) copied(late.to, late.from, late.size);
    late = {};
}

template <typename T> T Stepped::acquire(const T &word) {
    if (scene->is_size(&word)) {
        Machine::current().note(word);
        return word;
    }
    if (scene->plan().plant == Plant::written_before_free) scene->write_too_soon(&word, Machine::current().self());
    return seen(word);
}

template <typename T> T Stepped::look(const T &word) {
    T value = seen(word);
    if (RingScene::Hidden &hidden = scene->hidden_[Machine::current().self()]; hidden.word != nullptr) {
        Machine::current().point();
        *hidden.word = hidden.value;
        hidden.word = nullptr;
    }
    return value;
}

template <typename T> void Stepped::release(T &word, T value) {
    if (!scene->is_size(&word)) Machine::current().point();
    if (scene->is_asleep_word(&word) && value != 0) scene->tells_too_late(); // only tell() comes before what its thread looks at then
    word = value;
    if (sizeof(T) == sizeof(uint64_t) && scene->plan().plant == Plant::freed_before_read) {
        Machine::current().point();
        perform(scene->late_);
    }
}

template <typename T> void Stepped::tell(T &word, T value) {
    if constexpr (sizeof(T) == sizeof(uint64_t)) {
        if (scene->plan().plant == Plant::store_behind_look) {
            scene->hidden_[Machine::current().self()] = {&word, value};
            return;
        }
    }
    Machine::current().point();
    word = value;
    if (sizeof(T) == sizeof(uint64_t) && scene->plan().plant == Plant::published_before_written) {
        Machine::current().point();
        perform(scene->late_);
    }
}

template <typename T> bool Stepped::raise(T &word, T &expected) {
    T value = seen(word);
    if (value != expected) {
        expected = value;
        return false;
    }
    if (scene->plan().plant == Plant::claim_not_atomic) Machine::current().point();
    word = expected + 1;
    scene->tail_of_producers_ = word;
    return true;
}

void Stepped::copy(uint8_t *to, const uint8_t *from, size_t size) {
    Plant plant = scene->plan().plant;
    bool late = plant == Plant::published_before_written ? scene->in_ring(to) : plant == Plant::freed_before_read && scene->in_ring(from);
    if (late) {
        scene->late_ = {to, from, size};
        return;
    }
    Machine::current().point();
    copied(to, from, size);
}

Make made(Plan plan, Plant plant = Plant::none) {
    plan.plant = plant;
    return [plan] { return std::make_unique<RingScene>(plan); };
}

} // namespace

int main() {
    const Plan one_each{{1, 1}, true, false};
    const Plan full{{2, 1}, false, false};
    const Plan wrap{{3, 0}, false, false};
    const Plan dying{{1, 1}, true, true};
    const Plan full_and_dying{{3, 0}, false, true};
    const Plan both_without_room{{2, 2}, false, true, false, false};
    const Plan failing{{3, 0}, false, false, true};
    const Plan failing_beside{{1, 1}, true, false, true};
    Verdicts verdicts;
    verdicts.sound("two threads, a call each", made(one_each));
    verdicts.sound("two threads, three commands in two slots", made(full));
    verdicts.sound("one thread, three commands in two slots", made(wrap));
    verdicts.sound("two threads, a call each, a worker that dies", made(dying));
    verdicts.sound("a full ring, a worker that dies", made(full_and_dying));
    verdicts.sound("two threads at a full ring, a dead worker", made(both_without_room));
    verdicts.sound("a full ring, a doorbell that fails", made(failing));
    verdicts.sound("two threads, a call each, a doorbell that fails", made(failing_beside));
    verdicts.planted("planted: published before written", made(one_each, Plant::published_before_written), "torn");
    verdicts.planted("planted: freed before read", made(full, Plant::freed_before_read), "overtake");
    verdicts.planted("planted: written before it is free", made(wrap, Plant::written_before_free), "overtake");
    verdicts.planted("planted: a claim that is not atomic", made(one_each, Plant::claim_not_atomic), "waits for ever");
    verdicts.planted("planted: asleep is told after the look", made(one_each, Plant::asleep_after_look), "waits for ever");
    verdicts.planted("planted: turn is stored behind the look", made(one_each, Plant::store_behind_look), "waits for ever");
    verdicts.planted("planted: the doorbell is forgotten", made(one_each, Plant::kick_is_forgotten), "waits for ever");
    verdicts.planted("planted: who waits is deaf to death", made(dying, Plant::deaf_to_death), "dead");
    verdicts.planted("planted: who waits for room is deaf to death", made(both_without_room, Plant::deaf_without_room), "dead");
    verdicts.planted("planted: a failed doorbell is not put back", made(failing, Plant::failure_is_kept), "waits for ever");
    verdicts.planted("planted: nobody rings again", made(failing_beside, Plant::not_rung_again), "waits for ever");
    verdicts.planted("planted: nobody rings at a full ring", made(failing, Plant::not_rung_again_when_full), "waits for ever");
    return verdicts.failures() == 0 ? 0 : 1;
}
