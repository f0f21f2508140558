// Calls that are sent now and awaited later: several on their way at once, each with a reply slot of its own.
#include "guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

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
    Channel &channel = bench.registry->session().channel();
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
    // Others in their place: one of them has the memory of one that has ended, and it alone.
    pending.clear();
    for (int i = 0; i < 3; ++i) pending.push_back(channel.begin<Memory>(Call::device_get_memory, DeviceGetMemoryRequest{}));
    for (uint64_t i = 0; i < 3; ++i) expect(pending[i].end(reply).ok() && reply.free == 4 + i, "calls that take the place of others");
}

void dropped_calls_keep_their_slot() {
    GatedHost host;
    Bench bench(host);
    Channel &channel = bench.registry->session().channel();
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
    Channel &channel = bench.registry->session().channel();
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

CallTraits as_graph() {
    CallTraits traits;
    traits.patience = Patience::graph;
    return traits;
}

Channel::Pending<GraphRunReply> begin_graph(Channel &channel) {
    return channel.begin<GraphRunReply>(Call::graph_run, GraphRunRequest{1}, as_graph());
}

// Whether a call that the host does not answer ends by itself. One that does not is ended, so that the test can say so.
bool gives_up(Channel &channel) {
    std::atomic<bool> ended{false};
    std::thread caller([&] {
        Memory reply;
        channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply);
        ended = true;
    });
    const Clock::time_point late = Clock::now() + 5s;
    while (!ended && Clock::now() < late) std::this_thread::sleep_for(5ms);
    const bool by_itself = ended;
    if (!by_itself) channel.lose("the test says so");
    caller.join();
    return by_itself;
}

// Nobody awaits the graph: a call behind it ends all the same, when the graph was answered or had its time.
void graphs_that_nobody_awaits() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "100");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "400");
    for (bool answered : {true, false}) {
        ScriptedHost host;
        host.script(Call::graph_run, [](Reader &, Writer &writer) {
            write(writer, GraphRunReply{true, 0});
            return ScriptedHost::ok;
        });
        host.silence(Call::device_get_memory);
        if (!answered) host.silence(Call::graph_run);
        Bench bench(host);
        Channel &channel = bench.registry->session().channel();
        CapturedLog log;
        auto graph = begin_graph(channel);
        expect(gives_up(channel), std::string("a call without a reply behind a graph ") + (answered ? "with one" : "without one"));
        expect(graph.answered() == answered, "the graph's own reply");
        GraphRunReply reply;
        expect(graph.end(reply).ok() == answered, "the graph's own end");
    }
}

// While it computes, a call behind it has time; each of several graphs gets its own.
void calls_wait_for_graphs_that_nobody_awaits() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "150");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "900");
    ScriptedHost host;
    host.script(Call::graph_run, [](Reader &, Writer &writer) {
        std::this_thread::sleep_for(400ms);
        write(writer, GraphRunReply{true, 0});
        return ScriptedHost::ok;
    });
    Bench bench(host);
    Channel &channel = bench.registry->session().channel();
    std::vector<Channel::Pending<GraphRunReply>> graphs;
    for (int i = 0; i < 3; ++i) graphs.push_back(begin_graph(channel));
    Memory reply;
    expect(channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), "a call behind graphs that compute");
    GraphRunReply ran;
    for (auto &graph : graphs) expect(graph.answered() && graph.end(ran).ok(), "a graph before it");
}

// Each graph has its time from when those before it have ended, whoever sent them.
void graphs_behind_graphs() {
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "750");
    ScriptedHost host;
    host.script(Call::graph_run, [](Reader &, Writer &writer) {
        std::this_thread::sleep_for(300ms);
        write(writer, GraphRunReply{true, 0});
        return ScriptedHost::ok;
    });
    Bench bench(host);
    Channel &channel = bench.registry->session().channel();
    std::atomic<int> computed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
            GraphRunReply reply;
            if (channel.call(Call::graph_run, GraphRunRequest{1}, reply, as_graph()).ok()) ++computed;
        });
    }
    for (std::thread &thread : threads) thread.join();
    expect(computed == 6, "of six threads' graphs, " + std::to_string(computed) + " had time enough");
    expect(!channel.lost(), "graphs that waited for others lose the device");
}

// Answers at a moment of the test's choosing.
struct LateTransport : Transport {
    Status submit(const uint8_t *, size_t, const Deadline &, OtherSide &) override { return {}; }
    uint32_t await(const std::atomic<uint32_t> &, const Deadline &until, Pace &, OtherSide,
                   const std::atomic<bool> &given_up) override {
        ++waits;
        const uint32_t answered = 1 + static_cast<uint32_t>(ReturnCode::ok);
        while (Clock::now() < until.moment() && !given_up) {
            if (Clock::now() >= answers_at) return answered;
            std::this_thread::sleep_for(1ms);
        }
        return 0;
    }

    Clock::time_point answers_at{};
    std::atomic<int> waits{0};
};

// A long wait is one: whoever begins anew spins anew, and loses its place among those who wait.
void a_long_wait_is_one() {
    ScriptedHost host;
    LateTransport transport;
    Bench bench(host);
    Channel &channel = bench.registry->session().channel();
    channel.use(transport);
    transport.answers_at = Clock::now() + 700ms;
    GraphRunReply reply;
    expect(channel.call(Call::graph_run, GraphRunRequest{1}, reply, as_graph()).ok(), "a graph that is answered late");
    expect(transport.waits == 1, "a long wait in " + std::to_string(transport.waits) + " pieces");

    // It ends soon all the same when another thread finds the device lost.
    transport.answers_at = Clock::time_point::max();
    std::thread other([&] {
        while (transport.waits == 1) std::this_thread::yield();
        channel.lose("the test says so");
    });
    const Clock::time_point start = Clock::now();
    expect(channel.call(Call::graph_run, GraphRunRequest{1}, reply, as_graph()).outcome == Outcome::lost, "a graph of a lost device");
    expect(Clock::now() - start < 5s, "a lost device is waited for");
    other.join();
}

// What nobody answered says nothing of how long answers take.
void only_answers_teach_the_pace() {
    Pace pace;
    const Clock::duration before = pace.expected();
    std::atomic<uint32_t> word{0};
    expect(await_word(word, Deadline(Clock::duration(50ms)), pace, [] { return false; }) == 0, "a word that nobody writes");
    expect(pace.expected() == before, "a wait in vain is taken for an answer");
    std::thread writer([&] {
        std::this_thread::sleep_for(50ms);
        word = 1;
    });
    expect(await_word(word, Deadline(Clock::duration(5s)), pace, [] { return false; }) == 1, "a word that is written");
    writer.join();
    expect(pace.expected() > before, "an answer teaches nothing");
}

// Opened once.
struct Gate {
    void open() {
        std::lock_guard lock(mutex);
        is_open = true;
        opened.notify_all();
    }
    void pass() {
        std::unique_lock lock(mutex);
        opened.wait(lock, [this] { return is_open; });
    }

    std::mutex mutex;
    std::condition_variable opened;
    bool is_open = false;
};

bool within(Clock::duration patience, const std::atomic<bool> &what) {
    const Clock::time_point until = Clock::now() + patience;
    while (!what && Clock::now() < until) std::this_thread::sleep_for(1ms);
    return what;
}

struct MadeUp : CallAhead {
    bool answered() const override { return is_answered(); }
    bool end() override { return ends(); }

    std::function<bool()> ends;
    std::function<bool()> is_answered;
};

InFlight::Call call_of(std::function<bool()> end, std::function<bool()> answered = [] { return true; }) {
    auto call = std::make_unique<MadeUp>();
    call->ends = std::move(end);
    call->is_answered = std::move(answered);
    return call;
}

// An event waits for what was sent before it, not for what another thread waits for behind it.
void events_wait_for_their_own_calls() {
    std::atomic<size_t> all{0};
    InFlight calls(all);
    Gate first;
    Gate second;
    std::atomic<bool> begun{false};
    calls.add(call_of([&] {
        begun = true;
        first.pass();
        return true;
    }));
    const uint64_t place = calls.last();
    calls.add(call_of([&] {
        second.pass();
        return true;
    }));
    std::thread synchronizes([&] { calls.await_all(); });
    expect(within(5s, begun), "somebody waits for all");
    std::atomic<bool> over{false};
    std::thread waits([&] {
        calls.await(place);
        over = true;
    });
    expect(!within(50ms, over), "an event that is not over");
    first.open();
    expect(within(1s, over), "an event whose calls have ended waits for those behind it");
    std::atomic<bool> still_over{false};
    std::thread waits_again([&] {
        calls.await(place);
        still_over = true;
    });
    expect(within(1s, still_over), "an event that is over waits for what its stream sent later");
    second.open();
    for (std::thread *thread : {&synchronizes, &waits, &waits_again}) thread->join();
    expect(all == 0 && !calls.failed(), "all calls have ended well");
}

// Somebody who waits sees to the end of a call that threw, as to one that failed.
void calls_that_throw() {
    std::atomic<size_t> all{0};
    InFlight calls(all);
    CapturedLog log;
    calls.add(call_of([]() -> bool { throw std::bad_alloc(); }));
    calls.add(call_of([] { return true; }));
    try {
        calls.await_all();
        expect(false, "what a call throws is kept quiet");
    } catch (const std::bad_alloc &) {
        calls.await_all();
    }
    expect(all == 0 && calls.take_failure(), "a call that threw has ended, and failed");
}

// Who needs what they hold waits for no reply, and not for who ends one.
void answered_calls_are_ended() {
    std::atomic<size_t> all{0};
    InFlight calls(all);
    bool second_is = false;
    std::string ended;
    calls.add(call_of([&] { return !(ended += '1').empty(); }));
    calls.add(call_of([&] { return !(ended += '2').empty(); }, [&] { return second_is; }));
    calls.add(call_of([&] { return !(ended += '3').empty(); }));
    calls.end_answered();
    expect(ended == "1" && all == 2, "up to the first one that is not answered: " + ended);
    second_is = true;
    calls.end_answered();
    expect(ended == "123" && all == 0, "then the others: " + ended);
    Gate gate;
    std::atomic<bool> begun{false};
    calls.add(call_of([&] {
        begun = true;
        gate.pass();
        return true;
    }));
    calls.add(call_of([] { return true; }));
    std::thread synchronizes([&] { calls.await_all(); });
    expect(within(5s, begun), "somebody ends one");
    calls.end_answered();
    expect(all == 2, "that is his, and comes before the other");
    gate.open();
    synchronizes.join();
}

} // namespace

int main() {
    several_at_once();
    dropped_calls_keep_their_slot();
    a_lost_device_ends_them();
    graphs_that_nobody_awaits();
    calls_wait_for_graphs_that_nobody_awaits();
    graphs_behind_graphs();
    a_long_wait_is_one();
    only_answers_teach_the_pace();
    events_wait_for_their_own_calls();
    calls_that_throw();
    answered_calls_are_ended();
    return failures();
}
