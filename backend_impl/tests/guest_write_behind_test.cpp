// Writes whose last command nobody awaits: when tensor_set returns, what follows it, and what becomes of one that fails.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/data_pipe.hpp"
#include "guest_bench.hpp"
#include "pipe.hpp"
#include "sent_bytes.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

constexpr size_t size = 4096;
constexpr auto failed = static_cast<uint32_t>(ReturnCode::call_failed);

// At each tensor write, and each command of several calls, it waits until the gate is open, and then does it, or says that it has failed.
struct GatedHost : ScriptedHost {
    explicit GatedHost(uint64_t extensions = 0) {
        script(Call::negotiate, [extensions](Reader &, Writer &writer) {
            write(writer, NegotiateReply{extensions});
            return ok;
        });
    }

    static uint32_t runs(Reader &, Writer &writer) {
        write(writer, GraphRunReply{true, 0});
        return ok;
    }
    // Graphs go ahead then, from the second time on, where calls may be asynchronous.
    void keep_graphs() {
        script(Call::graph_keep, [](Reader &, Writer &writer) {
            write(writer, GraphKeepReply{0, 1});
            return ok;
        });
        script(Call::graph_run, runs);
    }

    void on_command(const std::vector<uint8_t> &command) override {
        Reader reader(command.data(), command.size());
        CommandHeader header;
        if (read(reader, header) && (header.flags == static_cast<uint32_t>(Call::buffer_set_tensor) || header.flags == static_cast<uint32_t>(Call::batch))) {
            std::unique_lock lock(gate_mutex);
            changed.wait(lock, [this] { return open; });
            ++carried_out;
        }
        ScriptedHost::on_command(command);
    }

    void set_gate(bool now) {
        std::lock_guard lock(gate_mutex);
        open = now;
        changed.notify_all();
    }

    std::mutex gate_mutex;
    std::condition_variable changed;
    bool open = true;
    std::atomic<int> carried_out{0};
};

// Opens the gate after a while: who does not wait is seen to be too early.
struct LateOpening {
    explicit LateOpening(GatedHost &host)
        : thread([&host] {
              std::this_thread::sleep_for(400ms);
              host.set_gate(true);
          }) {}
    ~LateOpening() { thread.join(); }

    std::thread thread;
};

struct Written {
    explicit Written(ScriptedHost &host, DevicePlan plan = {})
        : bench(host, std::move(plan)), buffer(bench.buffer(2 * size)),
          tensor(bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, size), 0)) {}

    void set(uint8_t value) {
        const std::vector<uint8_t> bytes(size, value);
        ggml_backend_tensor_set(tensor, bytes.data(), 0, size);
    }
    bool holds(uint8_t value) {
        std::vector<uint8_t> bytes(size);
        ggml_backend_tensor_get(tensor, bytes.data(), 0, size);
        return bytes == std::vector<uint8_t>(size, value);
    }

    Variable path{"GGML_VIRTGPU_DATA_PATH", "copied"};
    Bench bench;
    Context memory = context();
    Buffer buffer;
    ggml_tensor *tensor;
};

// Whether it becomes so: nobody awaits what the host is at.
template <typename Is> bool soon(Is is) {
    const auto until = Clock::now() + 5s;
    while (!is() && Clock::now() < until) std::this_thread::sleep_for(1ms);
    return is();
}

constexpr uint64_t ways[] = {0, static_cast<uint64_t>(Extension::asynchronous)};

void one_is_left_and_the_next_one_awaits_it() {
    for (uint64_t extensions : ways) {
        GatedHost host(extensions);
        Written written(host);
        host.set_gate(false);
        written.set(1);
        expect(host.carried_out == 0, "a write returns before the host has done it");
        {
            LateOpening opening(host);
            written.set(2);
            expect(host.carried_out >= 1, "the next one does not leave two");
        }
        expect(written.holds(2), "what is read comes behind both");
        host.set_gate(false);
        written.set(3);
        LateOpening opening(host);
        expect(written.holds(3), "or behind the one that was left");
    }
}

void the_end_of_a_backend_awaits_it() {
    GatedHost host;
    Written written(host);
    Backend backend = written.bench.backend();
    host.set_gate(false);
    written.set(1);
    expect(host.carried_out == 0, "left");
    LateOpening opening(host);
    backend.reset();
    expect(host.carried_out == 1, "awaited at the end of a backend");
}

// Only what may be left is: not without another slot, not where it is not wanted, not where records are kept.
void others_are_awaited() {
    const auto is_left = [](DevicePlan plan) {
        GatedHost host;
        Written written(host, std::move(plan));
        host.set_gate(false);
        LateOpening opening(host);
        written.set(1);
        const bool left = host.carried_out == 0;
        expect(written.holds(1), "the bytes");
        return left;
    };
    expect(is_left({}), "what is left otherwise");
    DevicePlan small;
    small.window = data_page_size + size_t{4} * blob_granularity;
    expect(!is_left(small), "the only data slot");
    {
        Variable off("GGML_VIRTGPU_WRITE_BEHIND", "off");
        expect(!is_left({}), "with the variable");
    }
    CallRecords records;
    expect(!is_left({}), "with records");
    Variable on("GGML_VIRTGPU_WRITE_BEHIND", "on");
    expect(is_left({}), "with records, asked for");
}

// A program that is not told by the call learns it from the next graph, and no other one.
void a_failure_is_told_by_the_next_graph() {
    for (uint64_t extensions : ways) {
        GatedHost host(extensions);
        Written written(host);
        Doubling doubling(written.bench);
        host.refuse(Call::buffer_set_tensor, failed);
        CapturedLog log;
        written.set(1);
        expect(doubling.compute() == GGML_STATUS_FAILED, "the graph behind it");
        expect(log.has("set_tensor: the host refused it with code 5"), "and the log: " + log.text());
        expect(doubling.compute() == GGML_STATUS_SUCCESS, "the one behind that");
    }
}

// So it does of one that is awaited, for libggml has no way to tell of it.
void a_failure_that_was_awaited_is_told_by_the_next_graph() {
    Variable off("GGML_VIRTGPU_WRITE_BEHIND", "off");
    GatedHost host;
    Written written(host);
    Doubling doubling(written.bench);
    host.refuse(Call::buffer_clear, failed);
    host.refuse(Call::buffer_set_tensor, failed);
    host.refuse(Call::buffer_get_tensor, failed);
    CapturedLog log;
    std::vector<uint8_t> bytes(size);
    for (const char *what : {"set", "memset", "clear", "get"}) {
        if (*what == 's') written.set(1);
        else if (*what == 'm') ggml_backend_tensor_memset(written.tensor, 1, 0, size);
        else if (*what == 'c') ggml_backend_buffer_clear(written.buffer.get(), 1);
        else ggml_backend_tensor_get(written.tensor, bytes.data(), 0, size);
        expect(doubling.compute() == GGML_STATUS_FAILED, std::string("the graph behind a ") + what);
        expect(doubling.compute() == GGML_STATUS_SUCCESS, std::string("the one behind that, ") + what);
    }
}

// By the next write, too, which itself goes well.
void a_failure_is_logged_by_the_next_write() {
    GatedHost host;
    Written written(host);
    Doubling doubling(written.bench);
    int number = 0;
    host.script(Call::buffer_set_tensor, [&number](Reader &, Writer &) { return number++ == 0 ? failed : ScriptedHost::ok; });
    CapturedLog log;
    written.set(1);
    written.set(2);
    expect(log.has("set_tensor: the host refused it with code 5"), "the log: " + log.text());
    expect(doubling.compute() == GGML_STATUS_FAILED && doubling.compute() == GGML_STATUS_SUCCESS, "and one graph is refused");
}

// Who reads finds what stood there before; the log tells.
void a_failure_is_logged_by_the_next_read() {
    GatedHost host;
    Written written(host);
    host.refuse(Call::buffer_set_tensor, failed);
    CapturedLog log;
    written.set(1);
    written.holds(1);
    expect(log.has("set_tensor: the host refused it with code 5"), "the log: " + log.text());
}

// A call without a reply takes the other one of two slots away: what was left gives its own back before anybody waits.
void the_last_slot_is_not_kept() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "900");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "8000");
    for (const bool is_answered : {true, false}) {
        GatedHost host;
        DevicePlan two;
        two.window = 2 * data_page_size + size_t{8} * blob_granularity;
        Written written(host, two);
        host.silence(Call::buffer_get_tensor);
        CapturedLog log;
        host.set_gate(is_answered);
        written.set(1);
        written.holds(1);
        const auto start = Clock::now();
        {
            LateOpening opening(host);
            written.set(2);
        }
        expect(Clock::now() - start < 5s && soon([&] { return host.carried_out == 2; }), "the next write finds a slot: " + log.text());
    }
}

uint32_t data_slot_of(const std::vector<uint8_t> &command) {
    uint32_t resource = 0;
    std::memcpy(&resource, command.data() + 12 + 8 + TensorRecord::wire_size, sizeof resource);
    return resource;
}

// It costs the next one its deadline, and its slot is not used again.
void silence() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "900");
    GatedHost host;
    Written written(host);
    host.silence(Call::buffer_set_tensor);
    CapturedLog log;
    auto start = Clock::now();
    written.set(1);
    expect(Clock::now() - start < 800ms, "nobody waits for it at once");
    written.set(2);
    expect(Clock::now() - start > 900ms && log.has("no reply from the host in time"), "then its deadline passes: " + log.text());
    written.set(3);
    soon([&] { return host.sent(Call::buffer_set_tensor).size() == 3; });
    const auto sent = host.sent(Call::buffer_set_tensor);
    expect(sent.size() == 3 && data_slot_of(sent[0]) != data_slot_of(sent[1]) && data_slot_of(sent[1]) != data_slot_of(sent[2]) &&
               data_slot_of(sent[0]) != data_slot_of(sent[2]),
           "the data slot of a write without a reply is used again");
    start = Clock::now();
    written.bench.registry->session().channel().lose("the test says so");
    written.set(4);
    expect(Clock::now() - start < 800ms, "on a lost device nobody waits");
}

std::vector<uint32_t> data_slots_of_batch(const std::vector<uint8_t> &command) {
    Reader reader(command.data(), command.size());
    CommandHeader header;
    BatchRequest batch;
    expect(read(reader, header) && read(reader, batch), "a batch");
    std::vector<uint32_t> slots;
    for (uint32_t i = 0; i < batch.count; ++i) {
        BatchedCall item;
        BufferSetTensorRequest write;
        expect(read(reader, item) && item.call == static_cast<uint32_t>(Call::buffer_set_tensor) && read(reader, write), "a write");
        slots.push_back(write.resource);
    }
    return slots;
}

uint32_t calls_of_batch(const std::vector<uint8_t> &command) {
    Reader reader(command.data(), command.size());
    CommandHeader header;
    BatchRequest batch;
    expect(read(reader, header) && read(reader, batch), "a batch of calls");
    return batch.count;
}

// A token of a language model has some ten of them before its graph.
void small_writes_go_along_in_one_command() {
    constexpr size_t small = 600;
    for (auto [writes, commands] : {std::pair<uint32_t, size_t>{10, 1}, {40, 3}}) {
        GatedHost host(static_cast<uint64_t>(Extension::batch));
        Written written(host);
        host.script(Call::batch, [](Reader &, Writer &) { return ScriptedHost::ok; });
        const std::vector<uint8_t> bytes(small, 7);
        for (uint32_t i = 0; i < writes; ++i) ggml_backend_tensor_set(written.tensor, bytes.data(), i, small);
        ggml_backend_buffer_clear(written.buffer.get(), 0);
        uint32_t calls = 0;
        const std::vector<std::vector<uint8_t>> sent = host.sent(Call::batch);
        for (const auto &command : sent) {
            calls += calls_of_batch(command);
            expect(command.size() <= batch_command_size, "a batch is no longer than the protocol says");
        }
        expect(calls == writes + 1, "all writes and the call behind them");
        expect(sent.size() == commands, "commands of so many writes");
        expect(sent.front().size() > command_buffer_size, "more than other commands hold");
    }
}

// Small writes, of which some ten fill a command.
struct SmallWrites {
    explicit SmallWrites(GatedHost &host) : host(host), written(host) {
        host.script(Call::batch, [this](Reader &, Writer &) { return refused-- > 0 ? failed : ScriptedHost::ok; });
    }
    void set(int count, size_t bytes = 1000) {
        const std::vector<uint8_t> values(bytes, 7);
        for (int i = 0; i < count; ++i, ++done) ggml_backend_tensor_set(written.tensor, values.data(), 0, bytes);
    }
    uint32_t calls() {
        uint32_t all = 0;
        for (const auto &command : host.sent(Call::batch)) all += calls_of_batch(command);
        return all;
    }

    GatedHost &host;
    Written written;
    int refused = 0; // so many commands
    std::atomic<int> done{0};
};

// While the host is at one command the next one fills; whoever has filled two waits for it.
void full_commands_are_not_awaited() {
    for (auto [writes, wait] : {std::pair{30, false}, {60, true}}) {
        GatedHost host(static_cast<uint64_t>(Extension::batch));
        SmallWrites small(host);
        host.set_gate(false);
        {
            LateOpening opening(host);
            small.set(writes);
            expect((host.carried_out != 0) == wait, std::to_string(writes) + " writes return with " + std::to_string(host.carried_out) + " commands done");
        }
        ggml_backend_buffer_clear(small.written.buffer.get(), 0);
        expect(small.calls() == static_cast<uint32_t>(writes) + 1, "all of them are made");
    }
    GatedHost host(static_cast<uint64_t>(Extension::batch));
    CallRecords records;
    SmallWrites small(host);
    host.set_gate(false);
    LateOpening opening(host);
    small.set(30);
    expect(host.carried_out != 0, "with records their replies are awaited");
}

// Whoever waits for the host to take full commands over holds nobody else up.
void others_go_on_beside_full_commands() {
    GatedHost host(static_cast<uint64_t>(Extension::batch));
    SmallWrites small(host);
    host.set_gate(false);
    std::thread many([&] { small.set(60); });
    int before = -1;
    while (before != small.done) {
        before = small.done;
        std::this_thread::sleep_for(100ms);
    }
    expect(before < 60, "one thread waits");
    {
        LateOpening opening(host);
        small.set(1, 4);
        expect(host.carried_out == 0, "and another one writes meanwhile");
    }
    many.join();
    ggml_backend_buffer_clear(small.written.buffer.get(), 0);
    expect(small.calls() == 62, "all of them are made: " + std::to_string(small.calls()));
}

// What nobody awaited is told by the next graph, and no other one.
void a_failed_command_of_writes_is_told() {
    GatedHost host(static_cast<uint64_t>(Extension::batch));
    SmallWrites small(host);
    Doubling doubling(small.written.bench);
    small.refused = 1;
    CapturedLog log;
    small.set(20);
    ggml_backend_buffer_clear(small.written.buffer.get(), 0);
    expect(doubling.compute() == GGML_STATUS_FAILED, "the graph behind it");
    expect(log.has("tensor writes that went along with a call, which may not all have been made"), "and the log: " + log.text());
    expect(doubling.compute() == GGML_STATUS_SUCCESS, "the one behind that");
}

// Or by the log, when it shows: who reads finds what stood there before.
void a_failed_command_of_writes_is_logged_by_a_read() {
    GatedHost host(static_cast<uint64_t>(Extension::batch));
    SmallWrites small(host);
    std::vector<uint8_t> bytes(size);
    small.refused = 1;
    CapturedLog log;
    small.set(15);
    ggml_backend_tensor_get(small.written.tensor, bytes.data(), 0, size);
    expect(log.has("tensor writes that went along with a call"), "the log: " + log.text());
}

// Who waits for those that are on their way does not wait for those that another thread sends meanwhile.
void others_writes_are_not_awaited() {
    struct Slow : GatedHost {
        using GatedHost::GatedHost;
        void on_command(const std::vector<uint8_t> &command) override {
            std::this_thread::sleep_for(5ms);
            GatedHost::on_command(command);
        }
    };
    Slow host(static_cast<uint64_t>(Extension::batch));
    SmallWrites small(host);
    std::atomic<bool> ended{false};
    std::thread writer([&] {
        while (!ended) small.set(1);
    });
    const auto start = Clock::now();
    Clock::duration longest{};
    for (int i = 0; i < 20; ++i) {
        const auto before = Clock::now();
        small.written.bench.registry->session().write_behind().settle();
        longest = std::max(longest, Clock::now() - before);
        std::this_thread::sleep_for(7ms);
    }
    expect(Clock::now() - start < 10s && longest < 1s, "waits end though another thread goes on writing");
    ended = true;
    writer.join();
}

// Nor does a graph go ahead of their replies.
void a_graph_does_not_go_ahead_of_full_commands() {
    GatedHost host(static_cast<uint64_t>(Extension::batch) | static_cast<uint64_t>(Extension::asynchronous) | static_cast<uint64_t>(Extension::graph_ids));
    host.keep_graphs();
    SmallWrites small(host);
    Doubling doubling(small.written.bench);
    expect(doubling.compute() == GGML_STATUS_SUCCESS && doubling.compute() == GGML_STATUS_SUCCESS, "kept, and run");
    small.refused = 1;
    host.set_gate(false);
    CapturedLog log;
    small.set(15);
    LateOpening opening(host);
    expect(ggml_backend_graph_compute_async(doubling.backend.get(), doubling.graph) == GGML_STATUS_FAILED, "a graph behind what was not written");
    expect(log.has("tensor writes that went along"), "the log: " + log.text());
}

// The slots of what went along with a command without a reply are not used again, either.
void silence_of_a_batch() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "900");
    GatedHost host(static_cast<uint64_t>(Extension::batch));
    Written written(host);
    host.silence(Call::batch);
    CapturedLog log;
    for (uint8_t value = 1; value <= 4; ++value) written.set(value);
    expect(log.has("no reply from the host in time"), "one is awaited by the next: " + log.text());
    written.bench.registry->session().write_behind().settle();
    std::vector<uint32_t> slots;
    for (const auto &command : host.sent(Call::batch))
        for (uint32_t slot : data_slots_of_batch(command)) slots.push_back(slot);
    expect(slots.size() == 4, std::to_string(slots.size()) + " writes");
    BlobPool &pool = written.bench.registry->session().data_slots();
    std::vector<BlobPool::Lease> others;
    for (BlobPool::Lease next; (next = pool.take(Deadline(Clock::duration::zero())));) others.push_back(std::move(next));
    expect(!others.empty(), "there are others");
    for (const BlobPool::Lease &other : others) slots.push_back(other->resource);
    std::sort(slots.begin(), slots.end());
    expect(std::adjacent_find(slots.begin(), slots.end()) == slots.end(), "a data slot without a reply is used again");
}

// A graph that goes ahead takes a write along: its slot is free when that is answered, though nobody looks at the reply.
void a_slot_that_went_along_is_not_kept() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "900");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "8000");
    GatedHost host(static_cast<uint64_t>(Extension::batch) | static_cast<uint64_t>(Extension::asynchronous) | static_cast<uint64_t>(Extension::graph_ids));
    host.keep_graphs();
    host.script(Call::batch, GatedHost::runs);
    DevicePlan two;
    two.window = 2 * data_page_size + size_t{8} * blob_granularity;
    Written written(host, two);
    Doubling doubling(written.bench);
    expect(doubling.compute() == GGML_STATUS_SUCCESS && doubling.compute() == GGML_STATUS_SUCCESS, "kept, and run");
    written.set(1);
    expect(ggml_backend_graph_compute_async(doubling.backend.get(), doubling.graph) == GGML_STATUS_SUCCESS, "one that goes ahead");
    expect(soon([&] { return host.sent(Call::batch).size() == 1; }) && host.sent(Call::buffer_set_tensor).empty(), "takes the write along");
    host.silence(Call::buffer_get_tensor);
    CapturedLog log;
    written.holds(1); // the other slot is lost
    const auto start = Clock::now();
    written.set(2);
    const auto took = Clock::now() - start;
    expect(took < 4s && soon([&] { return host.sent(Call::buffer_set_tensor).size() == 1; }), "the next write finds a slot: " + log.text());
}

// All of it is in the pipe: the host may take it out by and by.
void a_pipe_is_left_when_all_is_in_it(bool is_left) {
    constexpr size_t bytes = least_piped_out_by_ioctl;
    std::atomic<bool> gate{false};
    std::atomic<bool> done{false};
    std::atomic<bool> right{true};
    struct Mapped : GatedHost {
        using GatedHost::GatedHost;
        void on_blob(uint32_t resource, const Blob &blob) override {
            GatedHost::on_blob(resource, blob);
            std::lock_guard lock(blobs_mutex);
            blobs[resource] = blob.memory;
        }
        std::mutex blobs_mutex;
        std::map<uint32_t, uint8_t *> blobs;
    } mapped(static_cast<uint64_t>(Extension::pipes));
    mapped.script(Call::pipe_set_tensor, [&](Reader &reader, Writer &) {
        PipeSetTensorRequest request;
        expect(read(reader, request), "a request");
        uint8_t *slot = nullptr;
        {
            std::lock_guard lock(mapped.blobs_mutex);
            slot = mapped.blobs.at(request.resource);
        }
        PipeEnd end(slot, {request.area, request.room}, request.size, PipeEnd::Role::empties);
        while (!end.done() && !end.broken()) {
            // The last bytes are taken out when the test says so.
            while (!gate && request.size - end.moved() <= request.room / 2) std::this_thread::sleep_for(1ms);
            const size_t now = std::min<size_t>(end.available(), request.room / 4);
            for (size_t i = 0; i < now; ++i) right = right && end.place()[i] == 7;
            end.move(now);
        }
        done = end.done();
        return ScriptedHost::ok;
    });
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    Variable allowed("GGML_VIRTGPU_WRITE_BEHIND", is_left ? "auto" : "off");
    Bench bench(mapped);
    Buffer buffer = bench.buffer(bytes);
    Context memory = context();
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, bytes), 0);
    std::vector<uint8_t> data(bytes, 7);
    std::thread opening([&gate] {
        std::this_thread::sleep_for(400ms);
        gate = true;
    });
    ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
    expect(done == !is_left, "returns while bytes stand in the pipe, if it may");
    std::fill(data.begin(), data.end(), uint8_t{8}); // it is the program's again
    opening.join();
    bench.registry->session().write_behind().settle();
    expect(done && right, "all bytes as they were");
}

// The parent's reply is not a child's to wait for.
void a_forked_child_does_not_wait() {
    GatedHost host;
    Written written(host);
    host.set_gate(false);
    written.set(1);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        const auto start = Clock::now();
        written.set(2);
        written.bench.registry->session().write_behind().settle();
        _exit(Clock::now() - start < 500ms ? 0 : 1);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child's end: " + std::to_string(status));
    host.set_gate(true);
    expect(written.holds(1), "the parent goes on");
}

struct Counted : SentWrite {
    Counted(int &ended, bool well) : ended(ended), well(well) {}
    bool answered() const override { return well; }
    bool end() override {
        ++ended;
        return well;
    }

    int &ended;
    const bool well;
};

// Does something at its end.
struct Ending : SentWrite {
    explicit Ending(std::function<void()> act) : act(std::move(act)) {}
    bool answered() const override { return true; }
    bool end() override {
        act();
        return true;
    }

    const std::function<void()> act;
};

// Another thread leaves one while this one awaits the one before: that one is awaited as well, and not forgotten.
void one_that_is_left_meanwhile_is_awaited() {
    GatedHost host;
    Bench bench(host);
    Session &session = bench.registry->session();
    WriteBehind behind(session.channel(), session.data_slots(), WriteBehindUse::on);
    int ended = 0;
    const auto meanwhile = [&] { behind.leave(std::make_unique<Counted>(ended, true)); };
    expect(behind.leave(std::make_unique<Ending>(meanwhile)) && ended == 0, "left");
    expect(behind.leave(std::make_unique<Counted>(ended, true)) && ended == 1, "the one that was left meanwhile is awaited");
    behind.settle();
    expect(ended == 2, "and this one at the end");
}

// What another thread is at ending is waited for.
void all_have_ended_when_it_is_settled() {
    GatedHost host;
    Bench bench(host);
    Session &session = bench.registry->session();
    WriteBehind behind(session.channel(), session.data_slots(), WriteBehindUse::on);
    std::atomic<bool> begun{false}, settled{false}, ended{false};
    const auto late = [&] {
        begun = true;
        for (int i = 0; i < 200 && !settled; ++i) std::this_thread::sleep_for(1ms);
        ended = true;
    };
    expect(behind.leave(std::make_unique<Ending>(late)), "left");
    std::thread another([&] { behind.look(); });
    expect(soon([&] { return begun.load(); }), "another thread ends it");
    behind.settle();
    expect(ended, "settled, and it has ended");
    settled = true;
    another.join();
}

void a_forked_child_does_not_look() {
    GatedHost host;
    Bench bench(host);
    Session &session = bench.registry->session();
    int ended = 0;
    WriteBehind behind(session.channel(), session.data_slots(), WriteBehindUse::on);
    expect(behind.leave(std::make_unique<Counted>(ended, true)), "left");
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        behind.look();
        behind.look_behind_a_call();
        _exit(ended);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "what was left is the parent's: " + std::to_string(status));
    behind.look();
    expect(ended == 1, "who ends it");
}

// What was sent ahead is the parent's, too.
void a_forked_child_does_not_await() {
    GatedHost host(static_cast<uint64_t>(Extension::asynchronous));
    Written written(host);
    Backend backend = written.bench.backend();
    const std::vector<uint8_t> bytes(size, 7);
    host.set_gate(false);
    ggml_backend_tensor_set_async(backend.get(), written.tensor, bytes.data(), 0, size);
    expect(written.bench.registry->session().calls_in_flight() == 1, "one is in flight");
    const pid_t child = fork();
    if (child == 0) {
        alarm(5);
        CapturedLog log;
        ggml_backend_synchronize(backend.get());
        ggml_backend_tensor_set_async(backend.get(), written.tensor, bytes.data(), 0, size);
        backend.reset();
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "a child's synchronize returns: " + std::to_string(status));
    host.set_gate(true);
    ggml_backend_synchronize(backend.get());
    expect(written.bench.registry->session().calls_in_flight() == 0 && written.holds(7), "its parent goes on");
}

// Nor for the lock of a thread that computed when the child was made.
void a_forked_child_does_not_compute() {
    GatedHost host;
    Bench bench(host);
    Doubling doubling(bench);
    std::atomic<bool> computing{false};
    std::atomic<bool> done{false};
    host.script(Call::backend_graph_compute, [&](Reader &, Writer &reply) {
        computing = true;
        while (!done) std::this_thread::sleep_for(1ms);
        reply.i32(0);
        return ScriptedHost::ok;
    });
    std::thread other([&] { expect(doubling.compute() == GGML_STATUS_SUCCESS, "its parent's graph"); });
    while (!computing) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        alarm(5);
        CapturedLog log;
        _exit(doubling.compute() == GGML_STATUS_FAILED ? 0 : 1);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "a child's graph fails: " + std::to_string(status));
    done = true;
    other.join();
}

// The session's end, which its blobs go with: what is left is awaited before.
void it_is_awaited_at_the_end() {
    GatedHost host;
    Bench bench(host);
    Session &session = bench.registry->session();
    int ended = 0;
    {
        WriteBehind behind(session.channel(), session.data_slots(), WriteBehindUse::automatic);
        expect(behind.leaves(), "by EXECBUFFER");
        expect(behind.leave(std::make_unique<Counted>(ended, false)) && ended == 0, "left");
        behind.look();
        expect(ended == 0, "not answered yet");
    }
    expect(ended == 1 && session.channel().lost_transfers() == 1, "awaited at the end, and its failure counted");
    for (const WriteBehindUse use : {WriteBehindUse::automatic, WriteBehindUse::on}) {
        WriteBehind by_ring(session.channel(), session.data_slots(), use);
        by_ring.expect_quick_replies();
        expect(by_ring.leaves() == (use == WriteBehindUse::on), "where replies are quick only if asked for");
    }
}

// A graph that goes ahead is told, too: by what it finds when it begins.
void a_graph_that_goes_ahead_is_told() {
    GatedHost host(static_cast<uint64_t>(Extension::asynchronous) | static_cast<uint64_t>(Extension::graph_ids));
    host.keep_graphs();
    Written written(host);
    Doubling doubling(written.bench);
    expect(doubling.compute() == GGML_STATUS_SUCCESS && doubling.compute() == GGML_STATUS_SUCCESS, "kept, and run");
    expect(host.sent(Call::graph_run).size() == 1, "as one that goes ahead");
    host.refuse(Call::buffer_set_tensor, failed);
    CapturedLog log;
    written.set(1);
    expect(soon([&] { return !host.sent(Call::buffer_set_tensor).empty(); }), "is sent");
    std::this_thread::sleep_for(500ms); // for its reply
    expect(ggml_backend_graph_compute_async(doubling.backend.get(), doubling.graph) == GGML_STATUS_FAILED, "the graph behind it");
    expect(log.has("set_tensor: the host refused it with code 5"), "and the log: " + log.text());
}

// The host answers in order: a write that it has not answered when a graph behind it is there never will be, and that graph has been computed without it.
void a_graph_behind_a_silent_write_is_told() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "20000");
    GatedHost host(static_cast<uint64_t>(Extension::asynchronous) | static_cast<uint64_t>(Extension::graph_ids));
    host.keep_graphs();
    Written written(host);
    Doubling doubling(written.bench);
    CapturedLog log;
    const auto start = Clock::now();
    const auto silently = [&] {
        host.silence(Call::buffer_set_tensor);
        const size_t before = host.sent(Call::buffer_set_tensor).size();
        written.set(1);
        expect(soon([&] { return host.sent(Call::buffer_set_tensor).size() > before; }), "is sent");
        host.end_silence(Call::buffer_set_tensor);
    };
    silently();
    expect(doubling.compute() == GGML_STATUS_FAILED, "one that is awaited");
    expect(log.has("set_tensor: no reply from the host"), "and the log: " + log.text());
    expect(doubling.compute() == GGML_STATUS_SUCCESS && host.sent(Call::graph_run).empty(), "is refused once");
    silently();
    expect(doubling.compute() == GGML_STATUS_SUCCESS && host.sent(Call::graph_run).size() == 1, "one that goes ahead");
    expect(doubling.compute() == GGML_STATUS_FAILED && doubling.compute() == GGML_STATUS_SUCCESS, "is told with the next one, once");
    written.set(2);
    expect(written.holds(2) && Clock::now() - start < 10s, "nobody waits for it");
    const std::vector<std::vector<uint8_t>> sets = host.sent(Call::buffer_set_tensor);
    const auto slot_of = [&](size_t set) { return sets.at(set)[12 + 8 + TensorRecord::wire_size]; };
    expect(slot_of(0) != slot_of(1) && slot_of(0) != slot_of(2) && slot_of(1) != slot_of(2), "nor is its slot used again: the host may yet come to it");
}

// Where another thread awaits that write, which wants to leave one of its own, the graph is told when that thread is.
void a_graph_behind_a_silent_write_that_another_thread_awaits_is_told() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "900");
    GatedHost host;
    Written written(host);
    Doubling doubling(written.bench);
    CapturedLog log;
    host.silence(Call::buffer_set_tensor);
    written.set(1);
    expect(soon([&] { return host.sent(Call::buffer_set_tensor).size() == 1; }), "is sent");
    host.end_silence(Call::buffer_set_tensor);
    std::thread another([&] { written.set(2); });
    expect(soon([&] { return host.sent(Call::buffer_set_tensor).size() == 2; }), "so is another");
    std::this_thread::sleep_for(100ms); // it awaits the first one
    expect(doubling.compute() == GGML_STATUS_FAILED, "the graph behind both");
    another.join();
    expect(doubling.compute() == GGML_STATUS_SUCCESS, "the one behind that");
}

// So is a graph where the write went along with another thread's call, which that thread still awaits.
void a_graph_behind_a_silent_call_that_took_writes_along_is_told() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "900");
    for (const bool ahead : {false, true}) {
        uint64_t extensions = static_cast<uint64_t>(Extension::batch);
        if (ahead) extensions |= static_cast<uint64_t>(Extension::asynchronous) | static_cast<uint64_t>(Extension::graph_ids);
        GatedHost host(extensions);
        host.keep_graphs();
        Written written(host);
        Doubling doubling(written.bench);
        expect(doubling.compute() == GGML_STATUS_SUCCESS && doubling.compute() == GGML_STATUS_SUCCESS, "computed before");
        CapturedLog log;
        host.silence(Call::batch);
        const auto start = Clock::now();
        const uint8_t one = 1;
        ggml_backend_tensor_set(written.tensor, &one, 0, 1);
        std::thread another([&] {
            size_t free_bytes = 0, total_bytes = 0;
            ggml_backend_dev_memory(written.bench.registry->device(), &free_bytes, &total_bytes);
        });
        expect(soon([&] { return host.sent(Call::batch).size() == 1; }), "it is sent along");
        host.end_silence(Call::batch);
        if (ahead) expect(doubling.compute() == GGML_STATUS_SUCCESS, "one that goes ahead");
        expect(doubling.compute() == GGML_STATUS_FAILED, "the graph behind it");
        expect(Clock::now() - start < 800ms, "which does not wait for that thread");
        another.join();
        expect(doubling.compute() == GGML_STATUS_SUCCESS, "the one behind that: " + log.text());
    }
}

void threads() {
    GatedHost host;
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    Bench bench(host);
    Buffer buffer = bench.buffer(4 * size);
    Context memory = context();
    std::vector<std::thread> all;
    std::atomic<int> wrong{0};
    for (size_t i = 0; i < 4; ++i) {
        ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, size), i * size);
        all.emplace_back([tensor, i, &wrong] {
            std::vector<uint8_t> bytes(size);
            for (int round = 0; round < 50; ++round) {
                const std::vector<uint8_t> expected(size, static_cast<uint8_t>(round * 4 + static_cast<int>(i)));
                ggml_backend_tensor_set(tensor, expected.data(), 0, size);
                if (round % 3 == 0) continue;
                ggml_backend_tensor_get(tensor, bytes.data(), 0, size);
                wrong += bytes == expected ? 0 : 1;
            }
        });
    }
    for (std::thread &thread : all) thread.join();
    expect(wrong == 0, std::to_string(wrong.load()) + " reads that were not what their thread had written");
}

} // namespace

int main() {
    one_is_left_and_the_next_one_awaits_it();
    the_end_of_a_backend_awaits_it();
    others_are_awaited();
    a_failure_is_told_by_the_next_graph();
    a_failure_that_was_awaited_is_told_by_the_next_graph();
    a_failure_is_logged_by_the_next_write();
    a_failure_is_logged_by_the_next_read();
    the_last_slot_is_not_kept();
    silence();
    small_writes_go_along_in_one_command();
    full_commands_are_not_awaited();
    others_go_on_beside_full_commands();
    a_failed_command_of_writes_is_told();
    a_failed_command_of_writes_is_logged_by_a_read();
    others_writes_are_not_awaited();
    a_graph_does_not_go_ahead_of_full_commands();
    silence_of_a_batch();
    a_slot_that_went_along_is_not_kept();
    for (bool is_left : {true, false}) a_pipe_is_left_when_all_is_in_it(is_left);
    a_forked_child_does_not_wait();
    a_forked_child_does_not_look();
    a_forked_child_does_not_await();
    a_forked_child_does_not_compute();
    one_that_is_left_meanwhile_is_awaited();
    all_have_ended_when_it_is_settled();
    it_is_awaited_at_the_end();
    a_graph_that_goes_ahead_is_told();
    a_graph_behind_a_silent_write_is_told();
    a_graph_behind_a_silent_write_that_another_thread_awaits_is_told();
    a_graph_behind_a_silent_call_that_took_writes_along_is_told();
    threads();
    return failures();
}
