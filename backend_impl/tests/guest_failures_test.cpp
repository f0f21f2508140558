// What goes wrong after set-up: refusals, nonsense, silence, a dead worker. Each ends in a defined result and a message; nothing
// aborts, nothing waits longer than its deadline.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

// Failed calls leave defined results and a message, and the device goes on.
void test_refusals() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 0);
    CapturedLog log;
    for (Call call : {Call::buffer_get_tensor, Call::buffer_set_tensor, Call::buffer_clear, Call::buffer_cpy_tensor,
                      Call::buffer_type_alloc_buffer, Call::device_get_memory, Call::device_supports_op,
                      Call::buffer_type_get_alloc_size, Call::backend_graph_compute}) {
        host.refuse(call, static_cast<uint32_t>(ReturnCode::call_failed));
    }
    std::vector<uint8_t> out(100, 0xee);
    ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(out == std::vector<uint8_t>(100, 0), "a failed get leaves stale bytes");
    expect(log.has("get_tensor: the host refused it with code 5"), "a failed get says nothing");
    ggml_backend_tensor_set(tensor, out.data(), 0, 100);
    expect(log.has("set_tensor: the host refused it"), "a failed set says nothing");
    ggml_tensor *other = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 1024);
    ggml_backend_tensor_copy(tensor, other);
    expect(log.has("cpy_tensor: the host refused it"), "a failed copy says nothing");
    ggml_backend_buffer_clear(buffer.get(), 1);
    expect(bench.buffer(64) == nullptr, "a refused allocation gives a buffer");
    size_t free_bytes = 1;
    size_t total_bytes = 1;
    ggml_backend_dev_memory(bench.registry->device(), &free_bytes, &total_bytes);
    expect(free_bytes == 0 && total_bytes == 0, "memory of a refused call");
    ggml_tensor *sum = ggml_add(memory.get(), tensor, tensor);
    expect(!ggml_backend_dev_supports_op(bench.registry->device(), sum), "a refused supports_op says yes");
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), sum) == 100, "alloc size of a refused call");
}

// Of hosts that tell the base with the buffer, the same answers.
void test_hostile_buffers_with_base() {
    ScriptedHost host;
    host.script(Call::negotiate, [](Reader &, Writer &writer) {
        write(writer, NegotiateReply{static_cast<uint64_t>(Extension::buffer_base)});
        return ScriptedHost::ok;
    });
    Bench bench(host);
    CapturedLog log;
    host.answer(Call::alloc_with_base, from_hex("00000000000000000000000000010000"));
    expect(bench.buffer(64) == nullptr && host.sent(Call::buffer_free_buffer).empty(), "handle 0 is a buffer");
    size_t freed = 0;
    for (const char *base : {"0000000000000000", "e0ffffffffffffff", "", "0100000000010000"}) {
        host.answer(Call::alloc_with_base, from_hex("0100000000000000" + std::string(base)));
        expect(bench.buffer(64) == nullptr, std::string("base ") + base + " with its buffer accepted");
        expect(host.sent(Call::buffer_free_buffer).size() == ++freed, "and the buffer left on the host");
    }
    host.refuse(Call::alloc_with_base, static_cast<uint32_t>(ReturnCode::call_failed));
    expect(bench.buffer(64) == nullptr && log.has("alloc_buffer: the host refused it"), "a refusal: " + log.text());
}

void test_hostile_buffers() {
    ScriptedHost host;
    Bench bench(host);
    CapturedLog log;
    host.answer(Call::buffer_type_alloc_buffer, from_hex("0000000000000000"));
    expect(bench.buffer(64) == nullptr, "handle 0 is a buffer");
    host.answer(Call::buffer_type_alloc_buffer, from_hex("0100000000000000"));
    // 0, one that wraps around, none at all (an empty reply reads as the zeros that the guest left there), one that is not aligned.
    for (const char *base : {"0000000000000000", "e0ffffffffffffff", "", "0100000000010000"}) {
        host.answer(Call::buffer_get_base, from_hex(base));
        bool none = bench.buffer(64) == nullptr;
        expect(none, std::string("base ") + base + " accepted");
    }
    host.answer(Call::buffer_type_get_alloc_size, from_hex("ffffffffffffff7f"));
    Context memory = context();
    ggml_tensor *a = ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 8);
    ggml_tensor *sum = ggml_add(memory.get(), a, a);
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), sum) == 32, "an alloc size that libggml would abort on");
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), a) == 32, "an alloc size that no sum of counts in 64 bits");
    host.answer(Call::buffer_type_get_alloc_size, from_hex("0100000000000000"));
    ggml_tensor *product = ggml_mul(memory.get(), a, a);
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), product) == 32, "an alloc size below ggml_nbytes");
    ggml_tensor *weight = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 32);
    host.refuse(Call::buffer_type_get_alloc_size, static_cast<uint32_t>(ReturnCode::call_failed));
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), weight) == 34, "an alloc size that the host refuses to tell");
    host.answer(Call::buffer_type_get_alloc_size, from_hex("4000000000000000"));
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), weight) == 34, "and then tells: libggml has no room for it any more");
}

// What does not lie in its buffer is not sent, nor is it looked for in memory that is shared with the host.
void test_outside_of_a_buffer() {
    struct Place {
        size_t at, offset, bytes;
    };
    for (const bool shared : {false, true}) {
        ScriptedHost host;
        host.takes_pointers = shared;
        Bench bench(host);
        Context memory = context();
        Buffer buffer = bench.buffer(4096);
        ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 4096), 0);
        const auto base = reinterpret_cast<uintptr_t>(tensor->data);
        std::vector<uint8_t> bytes(64);
        CapturedLog log;
        buffer->iface.set_tensor(buffer.get(), tensor, bytes.data(), 4032, 64);
        expect(log.text().empty(), "the last ones of it: " + log.text());
        const size_t before = host.all().size();
        for (const Place &place : {Place{0, 4033, 64}, {0, 4097, 1}, {64, 4033, 1}, {4097, 0, 1}, {4097, SIZE_MAX, 1}, {SIZE_MAX, 0, 64}, {SIZE_MAX, 1, 64}}) {
            const std::string what = std::to_string(place.at) + " " + std::to_string(place.offset) + " " + std::to_string(place.bytes);
            tensor->data = reinterpret_cast<void *>(base + place.at);
            CapturedLog refused;
            buffer->iface.set_tensor(buffer.get(), tensor, bytes.data(), place.offset, place.bytes);
            expect(refused.has("outside its buffer") && host.all().size() == before, "a write at " + what);
        }
    }
}

// A host that does not answer costs one deadline; three in a row lose the device, and then nothing waits any more.
void test_deadlines() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "150");
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 0);
    host.silence(Call::buffer_get_tensor);
    CapturedLog log;
    std::vector<uint8_t> out(100, 0xee);
    auto start = Clock::now();
    ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    auto waited = Clock::now() - start;
    expect(waited >= 150ms && waited < 1s, "a call's deadline");
    expect(out == std::vector<uint8_t>(100, 0), "bytes of a call without a reply");
    expect(log.has("get_tensor: no reply from the host in time"), "a missing reply says nothing");

    auto reply_of = [](const std::vector<uint8_t> &command) { return command[8]; };
    auto data_of = [](const std::vector<uint8_t> &command) { return command[12 + 8 + TensorRecord::wire_size]; };
    ggml_backend_tensor_set(tensor, out.data(), 0, 100);
    auto get = host.sent(Call::buffer_get_tensor)[0];
    auto set = host.sent(Call::buffer_set_tensor)[0];
    expect(reply_of(get) != reply_of(set), "the reply slot of a call without a reply is used again");
    expect(data_of(get) != data_of(set), "the data slot of a call without a reply is used again");
    expect(!log.has("device lost"), "one call without a reply loses the device");

    for (int i = 0; i < 2; ++i) ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(!log.has("device lost"), "two in a row behind one that was answered");
    ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(log.has("device lost"), "three calls without a reply do not lose the device");
    start = Clock::now();
    for (int i = 0; i < 100; ++i) ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(Clock::now() - start < 100ms, "a lost device is waited for");
}

// The host may be at it for as long as nothing says that it is through with a call that it has not answered.
void test_shared_memory_in_doubt() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "300");
    ScriptedHost host;
    host.takes_pointers = true;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 0);
    const std::vector<uint8_t> bytes(100, 7);
    ggml_backend_tensor_set(tensor, bytes.data(), 0, 100);
    CapturedLog log;
    for (Call call : {Call::device_get_memory, Call::device_get_count}) host.silence(call);
    size_t unknown = 0;
    ggml_backend_dev_memory(bench.registry->device(), &unknown, &unknown);
    std::vector<uint8_t> out(100, 0xee);
    ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(out == std::vector<uint8_t>(100, 0) && log.has("behind a call without a reply"), "nothing of it is read: " + log.text());
    host.end_silence(Call::device_get_count);
    ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(out == bytes, "when it answers, all is");
}

// libggml allocates what it is told, and aborts when it is told more for the tensor in it: a size that was not told is no size.
void test_unanswered_sizes() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "150");
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    ggml_tensor *weight = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 32);
    host.answer(Call::buffer_type_get_alloc_size, from_hex("4000000000000000"));
    host.silence(Call::buffer_type_get_alloc_size);
    CapturedLog log;
    auto placed = [&] { return Buffer{ggml_backend_alloc_ctx_tensors_from_buft(memory.get(), bench.buft()), ggml_backend_buffer_free}; };
    expect(placed() == nullptr && log.has("get_alloc_size: no reply from the host in time"), "a buffer for a size that is not known");
    expect(host.sent(Call::buffer_type_alloc_buffer).empty(), "is not asked for");
    host.end_silence(Call::buffer_type_get_alloc_size);
    const Buffer buffer = placed();
    expect(buffer != nullptr && weight->buffer == buffer.get(), "when it is known it is made");
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), weight) == 64, "of that size");
    host.silence(Call::buffer_type_get_alloc_size);
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), weight) == 64, "which is known from then on");
    ggml_tensor *larger = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 96);
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), larger) > 1'000'000, "while the program has a buffer, another one is none either");

    host.silence(Call::device_supports_op);
    ggml_tensor *sum = ggml_add(memory.get(), weight, weight);
    expect(ggml_backend_dev_supports_op(bench.registry->device(), sum), "an op of which nothing was told, where the program has a buffer");
    host.end_silence(Call::device_supports_op);
    host.answer(Call::device_supports_op, {1});
    expect(ggml_backend_dev_supports_op(bench.registry->device(), sum) && host.sent(Call::device_supports_op).size() == 2, "is asked for again");

    // Nothing more will be told.
    bench.registry->session().channel().lose("the test says so");
    ggml_tensor *other = ggml_new_tensor_1d(memory.get(), GGML_TYPE_Q8_0, 64);
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), other) == 68, "a lost device");
}

void test_worker_lost() {
    ScriptedHost host;
    Bench bench(host);
    Doubling doubling(bench);
    host.refuse(Call::backend_graph_compute, static_cast<uint32_t>(ReturnCode::worker_lost));
    bench.backend(); // and freed again: it is no buffer of which to take account
    CapturedLog log;
    expect(doubling.compute() == GGML_STATUS_FAILED, "a graph of a dead worker");
    expect(log.has("the host's worker process has ended"), "a dead worker is not told");
    size_t before = host.all().size();
    expect(bench.buffer(64) == nullptr, "a buffer of a lost device");
    // libggml aborts where what is in a device's buffer cannot be computed there, and elsewhere would take zeros from it: that graph is to fail.
    ggml_tensor *product = ggml_mul(doubling.memory.get(), doubling.a, doubling.a);
    expect(ggml_backend_dev_supports_op(bench.registry->device(), product), "an op of a lost device on which the program has a buffer");
    doubling.buffer.reset();
    expect(!ggml_backend_dev_supports_op(bench.registry->device(), product), "an op of a lost device");
    expect(host.all().size() == before, "a lost device is still asked");
}

// Whoever awaits a reply, however long that may take, is told when somebody finds the device lost.
void test_a_lost_device_ends_what_is_awaited() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "600000");
    ScriptedHost host;
    std::atomic<bool> over{false};
    bool guest_was_first = false;
    {
        Bench bench(host);
        Channel &channel = bench.registry->session().channel();
        host.script(Call::device_get_memory, [&](Reader &, Writer &) {
            channel.lose("the test says so");
            for (int i = 0; i < 1000 && !over; ++i) std::this_thread::sleep_for(10ms);
            guest_was_first = over;
            return ScriptedHost::ok;
        });
        DeviceGetMemoryReply reply;
        expect(channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).outcome == Outcome::lost, "a call that is under way");
        over = true;
    }
    expect(guest_was_first, "the guest waits for the reply of a lost device");
}

// Other calls wait while a graph computes, however short their own deadline is; the graph has its own.
void test_graph_deadline() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "100");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "3000");
    ScriptedHost host;
    Bench bench(host);
    Doubling doubling(bench);
    std::atomic<bool> computing{false};
    host.script(Call::backend_graph_compute, [&](Reader &, Writer &reply) {
        computing = true;
        std::this_thread::sleep_for(600ms);
        reply.i32(0);
        return ScriptedHost::ok;
    });
    CapturedLog log;
    std::thread other([&] {
        while (!computing) std::this_thread::yield();
        size_t free_bytes = 0;
        size_t total_bytes = 0;
        ggml_backend_dev_memory(bench.registry->device(), &free_bytes, &total_bytes);
        expect(total_bytes == 2000, "a call behind a graph gives up");
    });
    expect(doubling.compute() == GGML_STATUS_SUCCESS, "a graph longer than a call's deadline");
    other.join();
}

// A graph has the only data slot, for longer than a call may take: a transfer waits for it.
void test_data_slot_of_a_graph() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "150");
    ScriptedHost host;
    DevicePlan plan;
    plan.window = data_page_size + size_t{8} * blob_granularity;
    Bench bench(host, plan);
    Doubling doubling(bench);
    std::atomic<bool> computing{false};
    host.script(Call::backend_graph_compute, [&](Reader &, Writer &reply) {
        computing = true;
        std::this_thread::sleep_for(800ms);
        reply.i32(0);
        return ScriptedHost::ok;
    });
    CapturedLog log;
    std::thread other([&] {
        while (!computing) std::this_thread::yield();
        const std::vector<float> numbers(8, 3.0F);
        ggml_backend_tensor_set(doubling.a, numbers.data(), 0, 32);
    });
    expect(doubling.compute() == GGML_STATUS_SUCCESS, "a graph with the only data slot");
    other.join();
    expect(host.sent(Call::buffer_set_tensor).size() == 1 && log.text().empty(), "a transfer that waits for its slot: " + log.text());
}

// Of blobs: the host may yet use one whose buffer it has not said to be freed, or not to be made.
void test_blobs_of_silent_calls() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "300");
    Variable none_kept("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    for (Call call : {Call::buffer_free_buffer, Call::device_buffer_from_ptr}) {
        ScriptedHost host;
        host.takes_pointers = true;
        Bench bench(host);
        CapturedLog log;
        host.silence(call);
        bench.buffer(4096);
        host.end_silence(call);
        bench.buffer(4096);
        const auto made = host.sent(Call::device_buffer_from_ptr);
        expect(made.size() == 2 && made[0][12] != made[1][12], std::string("a blob is used again behind a silent ") + call_name(static_cast<uint32_t>(call)));
    }
}

// A device that wants more than a mapping of the guest's has gets buffers of its own.
void test_alignment_of_blobs() {
    ScriptedHost host;
    host.takes_pointers = true;
    host.answer(Call::buffer_type_get_alignment, from_hex("0000002000000000"));
    host.answer(Call::buffer_get_base, from_hex("0000002000000000"));
    Bench bench(host);
    Buffer buffer = bench.buffer(4096);
    expect(ggml_backend_buffer_get_base(buffer.get()) == reinterpret_cast<void *>(uintptr_t{1} << 29), "a base that is aligned");
}

// What the host does not copy, libggml does.
void test_a_copy_that_the_host_does_not_make() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *from = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 0);
    ggml_tensor *to = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 1024);
    std::vector<uint8_t> bytes(100, 7);
    ggml_backend_tensor_set(from, bytes.data(), 0, 100);
    host.script(Call::buffer_cpy_tensor, [](Reader &, Writer &writer) {
        write(writer, BufferCpyTensorReply{false});
        return ScriptedHost::ok;
    });
    ggml_backend_tensor_copy(from, to);
    ggml_backend_tensor_get(to, bytes.data(), 0, 100);
    expect(bytes == std::vector<uint8_t>(100, 7) && host.sent(Call::buffer_set_tensor).size() == 2, "bytes that go by way of the guest");
}

// A host that says that it has more devices than there may be is asked for no more than that.
void test_devices_without_end() {
    ScriptedHost host;
    host.script(Call::negotiate, [](Reader &, Writer &writer) {
        write(writer, NegotiateReply{static_cast<uint64_t>(Extension::devices)});
        return ScriptedHost::ok;
    });
    host.script(Call::device_get_count, [](Reader &, Writer &writer) {
        write(writer, DeviceGetCountReply{1000});
        return ScriptedHost::ok;
    });
    host.refuse(Call::on_device, static_cast<uint32_t>(ReturnCode::call_failed));
    CapturedLog log;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(registry->devices.size() == 1 && host.sent(Call::on_device).size() < max_devices, "devices without end");
}

// For as long as a graph may take, otherwise.
void test_no_data_slot_of_a_lost_device() {
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "6000");
    ScriptedHost host;
    Bench bench(host);
    Session &session = bench.registry->session();
    std::vector<BlobPool::Lease> all;
    while (BlobPool::Lease slot = session.data_slots().take(Clock::now())) all.push_back(std::move(slot));
    CapturedLog log;
    session.channel().lose("the test says so");
    const auto start = Clock::now();
    expect(!session.data_slot_in_time(1) && Clock::now() - start < 3s, "nobody waits for a data slot of a lost device");
}

// However long a graph may take: the host is at none.
void test_slots_of_a_silent_host() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "6000"); // as good as none
    ScriptedHost host;
    DevicePlan plan;
    plan.window = data_page_size + size_t{3} * blob_granularity;
    std::unique_ptr<Registry> registry = set_up(host, plan);
    Session &session = registry->session();
    Channel &channel = session.channel();
    CapturedLog log;
    std::vector<BlobPool::Lease> all;
    while (BlobPool::Lease slot = session.data_slots().take(Clock::now())) all.push_back(std::move(slot));
    auto start = Clock::now();
    expect(!session.data_slot_in_time(1) && Clock::now() - start < 3s, "a data slot is waited for as an ordinary call is");

    // Calls that nobody awaits leave the last reply slot, which another one keeps.
    host.silence(Call::device_get_memory);
    std::vector<Channel::Pending<DeviceGetMemoryReply>> ahead;
    for (int i = 0; i < 2; ++i) ahead.push_back(channel.begin<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{}));
    DeviceGetMemoryReply reply;
    expect(ahead[1].sent() && channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).timed_out(), "three calls without a reply");
    CallTraits traits;
    traits.patience = Patience::graph;
    GraphRunReply ran;
    start = Clock::now();
    const CallResult result = channel.call(Call::graph_run, GraphRunRequest{1}, ran, traits);
    expect(result.outcome == Outcome::not_sent && Clock::now() - start < 3s, "a graph waits for a reply slot as an ordinary call does: " + result.text());
}

// A call without a reply keeps the last reply slot, and the window is full: kept blobs make room for another one.
void test_room_for_another_reply_slot(std::chrono::milliseconds closing) {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    Variable none_kept("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    for (const bool of_a_buffer : {false, true}) {
        const std::string what = std::string(of_a_buffer ? "of a freed buffer" : "of a data slot") + (closing == 0ms ? ": " : ", later: ");
        ScriptedHost host;
        host.takes_pointers = of_a_buffer;
        DevicePlan plan;
        plan.window = data_page_size + size_t{of_a_buffer ? 2U : 1U} * blob_granularity;
        plan.closing = closing;
        CapturedLog log;
        Bench bench(host, plan);
        Session &session = bench.registry->session();
        std::vector<BlobPool::Lease> lent;
        if (of_a_buffer) {
            lent.push_back(session.data_slots().take(Clock::now()));
            bench.buffer(blob_granularity);
        }
        DeviceGetMemoryReply reply;
        host.silence(Call::device_get_memory);
        expect(session.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).timed_out(), what + "a call without a reply");
        host.end_silence(Call::device_get_memory);
        expect(session.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), what + "the next call: " + log.text());
        lent.clear();
        BlobPool::Lease slot = session.data_slots().take(Clock::now());
        expect(slot && slot->size >= data_page_size / 2, what + "a data slot has all the room that there is");
        slot = {};
        Buffer buffer = bench.buffer(4096);
        Context memory = context();
        ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 0);
        const std::vector<uint8_t> bytes(100, 7);
        std::vector<uint8_t> back(100);
        ggml_backend_tensor_set(tensor, bytes.data(), 0, 100);
        ggml_backend_tensor_get(tensor, back.data(), 0, 100);
        expect(back == bytes && !log.has("device lost"), what + "transfers go on: " + log.text());
    }
}

// The only data slot is lent to the very call that would need its room: that call fails, and the next ones go on.
void test_room_for_a_reply_slot_of_a_transfer() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    ScriptedHost host;
    host.takes_pointers = false;
    DevicePlan plan;
    plan.window = data_page_size + blob_granularity;
    CapturedLog log;
    Bench bench(host, plan);
    Session &session = bench.registry->session();
    Buffer buffer = bench.buffer(4096);
    Context memory = context();
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 4096), 0);
    DeviceGetMemoryReply reply;
    host.silence(Call::device_get_memory);
    expect(session.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).timed_out(), "a call without a reply");
    host.end_silence(Call::device_get_memory);
    const std::vector<uint8_t> bytes(4096, 7);
    std::vector<uint8_t> back(4096);
    ggml_backend_tensor_get(tensor, back.data(), 0, back.size());
    expect(!log.has("device lost"), "the device is there: " + log.text());
    expect(session.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).ok(), "the next call: " + log.text());
    ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
    ggml_backend_tensor_get(tensor, back.data(), 0, back.size());
    expect(back == bytes && !log.has("device lost"), "transfers go on: " + log.text());
}

// What happens to its blobs and its commands is for tests to say.
class HookedDevice : public FakeDevice {
  public:
    using FakeDevice::FakeDevice;
    Status create_blob(size_t size, Blob &blob) override {
        if (before_blob) before_blob(size);
        return FakeDevice::create_blob(size, blob);
    }
    void close_blob(Blob &blob) override {
        if (blob.size == data_page_size) ++data_slots_closed;
        FakeDevice::close_blob(blob);
    }
    Status submit(const void *command, size_t size) override {
        if (throws.exchange(false)) throw std::bad_alloc();
        return FakeDevice::submit(command, size);
    }

    static inline std::function<void(size_t)> before_blob;
    static inline int data_slots_closed = 0;
    static inline std::atomic<bool> throws{false};
};

// Another thread makes a data slot of the room that this call has made for itself, and has it still, or has given it back: the call
// fails alone.
void test_room_that_another_has_first() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    for (const bool still : {true, false}) {
        ScriptedHost host;
        DevicePlan plan;
        plan.window = data_page_size + blob_granularity;
        CapturedLog log;
        Bench bench(make_registry(std::make_unique<HookedDevice>(plan, host)));
        Session &session = bench.registry->session();
        DeviceGetMemoryReply reply;
        const auto ask = [&] { return session.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply); };
        host.silence(Call::device_get_memory);
        expect(ask().timed_out(), "a call without a reply");
        host.end_silence(Call::device_get_memory);
        BlobPool::Lease another;
        HookedDevice::data_slots_closed = 0;
        bool taken = false;
        HookedDevice::before_blob = [&](size_t size) {
            if (size != reply_page_size || HookedDevice::data_slots_closed != 1 || std::exchange(taken, true)) return;
            another = session.data_slots().take(Clock::now());
            expect(static_cast<bool>(another), "a data slot of the room");
            if (!still) another = {};
        };
        expect(!ask().ok() && HookedDevice::data_slots_closed == 1, "a call whose room another has");
        HookedDevice::before_blob = nullptr;
        another = {};
        expect(ask().ok() && !log.has("device lost"), "the next call: " + log.text());
    }
}

// A graph that was not handed over, for that threw, is none that others wait for.
void test_graph_whose_submission_throws() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "5000");
    ScriptedHost host;
    Bench bench(make_registry(std::make_unique<HookedDevice>(DevicePlan{}, host)));
    Channel &channel = bench.registry->session().channel();
    CapturedLog log;
    CallTraits traits;
    traits.patience = Patience::graph;
    HookedDevice::throws = true;
    bool thrown = false;
    try {
        GraphRunReply ran;
        channel.call(Call::graph_run, GraphRunRequest{1}, ran, traits);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    host.silence(Call::device_get_memory);
    DeviceGetMemoryReply reply;
    const Clock::time_point start = Clock::now();
    expect(channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply).timed_out(), "a call without a reply");
    expect(thrown && Clock::now() - start < 3s, "it waits for a graph that there is not");
}

// While it is awaited something is thrown, here by the program's log: the host may yet come to the data slot.
void test_data_slot_of_a_call_that_throws() {
    Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "100");
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "100");
    for (const bool graph : {false, true}) {
        ScriptedHost host;
        Bench bench(host);
        Doubling doubling(bench);
        const Call last = graph ? Call::backend_graph_compute : Call::buffer_get_tensor;
        for (const Call call : {Call::device_get_memory, last}) host.silence(call);
        Session &session = bench.registry->session();
        {
            CapturedLog log;
            DeviceGetMemoryReply reply;
            for (int i = 0; i < 2; ++i) session.channel().call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply);
        }
        static std::atomic<int> thrown{0};
        thrown = 0;
        ggml_log_set(
            [](ggml_log_level, const char *text, void *) {
                if (std::strstr(text, "device lost") == nullptr) return;
                ++thrown;
                throw std::bad_alloc();
            },
            nullptr);
        std::vector<uint8_t> back(32);
        if (graph) doubling.compute();
        else ggml_backend_tensor_get(doubling.a, back.data(), 0, back.size());
        ggml_log_set(nullptr, nullptr);
        const std::string what = graph ? "a graph: " : "a transfer: ";
        expect(thrown == 1 && host.sent(last).size() == 1, what + "one that throws while it is awaited");
        const std::vector<uint8_t> sent = host.sent(last).at(0);
        const BlobPool::Lease slot = session.data_slots().take(Clock::now());
        expect(slot && slot->resource != sent[12 + (graph ? 0 : 8 + TensorRecord::wire_size)], what + "its data slot is used again");
    }
}

// The host has never heard of it.
void test_data_slot_of_a_call_whose_submission_throws() {
    for (const bool graph : {false, true}) {
        ScriptedHost host;
        Bench bench(make_registry(std::make_unique<HookedDevice>(DevicePlan{}, host)));
        Doubling doubling(bench);
        BlobPool &slots = bench.registry->session().data_slots();
        const auto next = [&slots] { return slots.take(Clock::now())->resource; };
        const uint32_t before = next();
        CapturedLog log;
        HookedDevice::throws = true;
        std::vector<uint8_t> back(32);
        if (graph) doubling.compute();
        else ggml_backend_tensor_get(doubling.a, back.data(), 0, back.size());
        const std::string what = graph ? "a graph: " : "a transfer: ";
        const Call last = graph ? Call::backend_graph_compute : Call::buffer_get_tensor;
        expect(!HookedDevice::throws && host.sent(last).empty(), what + "one that is not handed over");
        expect(next() == before, what + "its data slot is used again");
    }
}

// The host may yet read a graph that it has not answered.
void test_data_slot_of_a_silent_graph() {
    Variable graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "100");
    ScriptedHost host;
    Bench bench(host);
    Doubling doubling(bench);
    host.silence(Call::backend_graph_compute);
    CapturedLog log;
    expect(doubling.compute() == GGML_STATUS_FAILED, "a graph without a reply");
    const std::vector<float> numbers(8, 3.0F);
    ggml_backend_tensor_set(doubling.a, numbers.data(), 0, 32);
    const auto graph = host.sent(Call::backend_graph_compute)[0];
    const auto set = host.sent(Call::buffer_set_tensor)[0];
    expect(graph[12] != set[12 + 8 + TensorRecord::wire_size], "its data slot is used again");
}

// With the extension a graph has no deadline of the guest's own, except one that the user wants; a dead worker ends it at once.
void test_liveness() {
    auto accepted = [](uint64_t bits) {
        return [bits](Reader &, Writer &reply) {
            reply.u64(bits);
            return ScriptedHost::ok;
        };
    };
    auto patience = [&](uint64_t bits) {
        ScriptedHost host;
        host.script(Call::negotiate, accepted(bits));
        std::unique_ptr<Registry> registry = set_up(host);
        Clock::time_point before = Clock::now();
        return registry->session().channel().deadline(Patience::graph).moment() - before;
    };
    uint64_t liveness = static_cast<uint64_t>(Extension::liveness);
    expect(patience(0) >= 600s && patience(0) < 601s, "without the extension: the documented limit");
    expect(patience(liveness) > std::chrono::hours(24 * 365), "with it: no limit");
    {
        Variable none("GGML_VIRTGPU_EXTENSIONS", "none");
        expect(patience(liveness) < 601s, "an extension that was not offered");
    }
    {
        Variable wished("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "5000");
        expect(patience(liveness) < 6s, "the user's limit holds");
    }
    ScriptedHost host;
    host.script(Call::negotiate, accepted(liveness));
    Bench bench(host);
    Doubling doubling(bench);
    host.script(Call::backend_graph_compute, [](Reader &, Writer &) {
        std::this_thread::sleep_for(300ms); // the component notices that the worker has ended
        return static_cast<uint32_t>(ReturnCode::worker_lost);
    });
    CapturedLog log;
    auto start = Clock::now();
    expect(doubling.compute() == GGML_STATUS_FAILED, "a graph whose worker ends");
    expect(Clock::now() - start < 1s, "is waited for");
}

} // namespace

int main() {
    // A failure is told by the call that fails; of others guest_write_behind_test.cpp tells.
    Variable all_awaited("GGML_VIRTGPU_WRITE_BEHIND", "off");
    test_refusals();
    test_hostile_buffers();
    test_hostile_buffers_with_base();
    test_outside_of_a_buffer();
    test_deadlines();
    test_shared_memory_in_doubt();
    test_unanswered_sizes();
    test_worker_lost();
    test_a_lost_device_ends_what_is_awaited();
    test_graph_deadline();
    test_data_slot_of_a_graph();
    test_data_slot_of_a_silent_graph();
    test_no_data_slot_of_a_lost_device();
    test_slots_of_a_silent_host();
    for (const auto closing : {0ms, 30ms}) test_room_for_another_reply_slot(closing);
    test_room_for_a_reply_slot_of_a_transfer();
    test_room_that_another_has_first();
    test_graph_whose_submission_throws();
    test_data_slot_of_a_call_that_throws();
    test_data_slot_of_a_call_whose_submission_throws();
    test_blobs_of_silent_calls();
    test_alignment_of_blobs();
    test_a_copy_that_the_host_does_not_make();
    test_devices_without_end();
    test_liveness();
    return failures();
}
