// What is not asked and not sent: a device's facts in one call, small writes that go along with the next call, buffers that are
// kept for the next allocation.
//
// Usage: test-guest-fewer-calls HOST_LIBRARY GGML_BACKEND_LIBRARY
#include "extension_run.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

std::string facts(Run &run) {
    ggml_backend_dev_t device = run.registry->device();
    return std::string(ggml_backend_dev_name(device)) + "|" + ggml_backend_dev_description(device) + "|" +
           std::to_string(ggml_backend_dev_type(device)) + "|" + ggml_backend_buft_name(run.buft()) + "|" +
           std::to_string(ggml_backend_buft_get_alignment(run.buft())) + "|" + std::to_string(ggml_backend_buft_get_max_size(run.buft()));
}

void one_summary() {
    std::string known;
    for (const char *extensions : {"none", "device_summary", "all"}) {
        Run run(extensions);
        bool summary = run.registry->session().has(Extension::device_summary);
        expect_calls(run, {{Call::device_summary, summary ? 1 : 0}, {Call::device_get_name, summary ? 0 : 1}, {Call::buffer_type_get_max_size, summary ? 0 : 1}}, "set-up");
        if (known.empty()) known = facts(run);
        expect(facts(run) == known, "a device's facts: " + facts(run));
    }
}

void small_writes_go_along() {
    Run run("batch");
    Buffer buffer = run.buffer(1 << 16);
    Context context = guest::test::context();
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 4096);
    ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    run.records.fresh();
    std::vector<int32_t> numbers(4096, 0);
    ggml_backend_tensor_set(tensor, numbers.data(), 0, 16384);
    for (int32_t i = 0; i < 5; ++i) ggml_backend_tensor_set(tensor, &i, static_cast<size_t>(i) * 400, 4);
    ggml_backend_tensor_memset(tensor, 0xff, 2000, 8);
    expect(run.records.fresh().empty(), "all of them wait");
    ggml_backend_tensor_get(tensor, numbers.data(), 0, 16384);
    expect(numbers[100] == 1 && numbers[400] == 4 && numbers[500] == -1 && numbers[501] == -1 && numbers[502] == 0, "they were before it");
    expect(sum(run.records.fresh()).calls == 1, "all in one command");

    // More than fit into one command, and a call that is itself too long to take them along.
    for (int32_t i = 0; i < 100; ++i) ggml_backend_tensor_set(tensor, &i, static_cast<size_t>(i) * 4, 4);
    ggml_backend_tensor_get(tensor, numbers.data(), 0, 400);
    for (int32_t i = 0; i < 100; ++i) expect(numbers[static_cast<size_t>(i)] == i, "one of a hundred");
    int32_t last = 77;
    ggml_backend_tensor_set(tensor, numbers.data(), 0, 1000);
    ggml_backend_tensor_set(tensor, numbers.data(), 0, 1000);
    ggml_backend_tensor_set(tensor, &last, 0, 4);
    ggml_tensor *product = ggml_mul_mat(context.get(), ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 8), ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 8));
    expect(ggml_backend_dev_supports_op(run.registry->device(), product), "a long request");
    ggml_backend_tensor_get(tensor, numbers.data(), 0, 4);
    expect(numbers[0] == 77, "what went before the long one");
}

// What is too long for a command waits in a data slot; a second one like it takes it along, and so does one that is too large to wait.
void writes_in_slots_go_along() {
    constexpr size_t piece = 256 << 10;
    constexpr size_t large = (1 << 20) + 4;
    Run run("batch");
    Buffer buffer = run.buffer(4 * large);
    Context context = guest::test::context();
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, 4 * large);
    ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    std::vector<uint8_t> expected(4 * large, 0);
    ggml_backend_tensor_set(tensor, expected.data(), 0, expected.size());
    auto write = [&](size_t at, size_t size, uint8_t value) {
        std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), size, value);
        ggml_backend_tensor_set(tensor, expected.data() + at, at, size);
    };
    auto written_by = [&](size_t commands, uint64_t bytes, const char *what) {
        const Sent sent = sum(run.records.fresh());
        expect(sent.calls == commands, std::string(what) + ": " + std::to_string(sent.calls) + " commands");
        expect(sent.bytes >= bytes && sent.bytes < bytes + 2048, std::string(what) + ": " + std::to_string(sent.bytes) + " bytes");
    };
    run.records.fresh();
    write(0, piece, 1);
    write(100, 8, 2);
    written_by(0, 0, "the first one waits");
    write(piece / 2, piece, 3);
    written_by(1, 2 * piece, "the next one takes it along");
    write(8, 16, 4);
    write(piece, 2048, 5);
    write(large, large, 6);
    written_by(1, 2048 + large, "so does a large one");
    write(3 * large, 1 << 20, 7);
    std::vector<uint8_t> read(expected.size());
    ggml_backend_tensor_get(tensor, read.data(), 0, read.size());
    expect(read == expected, "all in the order in which they were made");
}

// A tensor that is too long for a command.
struct InSlots {
    explicit InSlots(Run &run) : buffer(run.buffer(1 << 16)) {
        ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    }
    void write() { ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size()); }

    Buffer buffer;
    Context context = guest::test::context();
    const std::vector<uint8_t> bytes = std::vector<uint8_t>(4096, 1);
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, 4096);
};

void writes_in_slots_are_awaited_where_asked_for() {
    Variable off("GGML_VIRTGPU_WRITE_BEHIND", "off");
    Run run("batch");
    InSlots small(run);
    run.records.fresh();
    for (int i = 0; i < 2; ++i) small.write();
    expect_calls(run, {{Call::buffer_set_tensor, 2}}, "each by itself");
}

// As a program ends that wrote last, and as one does without a slot to spare.
void writes_in_slots_do_not_stay() {
    Run run("batch");
    InSlots small(run);
    auto sent_at_once = [&] {
        run.records.fresh();
        small.write();
        return !run.records.fresh().empty();
    };
    expect(!sent_at_once(), "it waits");
    run.backend.reset();
    expect(sum(run.records.fresh()).calls == 1, "until its backend ends");
    BlobPool &slots = run.registry->session().data_slots();
    std::vector<BlobPool::Lease> taken;
    for (int i = 0; i < 2; ++i) taken.push_back(slots.take(Deadline(std::chrono::seconds(1))));
    expect(!sent_at_once(), "one of the last two slots may wait");
    run.registry->session().write_behind().settle();
    taken.push_back(slots.take(Deadline(std::chrono::seconds(1))));
    expect(sent_at_once(), "the last one does not");
    taken.pop_back();
    std::vector<uint8_t> large(2 << 20, 2);
    Buffer other = run.buffer(large.size());
    expect(!sent_at_once(), "it waits again");
    taken.push_back(slots.take(Deadline(std::chrono::seconds(1))));
    ggml_tensor *whole = ggml_new_tensor_1d(small.context.get(), GGML_TYPE_I8, static_cast<int64_t>(large.size()));
    ggml_backend_tensor_alloc(other.get(), whole, ggml_backend_buffer_get_base(other.get()));
    const auto start = Clock::now();
    ggml_backend_tensor_set(whole, large.data(), 0, large.size());
    ggml_backend_tensor_get(whole, large.data(), 0, large.size());
    expect(large == std::vector<uint8_t>(large.size(), 2) && Clock::now() - start < std::chrono::seconds(5), "who needs its slot gets it");
}

// An answer is known again for an op that is told in the same words, and for no other.
void answers_known_again(const char *extensions) {
    Run run(extensions);
    Context context = guest::test::context();
    ggml_tensor *a = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 16, 4);
    ggml_tensor *b = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 16, 4);
    ggml_tensor *sum = ggml_add(context.get(), a, b);
    ggml_tensor *view = ggml_view_2d(context.get(), a, 16, 2, 64, 0);
    auto asked = [&](ggml_tensor *op) {
        run.records.fresh();
        for (int i = 0; i < 2; ++i) ggml_backend_dev_supports_op(run.registry->device(), op);
        Sent sent = guest::test::sum(run.records.fresh());
        return sent.by_call[static_cast<uint32_t>(Call::wide_supports_op)] + sent.by_call[static_cast<uint32_t>(Call::device_supports_op)];
    };
    auto expect_new = [&](ggml_tensor *op, const char *what) {
        expect(asked(op) == 1, std::string(extensions) + ": the host is asked once for " + what);
    };
    expect_new(sum, "a sum");
    ggml_tensor *others[] = {ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 16, 4), ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 16, 4)};
    expect(asked(ggml_add(context.get(), others[0], others[1])) == 0, "the same sum of other tensors");
    expect_new(ggml_add(context.get(), a, a), "a sum of a tensor and itself");
    b->type = GGML_TYPE_F16;
    expect_new(sum, "another type of a source");
    b->ne[1] = 2;
    expect_new(sum, "another shape of a source");
    b->nb[1] = 128;
    expect_new(sum, "another stride of a source");
    sum->op_params[15] = 1;
    expect_new(sum, "another parameter");
    sum->flags ^= GGML_TENSOR_FLAG_OUTPUT;
    expect_new(sum, "other flags");
    sum->op = GGML_OP_SUB;
    expect_new(sum, "another op");
    ggml_set_name(b, "blk.0.weight");
    expect_new(sum, "another name of a leaf");
    ggml_set_name(sum, "sum");
    expect(asked(sum) == 0, "another name of a result");
    std::swap(sum->src[0], sum->src[1]);
    expect_new(sum, "sources that are swapped");
    sum->src[1] = nullptr;
    expect_new(sum, "a source less");
    expect_new(view, "a view");
    view->view_offs = 128;
    expect_new(view, "a view of another place");
    ggml_set_name(view->src[0], "cache");
    expect_new(view, "a view of what has another name");
    ggml_tensor *rows = ggml_sqr(context.get(), view);
    expect_new(rows, "what is computed of a view");
    view->view_offs = 256;
    const bool wide = run.registry->session().has(Extension::wide_shapes);
    expect(asked(rows) == (wide ? 0 : 1), std::string(extensions) + ": of one that is aligned as well");
    for (const size_t offset : {260, 272}) {
        view->view_offs = offset;
        expect_new(rows, "what is computed of a misaligned one");
    }
    view->view_offs = 292;
    expect(asked(rows) == (wide ? 0 : 1), std::string(extensions) + ": of one that is as far from it as another was");
}

// libggml asks for the size of each tensor that it places, and twice: a model's weights are alike but for their names.
void sizes_known_again(const char *extensions) {
    Run run(extensions);
    Context context = guest::test::context();
    auto asked = [&](int64_t rows, const char *name) {
        ggml_tensor *weight = ggml_new_tensor_2d(context.get(), GGML_TYPE_Q4_0, 64, rows);
        ggml_set_name(weight, name);
        run.records.fresh();
        for (int i = 0; i < 2; ++i) expect(ggml_backend_buft_get_alloc_size(run.buft(), weight) >= ggml_nbytes(weight), "a size");
        return sum(run.records.fresh()).by_call[static_cast<uint32_t>(
            run.registry->session().has(Extension::wide_shapes) ? Call::wide_get_alloc_size : Call::buffer_type_get_alloc_size)];
    };
    const std::string with = std::string(extensions) + ": ";
    expect(asked(8, "blk.0.weight") == 1, with + "the host is asked once for a weight's size");
    expect(asked(8, "blk.1.weight") == 0, with + "not for one that is like it");
    expect(asked(9, "blk.2.weight") == 1, with + "once for one of another shape");
}

// A thread's write is before what it then tells another thread to do.
void writes_of_several_threads(const char *extensions, Records records) {
    Run run(extensions, "copied", {}, records);
    std::vector<std::thread> threads;
    for (int32_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            Buffer buffer = run.buffer(4096);
            Context context = guest::test::context();
            ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 1024);
            ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
            for (int32_t round = 0; round < 500; ++round) {
                const std::vector<int32_t> numbers(round % 2 == 0 ? 1 : 1000, thread * 100000 + round); // in a command, and in a data slot
                ggml_backend_tensor_set(tensor, numbers.data(), 64, numbers.size() * 4);
                // More than a command takes, with those of the other threads.
                for (int again = round % 7 == 0 ? 20 : 0; again > 0; --again) ggml_backend_tensor_set(tensor, numbers.data(), 64, numbers.size() * 4);
                std::vector<int32_t> back(numbers.size(), -1);
                ggml_backend_tensor_get(tensor, back.data(), 64, back.size() * 4);
                expect(back == numbers, "a write that was overtaken");
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
}

// With all reply slots but one in use and calls that wait to go along: who waits for a slot and who waits for its turn do not wait for each
// other.
void writes_when_slots_are_short(Records records) {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "4000");
    constexpr int slots = 63; // the last one is never kept
    Run run("all", "copied", {}, records);
    Buffer buffer = run.buffer(4096);
    Context context = guest::test::context();
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 1024);
    ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    auto ask = [&] { return run.channel().begin<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{}); };
    std::deque<decltype(ask())> pending;
    for (int i = 0; i < slots; ++i) pending.push_back(ask());
    const std::vector<int32_t> numbers(250, 7);
    // Eleven fill a command: for more there is no reply slot but the last one, so that they are awaited. Some wait for the next call.
    for (int i = 0; i < 24; ++i) ggml_backend_tensor_set(tensor, numbers.data(), 0, 1000);
    std::vector<std::thread> threads;
    const auto start = Clock::now();
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            DeviceGetMemoryReply reply;
            expect(run.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), "a call among many");
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    threads.emplace_back([&] { ggml_backend_tensor_set(tensor, numbers.data(), 0, 1000); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    DeviceGetMemoryReply reply;
    expect(pending.front().end(reply).ok(), "a call from before");
    pending.pop_front();
    for (std::thread &thread : threads) thread.join();
    expect(Clock::now() - start < std::chrono::milliseconds(2000), "nobody waits for who waits for him");
    for (auto &each : pending) expect(each.end(reply).ok(), "a call from before");
}

// A write that fails takes the graph that it was for along.
void failed_writes() {
    Run run("all");
    Buffer buffer = run.buffer(4096);
    Scaled scaled(run, buffer.get());
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_SUCCESS, "a graph");
    uint64_t nonsense = 12345;
    expect(run.channel().defer(Call::buffer_clear, BufferClearRequest{nonsense, 0}), "left to go along");
    ggml_backend_graph_compute(run.backend.get(), scaled.graph);
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_FAILED, "the failure is told with the next graph");
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_SUCCESS, "and once");

    // One that went along with a call that is no graph.
    CapturedLog log;
    expect(run.channel().defer(Call::buffer_clear, BufferClearRequest{nonsense, 0}), "left to go along");
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(run.registry->device(), &free_bytes, &total_bytes);
    expect(log.has("tensor writes that went along with a call"), "what has failed: " + log.text());
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_FAILED, "the next graph is refused");
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_SUCCESS, "that one only");
}

// The host stops at what it refuses: what went along behind it is asked for once more, and the refusal is not taken for its own answer.
void calls_behind_failed_writes(const char *extensions) {
    Variable none("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    Run run(extensions);
    Context context = guest::test::context();
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, 4096);
    Buffer buffer = run.buffer(4096);
    Buffer other = run.buffer(4096);
    ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    const std::string with = std::string(extensions) + ": ";
    uint64_t lost = 0;
    CapturedLog log;
    auto lose_a_write = [&] {
        expect(run.channel().lost_transfers() == lost++, with + "each is told of once");
        expect(run.channel().defer(Call::buffer_clear, BufferClearRequest{12345, 0}), "left to go along");
    };
    auto is_there = [&](uint64_t handle) {
        BufferGetBaseReply base;
        return run.channel().call(Call::buffer_get_base, BufferGetBaseRequest{handle}, base).ok();
    };
    lose_a_write();
    ggml_backend_buffer_clear(buffer.get(), 7);
    lose_a_write();
    std::vector<uint8_t> bytes(4096);
    ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
    expect(bytes == std::vector<uint8_t>(bytes.size(), 7), with + "a buffer is cleared, and read");
    lose_a_write();
    expect(run.buffer(4096) != nullptr, with + "another one is made");
    lose_a_write();
    ggml_tensor *floats = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 64);
    expect(ggml_backend_dev_supports_op(run.registry->device(), ggml_add(context.get(), floats, floats)), with + "an op is asked for");
    const uint64_t handle = remote_buffer(other.get()).handle();
    expect(is_there(handle), with + "it is there");
    lose_a_write();
    other.reset();
    expect(!is_there(handle) && is_there(remote_buffer(buffer.get()).handle()), with + "and freed");

    // One that is refused itself is refused twice, whatever goes along with it the second time.
    lose_a_write();
    expect(!is_there(handle), with + "refused");

    // A graph may have been computed in part, and has nothing to compute from.
    Scaled scaled(run, buffer.get());
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_FAILED, with + "the writes are told of");
    lose_a_write();
    const size_t sent = sum(run.records.fresh()).calls;
    expect(sent != 0 && ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_FAILED, with + "and the graph fails");
    expect(sum(run.records.fresh()).calls == 1, with + "it is sent once");
    expect(ggml_backend_graph_compute(run.backend.get(), scaled.graph) == GGML_STATUS_SUCCESS, with + "the next one is computed");
}

// The slot of a write that was refused is as good as any other.
void failed_writes_in_slots() {
    Run run("batch");
    BlobPool &slots = run.registry->session().data_slots();
    CapturedLog log;
    for (int round = 0; round < 6; ++round) {
        BlobPool::Lease slot = slots.take_beside();
        expect(static_cast<bool>(slot), "a slot");
        const BufferSetTensorRequest nonsense{12345, {}, slot->resource, 0, 16};
        expect(run.channel().defer_with(slot, 16, Call::buffer_set_tensor, nonsense) && !slot, "left to go along");
        slot = slots.take_beside();
        expect(!run.channel().defer_with(slot, 16, Call::buffer_set_tensor, nonsense) && slot, "no second one");
        DeviceGetMemoryReply reply;
        expect(run.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), "what it went along with");
    }
    expect(log.has("tensor writes that went along with a call") && run.channel().lost_transfers() == 6, "what has failed: " + log.text());
    std::vector<BlobPool::Lease> all;
    for (BlobPool::Lease slot; (slot = slots.take(Deadline(Clock::duration::zero())));) all.push_back(std::move(slot));
    expect(all.size() == 4, "all slots are there again");
}

// Whoever may have left the writes that failed is told, whatever they went along with.
void failed_writes_of_several_streams() {
    Run run("all");
    Buffer buffer = run.buffer(4096);
    Scaled scaled(run, buffer.get());
    auto stream = [&] { return Backend{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free}; };
    auto computes = [&](Backend &backend) { return ggml_backend_graph_compute(backend.get(), scaled.graph) == GGML_STATUS_SUCCESS; };
    auto lose_a_write = [&] {
        expect(run.channel().defer(Call::buffer_clear, BufferClearRequest{12345, 0}), "left to go along");
        size_t free_bytes = 0;
        size_t total_bytes = 0;
        ggml_backend_dev_memory(run.registry->device(), &free_bytes, &total_bytes);
    };
    Backend other = stream();
    expect(computes(run.backend) && computes(other), "two streams");
    CapturedLog log;
    for (int round = 0; round < 2; ++round) {
        lose_a_write();
        Backend late = stream();
        expect(!computes(run.backend) && !computes(other), "the next graph of each is refused");
        expect(!computes(late), "and of one that was made before anybody was told");
        expect(computes(run.backend) && computes(other) && computes(late), "that one only");
        Backend later = stream();
        expect(computes(later), "one that was made when all was told");
    }
}

void buffers_are_kept(const char *extensions, const char *path) {
    Run run(extensions, path);
    std::string what = std::string(path) + ", extensions " + extensions;
    const Call copied = std::string(extensions) == "none" ? Call::buffer_type_alloc_buffer : Call::alloc_with_base;
    Call making = std::string(path) == "copied" ? copied : Call::device_buffer_from_ptr;
    run.records.fresh();
    for (int i = 0; i < 1100; ++i) { // of more bytes than are kept, all together
        Buffer buffer = run.buffer(i % 2 == 0 ? 65536 : 60000);
        expect(ggml_backend_buffer_get_size(buffer.get()) == (i % 2 == 0 ? 65536U : 60000U), "the size that was asked for");
    }
    expect_calls(run, {{making, 1}, {Call::buffer_free_buffer, 0}}, what + ": the same buffer again");
    { Buffer large = run.buffer(1 << 20); }
    { Buffer small = run.buffer(16384); }
    expect_calls(run, {{making, 2}}, what + ": none that fits");
    {
        // One that is smaller than what the host has for it: its end is where the program was told.
        Buffer smaller = run.buffer(40000);
        Context context = guest::test::context();
        ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, 60000);
        tensor->buffer = smaller.get();
        tensor->data = ggml_backend_buffer_get_base(smaller.get());
        std::vector<uint8_t> bytes(60000);
        CapturedLog log;
        smaller->iface.set_tensor(smaller.get(), tensor, bytes.data(), 0, 60000);
        expect(log.has("outside its buffer"), what + ": a write behind the end");
    }
    run.records.fresh();
    {
        std::vector<Buffer> many;
        for (int i = 0; i < 100; ++i) many.push_back(run.buffer(1 << 20));
    }
    int freed = sum(run.records.fresh()).by_call[static_cast<uint32_t>(Call::buffer_free_buffer)];
    expect(freed >= 100 - 64, what + ": no more than 64 MiB are kept, freed " + std::to_string(freed));
    { Buffer giant = run.buffer(size_t{40} << 20); }
    expect_calls(run, {{Call::buffer_free_buffer, 1}}, what + ": a large one is not kept");
    run.backend.reset();
    run.registry.reset();
    std::map<uint32_t, int> calls = run.host.calls();
    expect(calls[uint32_t(Call::buffer_free_buffer)] == calls[uint32_t(making)], what + ": all are freed at the end");
}

// A graph that was sent ahead may still write to a buffer that the program has freed.
void buffers_in_use_are_not_kept(const char *path) {
    Run run("all", path);
    Buffer buffer = run.buffer(4096);
    Scaled scaled(run, buffer.get());
    Buffer unused = run.buffer(4096);
    for (int i = 0; i < 2; ++i) ggml_backend_graph_compute_async(run.backend.get(), scaled.graph);
    run.records.fresh();
    buffer.reset();
    expect_calls(run, {{Call::buffer_free_buffer, 1}}, std::string("freed behind the graph, ") + path);
    ggml_backend_synchronize(run.backend.get());
    unused.reset();
    expect_calls(run, {{Call::buffer_free_buffer, 0}}, std::string("kept when nothing is in flight, ") + path);
}

// A buffer that tells of its end.
class Counted : public RemoteBuffer {
  public:
    Counted(Session &session, size_t size, int &ended) : RemoteBuffer(session, 1, nullptr, size), ended_(ended) {}
    ~Counted() override { ++ended_; }
    bool set(const ggml_tensor *, const void *, size_t, size_t) override { return false; }
    bool get(const ggml_tensor *, void *, size_t, size_t) override { return false; }
    bool fill(const ggml_tensor *, uint8_t, size_t, size_t) override { return false; }
    bool begin_set(const ggml_tensor *, const void *, size_t, size_t, InFlight &) override { return false; }
    bool begin_get(const ggml_tensor *, void *, size_t, size_t, InFlight &) override { return false; }

  private:
    int &ended_;
};

void buffers_that_nobody_asks_for() {
    Run run("all");
    int ended = 0;
    auto counted = [&](size_t size) { return std::make_unique<Counted>(run.registry->session(), size, ended); };
    BufferReserve reserve(1 << 20, std::chrono::seconds(2));
    for (int i = 0; i < 3; ++i) reserve.give_back(counted(4096));
    expect(ended == 0, "kept at first");
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    reserve.give_back(counted(8192));
    expect(ended == 3, "given up when they are old");
    expect(reserve.take(100000) == nullptr && ended == 3, "the young one is still there");
    reserve.give_back(counted(700000));
    expect(ended == 4, "more than half of the room");
    run.channel().begin<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{}); // dropped, and the slot with it
    reserve.give_back(counted(4096));
    expect(ended == 5, "what the host may still be at is not used again");
    expect(reserve.give_up_all() && ended == 6 && !reserve.give_up_all(), "all given up");
    // The host carries out one after the other: it must be done with the dropped one's slot before that is unmapped.
    DeviceGetMemoryReply reply;
    expect(run.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), "the next call is answered");
}

void chosen_extensions() {
    auto has = [](const char *chosen, Extension extension) { return Run(chosen).registry->session().has(extension); };
    expect(!has("-batch", Extension::batch) && has("-batch", Extension::graph_ids), "all but one");
    expect(has("batch,graph_ids,-graph_ids", Extension::batch) && !has("batch,graph_ids,-graph_ids", Extension::graph_ids), "one taken away");
    CapturedLog log;
    expect(has("-nonsense", Extension::batch), "what is not known changes nothing");
}

void buffers_are_not_kept() {
    Variable none("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    {
        Run run("all");
        for (int i = 0; i < 5; ++i) run.buffer(65536);
        expect_calls(run, {{Call::alloc_with_base, 5}, {Call::buffer_type_alloc_buffer, 0}, {Call::buffer_get_base, 0}, {Call::buffer_free_buffer, 5}},
                     "a pool of nothing");
    }
    Run without("-buffer_base");
    for (int i = 0; i < 5; ++i) without.buffer(65536);
    expect_calls(without, {{Call::alloc_with_base, 0}, {Call::buffer_type_alloc_buffer, 5}, {Call::buffer_get_base, 5}}, "without the extension");
}

// Kept buffers make room when the window is full.
void a_full_window() {
    DevicePlan plan;
    plan.window = size_t{64} << 20; // of which the data page takes 24
    Run run("all", "shared", plan);
    {
        std::vector<Buffer> many;
        for (int i = 0; i < 24; ++i) many.push_back(run.buffer(1 << 20));
    }
    run.records.fresh();
    Buffer large = run.buffer(size_t{34} << 20);
    expect_calls(run, {{Call::device_buffer_from_ptr, 1}, {Call::alloc_with_base, 0}}, "room for a large one");
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    one_summary();
    small_writes_go_along();
    writes_in_slots_go_along();
    writes_in_slots_are_awaited_where_asked_for();
    writes_in_slots_do_not_stay();
    for (const char *extensions : {"none", "all"}) {
        answers_known_again(extensions);
        sizes_known_again(extensions);
    }
    for (const Records records : {Records::kept, Records::none}) {
        for (const char *extensions : {"all", "batch"}) writes_of_several_threads(extensions, records);
        writes_when_slots_are_short(records);
    }
    failed_writes();
    for (const char *extensions : {"batch", "all"}) calls_behind_failed_writes(extensions);
    failed_writes_in_slots();
    failed_writes_of_several_streams();
    for (const char *path : {"copied", "shared"})
        for (const char *extensions : {"none", "all"}) buffers_are_kept(extensions, path);
    for (const char *path : {"copied", "shared"}) buffers_in_use_are_not_kept(path);
    buffers_that_nobody_asks_for();
    chosen_extensions();
    buffers_are_not_kept();
    a_full_window();
    return failures();
}
