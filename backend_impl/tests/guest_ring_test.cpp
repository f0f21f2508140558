// The command ring at the guest: used when both sides have it, and against hosts that refuse it, stop, die or lie.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "guest_bench.hpp"
#include "wire/ring.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

// A scripted host that has rings: a thread of it takes commands out of one.
class RingHost : public ScriptedHost {
  public:
    RingHost() {
        script(Call::negotiate, [this](Reader &reader, Writer &writer) {
            NegotiateRequest request;
            read(reader, request);
            offered = request.offered;
            write(writer, NegotiateReply{accepted & request.offered});
            return ok;
        });
        script(Call::ring_create, [this](Reader &reader, Writer &) {
            RingCreateRequest offer;
            read(reader, offer);
            if (refuses) return static_cast<uint32_t>(ReturnCode::call_failed);
            shape_ = {offer.slots, offer.slot_size};
            expect(shape_.valid() && shape_.bytes() <= size_of_.at(offer.resource), "a ring that does not fit its resource");
            memory_ = memory_of_.at(offer.resource);
            say(RingState::open);
            thread_ = std::thread([this] { serve(); });
            return ok;
        });
    }
    ~RingHost() override { stop(); }

    void on_blob(uint32_t resource, const Blob &blob) override {
        memory_of_[resource] = blob.memory;
        size_of_[resource] = blob.size;
        ScriptedHost::on_blob(resource, blob);
    }
    void on_blob_closed(uint32_t resource) override {
        if (memory_of_.at(resource) == memory_) stop();
        ScriptedHost::on_blob_closed(resource);
    }
    void on_command(const std::vector<uint8_t> &command) override {
        CommandHeader header;
        Reader reader(command.data(), command.size());
        read(reader, header);
        if (header.flags == static_cast<uint32_t>(Call::ring_kick)) {
            expect(header.reply_resource == 0, "the doorbell wants a reply");
            ++kicks;
            return;
        }
        ++submitted;
        ScriptedHost::on_command(command);
    }
    // The end of the worker, as the component tells of it.
    void say(RingState state) { __atomic_store_n(&places().state(), static_cast<uint32_t>(state), __ATOMIC_RELEASE); }
    void stop() {
        ends_ = true;
        if (thread_.joinable()) thread_.join();
    }
    RingPlaces places() { return {memory_, shape_}; }

    uint64_t accepted = static_cast<uint64_t>(Extension::ring);
    std::atomic<uint64_t> offered{0};
    std::atomic<int> submitted{0}, taken{0}, kicks{0};
    bool refuses = false;
    std::atomic<bool> takes{true};
    std::atomic<bool> sleeps{false};

  private:
    void serve() {
        RingConsumer consumer(memory_, shape_);
        std::vector<uint8_t> bytes(shape_.capacity());
        size_t size = 0;
        while (!ends_) {
            if (sleeps) {
                int heard = kicks;
                consumer.announce_sleep();
                if (consumer.may_sleep())
                    while (kicks == heard && !ends_) std::this_thread::yield();
                consumer.awake();
            }
            if (!takes || consumer.take(bytes.data(), size) != Take::taken) {
                std::this_thread::yield();
                continue;
            }
            ++taken;
            ScriptedHost::on_command({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
        }
    }

    std::map<uint32_t, uint8_t *> memory_of_;
    std::map<uint32_t, size_t> size_of_;
    uint8_t *memory_ = nullptr; // of the ring
    RingShape shape_;
    std::thread thread_;
    std::atomic<bool> ends_{false};
};

bool ask(Registry &registry) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(registry.device(), &free_bytes, &total_bytes);
    return total_bytes != 0;
}

void test_calls_go_through_the_ring() {
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(registry->session().has(Extension::ring), "the ring is negotiated");
    expect(!registry->session().write_behind().leaves(), "writes are awaited");
    int before = host.submitted;
    int taken = host.taken;
    for (int i = 0; i < 300; ++i) expect(ask(*registry), "a call");
    expect(host.submitted == before && host.taken == taken + 300, "calls go through the ring alone");
}

void test_doorbell() {
    RingHost host;
    host.sleeps = true;
    std::unique_ptr<Registry> registry = set_up(host);
    for (int i = 0; i < 200; ++i) expect(ask(*registry), "a call to a host that sleeps");
    expect(host.kicks > 0, "it is woken");
}

// Some doorbells cannot be rung: there is no memory for the submission, say, or none to tell of that.
struct Jammed : FakeDevice {
    using FakeDevice::FakeDevice;

    Status submit(const void *command, size_t size) override {
        Reader reader(command, size);
        CommandHeader header;
        const bool kick = read(reader, header) && header.flags == static_cast<uint32_t>(Call::ring_kick);
        if (!kick || failing-- <= 0) return FakeDevice::submit(command, size);
        if (throws) throw std::bad_alloc();
        return Status::failure("no memory for it");
    }

    static inline std::atomic<int> failing{0};
    static inline std::atomic<bool> throws{false};
};

// Its caller rings again while he waits, and no deadline is there to end it: by itself, through a pipe, and when the ring is full.
void test_failed_doorbell() {
    RingHost host;
    host.accepted |= static_cast<uint64_t>(Extension::liveness) | static_cast<uint64_t>(Extension::pipes);
    host.script(Call::graph_run, [](Reader &, Writer &writer) {
        write(writer, GraphRunReply{true, 0});
        return ScriptedHost::ok;
    });
    std::atomic<bool> piped{false};
    host.script(Call::pipe_get_tensor, [&piped](Reader &, Writer &) {
        piped = true;
        return static_cast<uint32_t>(ReturnCode::call_failed);
    });
    Jammed::failing = 0;
    std::unique_ptr<Registry> registry = make_registry(std::make_unique<Jammed>(DevicePlan{}, host));
    Channel &channel = registry->session().channel();
    host.sleeps = true;
    const auto asleep = [&host] { return __atomic_load_n(&host.places().asleep(), __ATOMIC_SEQ_CST) != 0; };
    // Whether it is over soon; else the process is ended, for nothing would end it.
    const auto ends = [&](const char *what, const std::function<void()> &call) {
        while (!asleep()) std::this_thread::yield();
        CapturedLog log;
        Jammed::failing = 3;
        std::atomic<bool> over{false};
        std::thread caller([&] {
            guarded(what, 0, [&] {
                call();
                return 0;
            });
            over = true;
        });
        const auto until = Clock::now() + 5s;
        while (!over && Clock::now() < until) std::this_thread::sleep_for(1ms);
        expect(over, std::string(what) + " that the host was not woken for");
        expect(Jammed::failing <= 0, std::string(what) + ": doorbells failed");
        if (!over || Jammed::failing > 0) std::_Exit(1);
        caller.join();
        const std::string text = log.text();
        const size_t first = text.find("cannot be woken");
        expect(first != std::string::npos && text.find("cannot be woken", first + 1) == std::string::npos, "that is told once: " + text);
    };
    for (const bool throws : {true, false}) {
        Jammed::throws = throws;
        ends(throws ? "a graph, without memory for the failure," : "a graph", [&] {
            CallTraits traits;
            traits.patience = Patience::graph;
            GraphRunReply reply;
            expect(channel.call(Call::graph_run, GraphRunRequest{1}, reply, traits).ok(), "the graph");
        });
    }
    Buffer buffer{ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(registry->device()), 4 << 20), ggml_backend_buffer_free};
    Context memory = context();
    ggml_tensor *tensor = ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 4 << 20);
    ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    ends("a pipe", [&] {
        std::vector<uint8_t> bytes(4 << 20);
        ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
    });
    expect(piped, "it was a pipe");
    std::vector<Channel::Pending<DeviceGetMemoryReply>> pending;
    ends("a full ring", [&] {
        for (uint64_t slot = 0; slot <= host.places().shape().slots; ++slot) {
            Jammed::failing = slot == host.places().shape().slots ? 3 : 1000;
            pending.push_back(channel.begin<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{}));
        }
    });
    DeviceGetMemoryReply reply;
    for (auto &each : pending) expect(each.end(reply).ok(), "a call of a full ring");
}

void test_threads() {
    RingHost host;
    host.sleeps = true;
    std::unique_ptr<Registry> registry = set_up(host);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int round = 0; round < 300; ++round) expect(ask(*registry), "a call of one of four threads");
        });
    for (std::thread &thread : threads) thread.join();
}

// Without the extension, switched off, or refused: all goes by EXECBUFFER, and silently but for the refusal.
void test_fallbacks() {
    for (int way = 0; way < 3; ++way) {
        RingHost host;
        std::unique_ptr<Variable> off;
        if (way == 0) host.refuse(Call::negotiate, static_cast<uint32_t>(ReturnCode::unknown_call));
        if (way == 1) off = std::make_unique<Variable>("GGML_VIRTGPU_RING", "off");
        if (way == 2) host.refuses = true;
        CapturedLog log;
        std::unique_ptr<Registry> registry = set_up(host);
        int before = host.submitted;
        expect(ask(*registry), "a call without a ring");
        expect(host.submitted == before + 1 && host.taken == 0, "it goes by EXECBUFFER");
        expect(way == 2 ? log.has("no command ring: the host refused it with code 5") : log.text().empty(), "what is said: " + log.text());
        if (way == 1) expect((host.offered & static_cast<uint64_t>(Extension::ring)) == 0, "what is switched off is not offered");
        if (way == 2) expect(host.open_blobs() == 2, "the refused ring's blob is closed");
        expect(!registry->session().has(Extension::ring), "what is not used is not there");
        expect(registry->session().write_behind().leaves(), "and writes are not awaited");
    }
}

// It may come to it yet.
void test_memory_of_a_ring_without_an_answer() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "400");
    RingHost host;
    host.silence(Call::ring_create);
    CapturedLog log;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(ask(*registry) && host.taken == 0 && host.open_blobs() == 4, "its blob stays, beside those of two replies, one of them lost, and of data");
}

// A host that takes nothing any more: calls run into their deadline, then the ring is full and says so.
void test_full_ring() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "400");
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    host.takes = false;
    CapturedLog log;
    std::vector<std::thread> threads;
    std::atomic<int> answered{0};
    for (int i = 0; i < 40; ++i) threads.emplace_back([&] { answered += ask(*registry) ? 1 : 0; });
    for (std::thread &thread : threads) thread.join();
    expect(answered == 0, "a host that takes nothing answers");
    expect(log.has("the command ring is full and the host takes nothing from it"), "a full ring: " + log.text());
    expect(log.has("device lost"), "and the device is lost");
}

using Pending = Channel::Pending<DeviceGetMemoryReply>;

// As many calls as there is room for in the ring of a host that takes none.
std::vector<Pending> full_ring(RingHost &host, Registry &registry) {
    std::vector<Pending> pending;
    for (uint64_t slot = 0; slot < host.places().shape().slots; ++slot)
        pending.push_back(registry.session().channel().begin<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{}));
    return pending;
}

void expect_answers(std::vector<Pending> &pending) {
    DeviceGetMemoryReply reply;
    for (Pending &each : pending) expect(each.end(reply).ok(), "a call that found room");
}

class BatchingHost : public RingHost {
  public:
    BatchingHost() {
        accepted |= static_cast<uint64_t>(Extension::batch);
        script(Call::batch, [this](Reader &reader, Writer &writer) {
            BatchRequest batch;
            read(reader, batch);
            calls += batch.count;
            write(writer, DeviceGetMemoryReply{1, 2});
            return ok;
        });
    }

    std::atomic<uint32_t> calls{0}; // in batches
};

// What was left to go along with a call that could not be sent goes along with the next one.
void test_deferred_calls_of_a_full_ring() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    for (bool many : {false, true}) {
        BatchingHost host;
        std::unique_ptr<Registry> registry = set_up(host);
        Channel &channel = registry->session().channel();
        host.takes = false;
        std::vector<Pending> pending = full_ring(host, *registry);
        CapturedLog log;
        uint32_t left = 0;
        const uint32_t most = many ? 1000 : 1;
        while (left < most && channel.defer(Call::buffer_clear, BufferClearRequest{1, 0})) ++left;
        expect(many == (left < most), "more than a command has room for are not taken: " + std::to_string(left));
        expect(!ask(*registry), "a call that cannot be sent");
        host.takes = true;
        expect_answers(pending);
        expect(ask(*registry), "a later call");
        expect(host.calls == left + 1, "with all that was left: " + std::to_string(host.calls) + " of " + std::to_string(left + 1));
    }
}

// A worker that computes takes nothing: a call waits for room as it would for its reply.
void test_full_behind_a_graph() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    RingHost host;
    host.script(Call::graph_run, [](Reader &, Writer &writer) {
        std::this_thread::sleep_for(900ms);
        write(writer, GraphRunReply{true, 0});
        return ScriptedHost::ok;
    });
    std::unique_ptr<Registry> registry = set_up(host);
    CallTraits traits;
    traits.patience = Patience::graph;
    int taken = host.taken;
    auto graph = registry->session().channel().begin<GraphRunReply>(Call::graph_run, GraphRunRequest{1}, traits);
    while (host.taken == taken) std::this_thread::yield();
    std::vector<Pending> pending = full_ring(host, *registry);
    CapturedLog log;
    expect(ask(*registry), "a call that waits for room behind a graph: " + log.text());
    GraphRunReply reply;
    expect(graph.end(reply).ok(), "the graph");
    expect_answers(pending);
}

// Room comes back in time: nobody fails.
void test_full_for_a_while() {
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    host.takes = false;
    std::vector<std::thread> threads;
    std::atomic<int> answered{0};
    for (int i = 0; i < 40; ++i) threads.emplace_back([&] { answered += ask(*registry) ? 1 : 0; });
    std::this_thread::sleep_for(100ms);
    host.takes = true;
    for (std::thread &thread : threads) thread.join();
    expect(answered == 40, "calls that waited for room: " + std::to_string(answered));
}

// While a call waits, the ring is marked: it fails at once, and the device is lost.
void test_death(RingState state, const char *text) {
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    host.silence(Call::device_get_memory);
    CapturedLog log;
    std::atomic<bool> failed{false};
    int before = host.taken;
    std::thread caller([&] { failed = !ask(*registry); });
    while (host.taken == before && !failed) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    expect(!failed, "a call waits for its reply");
    auto start = Clock::now();
    host.say(state);
    caller.join();
    expect(failed && Clock::now() - start < 500ms, "who waits is free at once");
    expect(log.has(text) && log.has("device lost"), log.text());
    start = Clock::now();
    expect(!ask(*registry) && Clock::now() - start < 100ms, "and later calls fail at once");
}

// Whoever awaits a reply, however long that may take, is told when somebody finds the device lost, though the ring is open.
void test_a_lost_device_ends_what_is_awaited() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "600000");
    RingHost host;
    std::atomic<bool> over{false};
    bool guest_was_first = false;
    {
        std::unique_ptr<Registry> registry = set_up(host);
        host.script(Call::device_get_memory, [&](Reader &, Writer &) {
            registry->session().channel().lose("the test says so");
            for (int i = 0; i < 1000 && !over; ++i) std::this_thread::sleep_for(10ms);
            guest_was_first = over;
            return ScriptedHost::ok;
        });
        expect(!ask(*registry), "a call that is under way");
        over = true;
    }
    expect(guest_was_first, "the guest waits for the reply of a lost device");
}

// The same for a thread that waits for room.
void test_death_of_a_full_ring() {
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    host.takes = false;
    CapturedLog log;
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; ++i) threads.emplace_back([&] { expect(!ask(*registry), "a call of a dead host"); });
    std::this_thread::sleep_for(100ms);
    auto start = Clock::now();
    host.say(RingState::dead);
    for (std::thread &thread : threads) thread.join();
    expect(Clock::now() - start < 1s, "all are free at once");
}

// The same for a thread that waits for a data slot, which nobody else may look at the ring for.
void test_death_while_a_data_slot_is_awaited() {
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "6000"); // as good as none
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "6000");
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    Session &session = registry->session();
    std::vector<BlobPool::Lease> all;
    while (BlobPool::Lease slot = session.data_slots().take(Clock::now())) all.push_back(std::move(slot));
    CapturedLog log;
    std::thread waiter([&] { expect(!session.data_slot_in_time(1), "a data slot of a dead host"); });
    std::this_thread::sleep_for(100ms);
    const auto start = Clock::now();
    host.say(RingState::dead);
    waiter.join();
    expect(Clock::now() - start < 2s && log.has("device lost"), "who waits for a data slot is free at once: " + log.text());
}

// A reply that came before the end counts.
void test_reply_before_death() {
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    host.script(Call::device_get_memory, [&](Reader &, Writer &writer) {
        host.say(RingState::dead);
        write(writer, DeviceGetMemoryReply{1, 2});
        return ScriptedHost::ok;
    });
    CapturedLog log;
    ask(*registry); // either way, and no longer than that
    expect(!ask(*registry), "nothing after it");
}

// What a forked process does in the memory that it shares with its parent, the ring's and a buffer's: nothing.
void test_fork() {
    RingHost host;
    host.takes_pointers = true;
    std::unique_ptr<Registry> registry = set_up(host);
    Context memory = context();
    ggml_tensor *tensor = ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 4);
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(registry->device());
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, 4096);
    ggml_backend_t backend = ggml_backend_dev_init(registry->device(), nullptr);
    ggml_backend_tensor_alloc(buffer, tensor, ggml_backend_buffer_get_base(buffer));
    const std::vector<uint8_t> bytes{1, 2, 3, 4};
    ggml_backend_tensor_set(tensor, bytes.data(), 0, 4);
    int taken = host.taken;
    pid_t child = fork();
    if (child == 0) {
        CapturedLog log;
        ggml_backend_tensor_memset(tensor, 9, 0, 2);
        ggml_backend_tensor_set(tensor, "9", 2, 1);
        const bool told = log.has("this process was forked");
        const bool asked = ask(*registry);
        const bool made = ggml_backend_buft_alloc_buffer(type, 4096) != nullptr;
        ggml_backend_buffer_free(buffer);
        ggml_backend_free(backend);
        _exit(asked || made || !told ? 1 : 0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child, "the forked process ends");
    expect(status == 0, "a forked process has no device: " + std::to_string(status));
    expect(host.taken == taken, "it sends nothing");
    expect(host.held(1, 0, 4) == bytes, "and writes nothing");
    expect(ask(*registry), "its parent goes on");
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
}

void test_nonsense_from_the_host() {
    RingHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(ask(*registry), "a call");
    host.stop();
    for (uint64_t slot = 0; slot < host.places().shape().slots; ++slot) __atomic_store_n(&host.places().turn(slot), UINT64_MAX, __ATOMIC_RELEASE);
    CapturedLog log;
    auto start = Clock::now();
    expect(!ask(*registry) && Clock::now() - start < 500ms, "a call through a ring of nonsense");
    expect(log.has("the host has written nonsense into the command ring"), log.text());
}

} // namespace

int main() {
    test_calls_go_through_the_ring();
    test_doorbell();
    test_failed_doorbell();
    test_threads();
    test_fallbacks();
    test_memory_of_a_ring_without_an_answer();
    test_full_ring();
    test_deferred_calls_of_a_full_ring();
    test_full_behind_a_graph();
    test_full_for_a_while();
    test_death(RingState::dead, "the host's worker process has ended");
    test_death(RingState::closed, "the host has closed the command ring");
    test_a_lost_device_ends_what_is_awaited();
    test_death_of_a_full_ring();
    test_death_while_a_data_slot_is_awaited();
    test_reply_before_death();
    test_fork();
    test_nonsense_from_the_host();
    return failures();
}
