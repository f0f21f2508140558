// Calls that are sent now and awaited later: several on their way at once, each with a reply slot of its own.
#include "guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

using Memory = DeviceGetMemoryReply;

// Lets no answer to call 5 out before the gate is open.
struct GatedHost : ScriptedHost {
    GatedHost() {
        script(Call::device_get_memory, [this](Reader &, Writer &writer) {
            std::unique_lock lock(mutex);
            opened.wait(lock, [this] { return open; });
            write(writer, Memory{++asked, 100});
            return ok;
        });
    }
    void release() {
        std::lock_guard lock(mutex);
        open = true;
        opened.notify_all();
    }

    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
    uint64_t asked = 0;
};

uint32_t slot_of(const std::vector<uint8_t> &command) {
    uint32_t resource = 0;
    std::memcpy(&resource, command.data() + 8, sizeof resource);
    return resource;
}

void several_at_once() {
    GatedHost host;
    Bench bench(host);
    Channel &channel = bench.registry->session->channel();
    std::vector<Channel::Pending<Memory>> pending;
    for (int i = 0; i < 3; ++i) pending.push_back(channel.begin<Memory>(Call::device_get_memory, DeviceGetMemoryRequest{}));
    expect(!pending[0].answered() && !pending[2].answered(), "answered behind a closed gate");
    host.release();
    Memory reply;
    for (uint64_t i = 3; i-- > 0;) {
        expect(pending[i].end(reply).ok(), "a pending call");
        expect(reply.free == i + 1, "answers in the order of sending, whatever the order of waiting");
        expect(pending[i].answered(), "a call that has ended");
    }
    std::vector<std::vector<uint8_t>> sent = host.sent(Call::device_get_memory);
    expect(sent.size() == 3 && slot_of(sent[0]) != slot_of(sent[1]) && slot_of(sent[1]) != slot_of(sent[2]), "slots are shared");
}

void dropped_calls_keep_their_slot() {
    GatedHost host;
    Bench bench(host);
    Channel &channel = bench.registry->session->channel();
    channel.begin<Memory>(Call::device_get_memory, DeviceGetMemoryRequest{});
    host.release();
    Memory reply;
    for (int i = 0; i < 3; ++i) expect(channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), "a later call");
    std::vector<std::vector<uint8_t>> sent = host.sent(Call::device_get_memory);
    for (size_t i = 1; i < sent.size(); ++i) expect(slot_of(sent[i]) != slot_of(sent[0]), "a slot that the host may still write to");
}

void a_lost_device_ends_them() {
    GatedHost host;
    Bench bench(host);
    Channel &channel = bench.registry->session->channel();
    auto pending = channel.begin<Memory>(Call::device_get_memory, DeviceGetMemoryRequest{});
    channel.lose("the test says so");
    auto late = channel.begin<Memory>(Call::device_get_memory, DeviceGetMemoryRequest{});
    Memory reply;
    expect(late.answered() && late.end(reply).outcome == Outcome::lost, "a call on a lost device");
    expect(pending.end(reply).outcome == Outcome::lost, "a call that was pending when the device was lost");
    host.release();
    // The page that it still answers in goes with the session.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

} // namespace

int main() {
    several_at_once();
    dropped_calls_keep_their_slot();
    a_lost_device_ends_them();
    return failures();
}
