// What a channel makes of its transport's answers, what the transports say of the worker, and how that one is woken.
#include "guest_fake.hpp"
#include <thread>

#include "guest/execbuffer_transport.hpp"
#include "guest/ring_transport.hpp"
#include "wire/ring.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

// Blobs only: nobody is behind it.
class NoHost : public FakeHost {
  public:
    void on_command(const std::vector<uint8_t> &) override {}
    void on_blob(uint32_t, const Blob &blob) override { last = blob; }

    Blob last;
};

// Answers whatever is awaited, with an empty reply.
class AnsweringTransport : public Transport {
  public:
    Status submit(const uint8_t *, size_t, const Deadline &, OtherSide &other) override {
        if (deaf) return Status::failure("no memory for a submission");
        other = submitted++ == 0 ? OtherSide::asleep : OtherSide::awake;
        return {};
    }
    uint32_t await(const std::atomic<uint32_t> &notify, const Deadline &, Pace &, OtherSide other,
                   const std::atomic<bool> &) override {
        awaited.push_back(other);
        answer(notify);
        return ends ? 0 : notify.load();
    }
    const char *gone() const override { return ended || (ends && !awaited.empty()) ? "the worker has ended" : nullptr; }

    bool ends = false; // behind its first reply, before anybody has seen that
    bool ended = false;
    bool deaf = false; // carries nothing
    bool nonsense = false; // in what is answered
    ReturnCode code = ReturnCode::ok;
    int submitted = 0;
    std::vector<OtherSide> awaited;

  private:
    void answer(const std::atomic<uint32_t> &notify) const {
        auto &word = const_cast<std::atomic<uint32_t> &>(notify);
        if (nonsense) std::memset(reinterpret_cast<uint8_t *>(&word) + sizeof word, 0xff, 64);
        word.store(1 + static_cast<uint32_t>(code), std::memory_order_release);
    }
};

// A channel by itself.
struct Line {
    explicit Line(std::chrono::milliseconds most = std::chrono::seconds(1)) : ordinary(most) {}
    Channel::Pending<DeviceGetMemoryReply> begin() {
        return channel.begin<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{});
    }
    Channel::Pending<GraphRunReply> begin_long(Patience patience) {
        CallTraits traits;
        traits.patience = patience;
        return channel.begin<GraphRunReply>(Call::graph_run, GraphRunRequest{1}, traits);
    }
    // Goes along with the next one.
    void write() { expect(channel.defer(Call::buffer_clear, BufferClearRequest{1, 2}), "a write that waits for the next call"); }

    const std::chrono::milliseconds ordinary;
    NoHost host;
    FakeDevice device{DevicePlan{}, host};
    BlobPool reply_slots{device, reply_page_size, reply_page_size, 4};
    CallLog call_log;
    AnsweringTransport transport;
    Channel channel{transport, reply_slots, call_log, {ordinary, std::chrono::hours(1)}, false};
    DeviceGetMemoryReply reply;
};

// Whoever awaits its reply first.
void each_call_knows_whether_the_worker_slept() {
    Line line;
    auto first = line.begin();
    auto second = line.begin();
    expect(second.end(line.reply).ok() && first.end(line.reply).ok(), "two calls");
    expect(line.transport.awaited == std::vector<OtherSide>{OtherSide::awake, OtherSide::asleep}, "the first one woke the worker");
}

void the_ring_tells_whether_the_worker_slept() {
    NoHost host;
    FakeDevice device(DevicePlan{}, host);
    std::string error;
    std::unique_ptr<RingTransport> ring = RingTransport::lay_out(device, 0, error);
    expect(ring != nullptr, error);
    RingConsumer consumer(host.last.memory, {ring->offer().slots, ring->offer().slot_size});
    const uint8_t command[12] = {};
    const Deadline until(Clock::now() + std::chrono::seconds(1));
    consumer.say(RingState::open);
    consumer.announce_sleep();
    for (OtherSide expected : {OtherSide::asleep, OtherSide::awake}) {
        OtherSide other = OtherSide::carried;
        expect(ring->submit(command, sizeof command, until, other).ok() && other == expected, "the first one wakes it");
        consumer.awake();
    }
}

void a_ring_without_room() {
    NoHost host;
    DevicePlan plan;
    plan.window = 4096;
    FakeDevice device(plan, host);
    std::string error;
    expect(RingTransport::lay_out(device, 0, error) == nullptr && !error.empty(), "laid out where there is no memory");
}

// By the time since the last reply: nobody can look whether it sleeps.
void execbuffer_tells_whether_the_worker_may_sleep() {
    NoHost host;
    FakeDevice device(DevicePlan{}, host);
    Blob blob;
    std::string error;
    expect(device.open("/fake/renderD128").ok() && device.create_blob(4096, blob).ok(), "a device");
    ExecbufferTransport execbuffer(device);
    const uint8_t command[12] = {};
    const Deadline until(Clock::now() + std::chrono::seconds(10));
    const std::atomic<uint32_t> reply{1};
    const std::atomic<bool> given_up{false};
    Pace pace;
    auto called = [&] {
        OtherSide other = OtherSide::awake;
        expect(execbuffer.submit(command, sizeof command, until, other).ok(), "a command");
        expect(execbuffer.await(reply, until, pace, other, given_up) == 1, "a reply");
        return other;
    };
    for (int round = 0; round < 2; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        expect(called() == OtherSide::carried_asleep, "who has had no reply for a while may find it asleep");
        bool awake = false;
        // The test itself may be kept waiting between two calls.
        for (int tries = 0; tries < 1000 && !awake; ++tries) awake = called() == OtherSide::carried;
        expect(awake, "who has just had one finds it awake");
    }
}

// Fails to carry a command for as long as it is told to.
class DeafDevice : public FakeDevice {
  public:
    using FakeDevice::FakeDevice;
    Status submit(const void *command, size_t size) override {
        if (deaf) return Status::failure("no memory for a submission");
        ++carried;
        return FakeDevice::submit(command, size);
    }

    bool deaf = true;
    int carried = 0;
};

// A worker that nobody could wake is woken by the next one who comes, even if that one finds no room for a command.
void a_doorbell_that_fails_is_rung_again() {
    for (bool full : {false, true}) {
        NoHost host;
        DeafDevice device(DevicePlan{}, host);
        std::string error;
        std::unique_ptr<RingTransport> ring = RingTransport::lay_out(device, 0, error);
        expect(ring != nullptr, error);
        const RingCreateRequest shape = ring->offer();
        RingConsumer consumer(host.last.memory, {shape.slots, shape.slot_size});
        consumer.say(RingState::open);
        consumer.announce_sleep();
        CapturedLog log;
        const uint8_t command[12] = {};
        OtherSide other = OtherSide::carried;
        auto submits = [&] { return ring->submit(command, sizeof command, Clock::now() + std::chrono::milliseconds(20), other).ok(); };
        for (uint32_t left = full ? shape.slots : 1; left > 0; --left) expect(submits(), "a command is on its way without the doorbell");
        expect(device.carried == 0 && log.has("the host's worker cannot be woken: no memory for a submission"), "a doorbell that fails: " + log.text());
        device.deaf = false;
        expect(submits() != full && device.carried == 1, std::string("the next one rings, the ring ") + (full ? "full" : "with room"));
    }
}

void the_last_reply_counts() {
    Line line;
    line.transport.ends = true;
    CapturedLog log;
    auto call = line.begin();
    expect(call.end(line.reply).ok(), "a reply that came before the end: " + log.text());
    expect(line.channel.lost() && !line.begin().sent(), "and nothing after it");
}

// Of those that others have and will never give back.
void nobody_waits_for_a_slot_of_a_lost_device() {
    Line line;
    std::vector<BlobPool::Lease> all;
    for (size_t i = 0; i < line.reply_slots.limit(); ++i) all.push_back(line.reply_slots.take(Clock::now()));
    int looks = 0;
    line.channel.relieve_by([&] {
        line.transport.ended = true;
        if (++looks > 1) all.clear(); // that the test goes on
    });
    CapturedLog log;
    expect(!line.channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, line.reply).ok() && looks == 1, "who waits sees its end");
}

// Neither for a graph that the host has never got.
void what_has_no_more_time() {
    Line line(std::chrono::milliseconds(1));
    line.transport.deaf = true;
    CapturedLog log;
    expect(!line.begin_long(Patience::graph).sent(), "a graph that is not carried");
    Deadline until(Clock::now());
    line.transport.deaf = false;
    auto behind = line.begin();
    while (Clock::now() < until.moment() + 2 * line.ordinary) {} // as long as any call has
    expect(!behind.has_more_time(Clock::now(), until), "a call behind it");
    auto transfer = line.begin_long(Patience::pipe);
    expect(transfer.has_more_time(Clock::now(), until), "a transfer");
    transfer.hurry();
    expect(!transfer.has_more_time(Clock::now(), until), "one that is given up");
}

// Whatever becomes of the call that they went along with: they are told of once, and of nothing else.
void writes_that_went_along() {
    CapturedLog log;
    {
        Line line;
        line.write();
        line.begin();
        expect(line.channel.lost_transfers() == 1, "with a call that nobody awaits");
    }
    {
        Line line;
        line.write();
        line.transport.nonsense = true;
        DeviceGetNameReply name;
        const CallResult result = line.channel.call(Call::device_get_name, DeviceGetNameRequest{}, name);
        expect(result.outcome == Outcome::undecodable && line.channel.lost_transfers() == 1, "with one whose reply makes no sense");
    }
    Line line;
    line.write();
    line.transport.deaf = true;
    expect(!line.channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, line.reply).ok(), "a call that is not carried");
    line.transport.deaf = false;
    expect(line.channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, line.reply).ok(), "the next one takes them along");
    line.transport.code = ReturnCode::call_failed;
    expect(!line.channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, line.reply).ok(), "one that is refused");
    line.channel.look_at_carried();
    expect(line.channel.lost_transfers() == 0, "and had none with it");
}

} // namespace

int main() {
    each_call_knows_whether_the_worker_slept();
    the_ring_tells_whether_the_worker_slept();
    a_ring_without_room();
    execbuffer_tells_whether_the_worker_may_sleep();
    a_doorbell_that_fails_is_rung_again();
    the_last_reply_counts();
    nobody_waits_for_a_slot_of_a_lost_device();
    what_has_no_more_time();
    writes_that_went_along();
    return failures();
}
