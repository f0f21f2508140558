// The command ring at the component: real workers with a fake host library, and a guest that does what no guest should.
#include <algorithm>
#include <csignal>
#include <ctime>
#include <sched.h>

#include "virgl/worker/wakefulness.hpp"
#include "virgl_qemu.hpp"
#include "wire/ring.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr RingShape measures{4, 512};
constexpr uint32_t ring_resource = 90;

uint64_t now_ms() { return monotonic_ns() / 1'000'000; }

// A context with a reply page for EXECBUFFER, another for the ring, and a ring, if the worker takes it.
class RingGuest {
  public:
    explicit RingGuest(uint32_t context, RingShape shape = measures, uint64_t blob_bytes = 16384)
        : context_(context), guest_(context, context * 10) {
        guest_.start();
        create_blob(context, ring_resource, blob_bytes);
        create_blob(context, page, reply_page_size);
        memory_ = mapped(ring_resource);
        reply_ = reinterpret_cast<uint32_t *>(mapped(page));
        std::memset(memory_, 0, 64);
        if (shape.valid() && shape.bytes() <= blob_bytes) producer_ = std::make_unique<RingProducer>(memory_, shape);
        accepted = create(ring_resource, shape);
    }
    ~RingGuest() {
        virgl_renderer_resource_unref(ring_resource);
        virgl_renderer_resource_unref(page);
    }

    bool create(uint32_t resource, RingShape shape) {
        uint8_t request[12];
        Writer writer(request, sizeof request);
        write(writer, RingCreateRequest{resource, shape.slots, shape.slot_size});
        return guest_.forward(static_cast<uint32_t>(Call::ring_create), {request, request + sizeof request}) ==
               static_cast<int64_t>(ReturnCode::ok);
    }

    Push push(FakeCall call, const std::string &argument = "", uint32_t reply_page = page) {
        std::vector<uint8_t> bytes(12 + padded(argument.size() + 1));
        Writer writer(bytes.data(), bytes.size());
        write(writer, CommandHeader{venus_command_offset + 2, static_cast<uint32_t>(call), reply_page});
        writer.bytes(argument.c_str(), argument.size() + 1);
        __atomic_store_n(reply_, 0, __ATOMIC_RELEASE);
        Push pushed = producer_->push(bytes.data(), bytes.size());
        if (pushed == Push::done && producer_->owes_doorbell()) kick();
        return pushed;
    }
    void kick() {
        ++kicks;
        uint32_t words[3] = {venus_command_offset + 2, static_cast<uint32_t>(Call::ring_kick), 0};
        virgl_renderer_submit_cmd(words, static_cast<int>(context_), 3);
    }
    bool wait(int timeout_ms = 5000) const {
        uint64_t end = now_ms() + static_cast<uint64_t>(timeout_ms);
        while (__atomic_load_n(reply_, __ATOMIC_ACQUIRE) == 0 && now_ms() < end) poll(nullptr, 0, 1);
        return __atomic_load_n(reply_, __ATOMIC_ACQUIRE) != 0;
    }
    std::string echo(const std::string &text) {
        if (push(FakeCall::echo, text) != Push::done || !wait()) return "(no reply)";
        return reinterpret_cast<const char *>(reply_ + 1);
    }
    bool becomes(RingState wanted, int timeout_ms = 3000) const {
        uint64_t end = now_ms() + static_cast<uint64_t>(timeout_ms);
        while (producer_->state() != wanted && now_ms() < end) poll(nullptr, 0, 1);
        return producer_->state() == wanted;
    }
    // Whether the worker takes that number, soon.
    bool taken(uint64_t number) const {
        uint64_t end = now_ms() + 3000;
        while (__atomic_load_n(&places().turn(number), __ATOMIC_ACQUIRE) != number + measures.slots && now_ms() < end) poll(nullptr, 0, 1);
        return now_ms() < end;
    }
    RingPlaces places() const { return {memory_, measures}; }
    GuestContext &plain() { return guest_; }
    RingProducer &producer() { return *producer_; }
    // Goes on with another ring.
    bool exchange(uint32_t resource) {
        create_blob(context_, resource, 16384);
        memory_ = mapped(resource);
        std::memset(memory_, 0, 64);
        producer_ = std::make_unique<RingProducer>(memory_, measures);
        return create(resource, measures);
    }
    uint32_t *reply() { return reply_; }

    static constexpr uint32_t page = 91;
    bool accepted = false;
    int kicks = 0;

  private:
    uint32_t context_;
    GuestContext guest_;
    std::unique_ptr<RingProducer> producer_;
    uint8_t *memory_ = nullptr;
    uint32_t *reply_ = nullptr;
};

constexpr int past_its_naps_ms = static_cast<int>(virgl::Wakefulness::naps_until_ns / 1'000'000) + 250;

void calls() {
    environment();
    Qemu qemu;
    RingGuest guest(3);
    expect(guest.accepted && guest.becomes(RingState::open), "a ring is taken");
    for (int i = 0; i < 200; ++i) expect(guest.echo("call " + std::to_string(i)) == "call " + std::to_string(i), "a call");
    expect(guest.plain().ask(FakeCall::echo, "beside") == "beside", "EXECBUFFER beside it");
    // A resource that is made between two calls is known when the next one names it.
    for (uint32_t resource = 200; resource < 250; ++resource) {
        create_blob(3, resource, 4096);
        guest.push(FakeCall::fill, std::to_string(resource));
        expect(guest.wait() && mapped(resource)[4095] == 'f', "a new resource");
        virgl_renderer_resource_unref(resource);
    }
    poll(nullptr, 0, past_its_naps_ms);
    int before = guest.kicks;
    expect(guest.echo("after a rest") == "after a rest" && guest.kicks == before + 1, "a worker that sleeps is woken");
    expect(!guest.create(ring_resource, measures), "a second ring is refused");
    expect(guest.echo("still") == "still", "and the first one stays");
    guest.push(FakeCall::echo, "nobody hears", 12345);
    expect(guest.echo("on") == "on", "an unknown reply resource in the ring");
}

// Offers that no worker takes; the context lives on without.
void refused_offers() {
    environment();
    Qemu qemu;
    for (RingShape bad : {RingShape{3, 512}, RingShape{4, 100}, RingShape{2048, 512}, RingShape{0, 0}, RingShape{UINT32_MAX, UINT32_MAX},
                          RingShape{64, 512}, RingShape{1024, 65600}}) {
        RingGuest guest(3, bad);
        expect(!guest.accepted, "a ring of " + std::to_string(bad.slots) + " x " + std::to_string(bad.slot_size));
        expect(!guest.create(777, measures), "an unknown resource");
        expect(guest.plain().forward(static_cast<uint32_t>(Call::ring_create), {1, 2, 3}) == static_cast<int64_t>(ReturnCode::call_failed),
               "half an offer");
        expect(guest.plain().ask(FakeCall::echo, "alive") == "alive", "the context lives on");
        expect(guest.create(ring_resource, measures), "a good one is taken after it");
    }
}

void switched_off() {
    environment();
    setenv("VIRGL_APIR_RING", "0", 1);
    Qemu qemu;
    RingGuest guest(3);
    expect(!guest.accepted, "VIRGL_APIR_RING=0");
    std::vector<uint8_t> offer(20);
    Writer writer(offer.data(), offer.size());
    write(writer, NegotiateRequest{1, UINT64_MAX, 42});
    guest.plain().forward(static_cast<uint32_t>(Call::negotiate), offer);
    uint64_t accepted = 0;
    std::memcpy(&accepted, guest.plain().reply(), sizeof accepted);
    expect((accepted & static_cast<uint64_t>(Extension::ring)) == 0 && accepted != 0, "it is not negotiated");
}

// Nonsense in the ring closes it, and the context serves EXECBUFFER as before.
void nonsense() {
    environment();
    Qemu qemu;
    for (uint64_t turn : {uint64_t{5}, UINT64_MAX, uint64_t{0}}) {
        RingGuest guest(3);
        expect(guest.echo("first") == "first", "before");
        guest.places().turn(1) = turn;
        guest.kick();
        expect(guest.becomes(RingState::closed), "turn " + std::to_string(turn));
        expect(guest.plain().ask(FakeCall::echo, "alive") == "alive", "the context lives on");
        expect(!guest.create(ring_resource, measures), "there is one already, closed as it is");
    }
    for (uint32_t size : {0U, 497U, UINT32_MAX}) {
        RingGuest guest(3);
        expect(guest.echo("first") == "first", "before");
        guest.places().size(1) = size;
        __atomic_store_n(&guest.places().turn(1), uint64_t{2}, __ATOMIC_SEQ_CST);
        guest.kick();
        expect(guest.becomes(RingState::closed), "size " + std::to_string(size));
    }
}

// A guest may free the ring that was closed and have another one; and where that was, when it is gone too, nobody writes.
void rings_after_one_that_was_closed() {
    environment();
    Qemu qemu;
    RingGuest guest(3);
    expect(guest.echo("first") == "first", "before");
    guest.places().turn(1) = 5;
    guest.kick();
    expect(guest.becomes(RingState::closed), "closed");
    virgl_renderer_resource_unref(ring_resource);
    expect(guest.exchange(92) && guest.echo("second") == "second", "the second ring");
    const pid_t worker = guest.plain().worker();
    virgl_renderer_resource_unref(92);
    expect(guest.plain().ask(FakeCall::echo, "gone") == "gone", "without a ring");
    for (uint32_t resource : {93, 94, 95}) { // in the places of both
        create_blob(3, resource, 16384);
        std::memset(mapped(resource), 0, 16384);
    }
    kill(worker, SIGKILL);
    expect(guest.plain().wait(1) >= 0 && guest.plain().forward(static_cast<uint32_t>(FakeCall::hang)) == static_cast<int64_t>(ReturnCode::worker_lost), "the end of the worker");
    for (uint32_t resource : {93, 94, 95}) expect(std::count(mapped(resource), mapped(resource) + 16384, 0) == 16384, "another blob stays as it is");
}

void expect_dead(RingGuest &guest, const char *how) {
    expect(guest.becomes(RingState::dead, 1000), std::string(how) + ": who waits is told within a second");
    expect(*guest.reply() == 0, "and there is no reply");
    guest.kick();
    expect(guest.plain().forward(static_cast<uint32_t>(FakeCall::pid)) == static_cast<int64_t>(ReturnCode::worker_lost), "and the context is lost");
}

void worker_dies() {
    environment();
    Qemu qemu;
    for (FakeCall how : {FakeCall::crash, FakeCall::leave}) {
        RingGuest guest(3);
        expect(guest.accepted, "a ring");
        guest.push(how);
        expect_dead(guest, "a worker that crashes");
    }
    RingGuest idle(3);
    expect(idle.echo("x") == "x", "a call");
    kill(idle.plain().worker(), SIGKILL);
    expect(idle.becomes(RingState::dead, 1000), "a worker that is killed while it has nothing to do");
}

// The stall limit holds for commands of the ring: one that hangs is ended, one that works and says so is not.
void worker_stalls() {
    environment();
    setenv("VIRGL_APIR_STALL_LIMIT_MS", "800", 1);
    Qemu qemu;
    RingGuest guest(3);
    guest.push(FakeCall::beat);
    expect(guest.wait(10000), "long work");
    poll(nullptr, 0, 1500);
    expect(guest.echo("idle") == "idle", "an idle worker is not taken for one that hangs");
    guest.push(FakeCall::hang);
    uint64_t start = now_ms();
    expect(guest.becomes(RingState::dead, 8000), "a worker that hangs");
    expect(now_ms() - start >= 700, "not before the limit");
}

// A command that ends before the limit is no stall, wherever between two looks of the component's it began.
void slow_worker() {
    environment();
    setenv("VIRGL_APIR_STALL_LIMIT_MS", "800", 1);
    Qemu qemu;
    RingGuest guest(3);
    for (int i = 0; i < 5; ++i) {
        poll(nullptr, 0, 230 + 40 * i);
        guest.push(FakeCall::nap, "700");
        expect(guest.wait() && guest.producer().state() == RingState::open, "slow call " + std::to_string(i));
    }
    poll(nullptr, 0, 350);
    expect(guest.plain().ask(FakeCall::nap, "700") == "700", "by EXECBUFFER");
}

// While a command of the queue is under way the guest writes one into its ring, then exchanges the ring for one of larger slots: the
// command, which was taken first, is carried out behind that.
void ring_exchanged_under_a_command() {
    environment();
    Qemu qemu;
    RingGuest guest(3);
    constexpr RingShape larger{4, 65600};
    create_blob(3, 92, larger.bytes());
    create_blob(3, 93, reply_page_size);
    std::memset(mapped(92), 0, 64);
    RingProducer other(mapped(92), larger);
    guest.plain().submit(2 + venus_command_offset, static_cast<uint32_t>(FakeCall::nap), {'3', '0', '0', 0}, 93);
    poll(nullptr, 0, 100);
    expect(guest.push(FakeCall::echo, "from the first ring") == Push::done, "a command");
    virgl_renderer_resource_unref(ring_resource);
    expect(guest.create(92, larger), "the second ring");
    expect(guest.wait() && std::string(reinterpret_cast<const char *>(guest.reply() + 1)) == "from the first ring", "is carried out");
}

// The ring's resource goes while the worker serves it, or the whole context does.
void ring_goes() {
    environment();
    Qemu qemu;
    {
        RingGuest guest(3);
        expect(guest.echo("x") == "x", "a call");
        guest.push(FakeCall::beat);
        expect(guest.taken(1), "the worker begins");
        virgl_renderer_resource_unref(ring_resource);
        expect(guest.wait(10000), "the call under way is answered");
        expect(guest.plain().ask(FakeCall::echo, "alive") == "alive", "the context lives on");
        create_blob(3, 92, 16384);
        RingProducer other(mapped(92), measures);
        expect(guest.create(92, measures), "another ring is taken");
        virgl_renderer_resource_unref(92);
    }
    RingGuest guest(3);
    guest.push(FakeCall::hang);
    uint64_t start = now_ms();
    guest.plain().destroy();
    expect(now_ms() - start < 500, "the end of a context does not wait");
}

// Processor time of a process so far.
double seconds_of(pid_t pid) {
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void idle_costs_nothing() {
    environment();
    Qemu qemu;
    RingGuest guest(3);
    pid_t worker = guest.plain().worker();
    expect(guest.echo("x") == "x", "a call");
    double begin = seconds_of(worker);
    poll(nullptr, 0, past_its_naps_ms);
    double before = seconds_of(worker);
    std::printf("    %.6f s while it takes naps\n", before - begin);
    expect(before - begin < 0.8, "naps are no waiting with open eyes");
    poll(nullptr, 0, 3000);
    double used = seconds_of(worker) - before;
    std::printf("    %.6f s in 3 s\n", used);
    expect(before >= 0 && used < 0.003, "an idle worker uses a processor");
}

// Processor time of a worker in the half second from now.
double used_by(pid_t worker) {
    double before = seconds_of(worker);
    poll(nullptr, 0, 500);
    return seconds_of(worker) - before;
}

// A worker in its naps is in the way of one that works.
void last_one_naps() {
    environment();
    Qemu qemu;
    RingGuest first(3);
    GuestContext second(4, 40);
    second.start();
    pid_t worker = first.plain().worker();
    expect(first.echo("x") == "x", "a call");
    poll(nullptr, 0, 20); // past what it spins and yields
    double alone = used_by(worker);
    expect(first.echo("x") == "x" && second.ask(FakeCall::echo, "y") == "y", "another context's call");
    poll(nullptr, 0, 20);
    double beside = used_by(worker);
    std::printf("    %.6f s as the last one, %.6f s when another one was\n", alone, beside);
    expect(alone > 0.005, "the worker that was the last at work takes naps");
    expect(beside < 0.003, "another one sleeps");
}

// Its naps are for pauses in steady work: a guest that has little to do, for ever, does not keep it in them.
void rare_commands_cost_little() {
    environment();
    Qemu qemu;
    RingGuest guest(3);
    pid_t worker = guest.plain().worker();
    double begin = seconds_of(worker);
    for (int i = 0; i < 24; ++i) {
        expect(guest.echo("x") == "x", "a call");
        poll(nullptr, 0, 200);
    }
    double used = seconds_of(worker) - begin;
    std::printf("    %.6f s for 24 commands in 4.8 s\n", used);
    expect(begin >= 0 && used < 0.65, "naps of 0.28 s, those that 24 commands earn, and the commands");
}

// Two processors at most for this process and all that it starts.
class TwoProcessors {
  public:
    TwoProcessors() {
        CPU_ZERO(&all_);
        sched_getaffinity(0, sizeof all_, &all_);
        cpu_set_t two = all_;
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) > 2; ++cpu) CPU_CLR(static_cast<size_t>(cpu), &two);
        sched_setaffinity(0, sizeof two, &two);
    }
    ~TwoProcessors() { sched_setaffinity(0, sizeof all_, &all_); }

  private:
    cpu_set_t all_;
};

// On two processors nobody looks all the time for the next of some commands that take long, whether or not somebody else wants the processor.
void naps_between_long_commands() {
    const TwoProcessors processors;
    environment();
    Qemu qemu;
    RingGuest guest(3);
    const pid_t worker = guest.plain().worker();
    double idle = 0;
    double used = 0;
    for (int i = 0; i < 60; ++i) {
        expect(guest.push(FakeCall::nap, "2") == Push::done && guest.wait(), "a command of two milliseconds");
        const double used_before = seconds_of(worker);
        const uint64_t before = monotonic_ns();
        poll(nullptr, 0, 2);
        if (i < 20) continue; // it has yet to find out what they take
        used += seconds_of(worker) - used_before;
        idle += static_cast<double>(monotonic_ns() - before) * 1e-9;
    }
    std::printf("    %.6f s used in %.6f s between them\n", used, idle);
    expect(idle > 0 && used < 0.7 * idle, "the worker leaves its processor to others between two commands");
}

// On two processors, both of which the guest copies with, nobody looks for the next piece of a large transfer.
void sleeps_between_large_pieces() {
    const TwoProcessors processors;
    environment();
    Qemu qemu;
    RingGuest guest(3);
    for (int i = 0; i < 20; ++i) expect(guest.echo("x") == "x", "a call");
    constexpr int pieces = 40;
    const int before = guest.kicks;
    for (int i = 0; i < pieces; ++i) {
        expect(guest.push(FakeCall::set_tensor, "a piece") == Push::done && guest.wait(), "a piece");
        poll(nullptr, 0, 4); // longer than its long naps go on; by the ordinary rule it would still take naps then
    }
    std::printf("    %d doorbells for %d pieces\n", guest.kicks - before, pieces);
    expect(guest.kicks - before >= pieces / 2, "the worker slept between two pieces");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"calls", calls},
                      {"refused_offers", refused_offers},
                      {"switched_off", switched_off},
                      {"nonsense", nonsense}, {"rings_after_one_that_was_closed", rings_after_one_that_was_closed},
                      {"worker_dies", worker_dies},
                      {"ring_exchanged_under_a_command", ring_exchanged_under_a_command},
                      {"ring_goes", ring_goes},
                      {"last_one_naps", last_one_naps},
                      {"worker_stalls", worker_stalls, true},
                      {"slow_worker", slow_worker, true},
                      {"idle_costs_nothing", idle_costs_nothing, true},
                      {"rare_commands_cost_little", rare_commands_cost_little, true},
                      {"naps_between_long_commands", naps_between_long_commands},
                      {"sleeps_between_large_pieces", sleeps_between_large_pieces}},
                     count > 1 ? values[1] : nullptr);
}
