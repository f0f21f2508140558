// Copied transfers through a pipe: what is sent for them, all bytes, and a host that refuses, lies, or does nothing.
//
// Usage: test-guest-pipe HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

#include "extension_run.hpp"
#include "guest/data_pipe.hpp"
#include "guest/transfer_choice.hpp"
#include "pipe.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;

// Made once: byte by byte they were most of this test's time under AddressSanitizer.
std::vector<uint8_t> pattern(size_t size) {
    static std::vector<uint8_t> made;
    size_t i = made.size();
    if (size > i) made.resize(size);
    for (uint8_t *bytes = made.data(); i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 167 + i / 251);
    return {made.begin(), made.begin() + static_cast<ptrdiff_t>(size)};
}

ggml_tensor *bytes_in(Context &memory, Buffer &buffer, size_t size) {
    ggml_tensor *tensor = ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, static_cast<int64_t>(size));
    ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    return tensor;
}

void there_and_back() {
    for (const char *extensions : {"all", "pipes", "-pipes"}) {
        Run run(extensions);
        const bool pipes = run.registry->session().has(Extension::pipes);
        expect(pipes == (std::string(extensions) != "-pipes"), std::string("pipes with extensions ") + extensions);
        constexpr size_t beside = 100;
        for (size_t size : {least_piped - 1, least_piped, least_piped + 1, 2 * mib - 1, 2 * mib, 2 * mib + 1, 5 * mib + 3, 32 * mib, 33 * mib + 7}) {
            const std::string what = std::to_string(size) + " bytes, extensions " + extensions;
            Context memory = context();
            Buffer buffer = run.buffer(size + 2 * beside);
            ggml_tensor *tensor = bytes_in(memory, buffer, size + 2 * beside);
            std::vector<uint8_t> expected = pattern(size + 2 * beside);
            ggml_backend_tensor_memset(tensor, 0xee, 0, expected.size());
            run.records.fresh();
            ggml_backend_tensor_set(tensor, expected.data() + beside, beside, size);
            std::vector<uint8_t> back(size + 1, 0xaa);
            ggml_backend_tensor_get(tensor, back.data(), beside, size);
            const int times = static_cast<int>((size + 32 * mib - 1) / (32 * mib));
            Sent sent = sum(run.records.fresh());
            // Without the ring a command of its own, for little.
            const size_t least_out = run.registry->session().has(Extension::ring) ? least_piped : least_piped_out_by_ioctl;
            const auto number_of = [&](Call call) { return sent.by_call[static_cast<uint32_t>(call)]; };
            expect(number_of(Call::pipe_get_tensor) == (pipes && size >= least_piped ? times : 0), what + ": calls through a pipe, in");
            expect(number_of(Call::pipe_set_tensor) == (pipes && size >= least_out ? times : 0), what + ": calls through a pipe, out");
            if (pipes && size >= least_out) expect(number_of(Call::buffer_set_tensor) == 0, what + ": none besides");
            expect(std::equal(back.begin(), back.end() - 1, expected.begin() + beside) && back.back() == 0xaa, what + ": the same, and no more");
            std::fill(expected.begin(), expected.begin() + beside, 0xee);
            std::fill(expected.end() - beside, expected.end(), 0xee);
            std::vector<uint8_t> whole(expected.size());
            ggml_backend_tensor_get(tensor, whole.data(), 0, whole.size());
            expect(whole == expected, what + ": none beside them is written");
        }
    }
}

// By which way a whole transfer went: 1 through a pipe, 0 in pieces, -1 by both or none.
int piped(const Sent &sent, Call pipe, Call pieces) {
    const bool through_pipe = sent.by_call.count(static_cast<uint32_t>(pipe)) != 0;
    const bool in_pieces = sent.by_call.count(static_cast<uint32_t>(pieces)) != 0;
    return through_pipe == in_pieces ? -1 : through_pipe ? 1 : 0;
}

struct Ways {
    int out;
    int in;
};

Ways there_and_back(Run &run, size_t size, uint8_t salt) {
    Context memory = context();
    Buffer buffer = run.buffer(size);
    ggml_tensor *tensor = bytes_in(memory, buffer, size);
    std::vector<uint8_t> expected = pattern(size);
    expected.front() = expected.back() = salt;
    run.records.fresh();
    ggml_backend_tensor_set(tensor, expected.data(), 0, size);
    std::vector<uint8_t> back(size);
    ggml_backend_tensor_get(tensor, back.data(), 0, size);
    const Sent sent = sum(run.records.fresh());
    expect(back == expected, std::to_string(size) + " bytes are the same, the " + std::to_string(salt) + "th time");
    return {piped(sent, Call::pipe_set_tensor, Call::buffer_set_tensor), piped(sent, Call::pipe_get_tensor, Call::buffer_get_tensor)};
}

// Two threads do without a pipe.
int pipe_of(bool in) { return TransferChoice::of(in).by_two() ? 0 : 1; }

void who_carries_how_much_is_found_out() {
    for (const size_t most : {most_piped_out, most_piped_out_by_ioctl, size_t{0}}) {
        const bool pipes = most != 0;
        expect(!is_found_out(true, 32 * mib - 1, pipes, most) && is_found_out(true, 32 * mib, pipes, most) == !pipes, "32 MiB in");
        expect(is_found_out(true, 64 * mib, pipes, most) == !pipes && is_found_out(true, 64 * mib + 1, pipes, most), "64 MiB in");
        expect(!is_found_out(false, 48 * mib, pipes, most) && is_found_out(false, 48 * mib + 1, pipes, most) == (most == most_piped_out), "48 MiB out");
        expect(!is_found_out(false, most + 1, pipes, most), "more than goes out through a pipe");
    }
}

constexpr size_t turn = TransferChoice::Ways::in_a_row;

// A sanitizer looks at each byte of what is large, for a minute in all: there each turn has its first transfer only.
#ifdef APIR_SANITIZED
constexpr bool all_are_made = false;
#else
constexpr bool all_are_made = true;
#endif

bool is_made(size_t number) { return all_are_made || number % turn == 0; }

// One that is not made, and was as quick as all others of them.
void as_if_made(size_t size) {
    TransferChoice &choice = TransferChoice::of(true);
    choice.took(choice.by_two(), size, 20ms);
}

void what_is_large_goes_by_one_thread_and_by_two_until_it_is_known() {
    constexpr size_t open = surely_in_by_one + 1;
    {
        Run without("-pipes");
        for (uint8_t salt = 0; salt < turn; ++salt)
            if (is_made(salt)) expect(there_and_back(without, open, salt).in == 0, "several commands on their way: in pieces");
        expect(pipe_of(true) == 1, "in by two anyhow: nothing to find out");
    }
    size_t number = 0; // of the transfers in that are looked at
    {
        Run without("none");
        constexpr size_t size = surely_in_by_one_without_pipe + 1;
        for (; number <= turn; ++number) {
            expect(pipe_of(true) == (number < turn ? 1 : 0), "in by one and by two in turns");
            if (is_made(number)) expect(there_and_back(without, size, static_cast<uint8_t>(number)).in == 0, "where there is no pipe: in pieces");
            else as_if_made(size);
        }
        expect(pipe_of(false) == 1, "and out by two anyhow: nothing to find out");
    }
    Run run("all");
    expect(!run.registry->session().has(Extension::ring), "by EXECBUFFER");
    const Ways sure_in = there_and_back(run, surely_in_by_one, 1);
    expect(sure_in.in == 1, "not more than that in: through a pipe");
    for (; number < TransferChoice::Ways::uses; ++number) {
        const int in = pipe_of(true);
        if (!is_made(number)) {
            as_if_made(open);
            continue;
        }
        const Ways ways = there_and_back(run, open, static_cast<uint8_t>(number));
        expect(ways.in == in, "as it was chosen, the " + std::to_string(number) + "th time");
        expect(ways.out == 0 && pipe_of(false) == 1, "out by two anyhow");
    }
    const int in = pipe_of(true);
    for (; number < TransferChoice::Ways::uses + turn; ++number)
        if (is_made(number)) expect(there_and_back(run, open, static_cast<uint8_t>(number)).in == in, "always the same from then on");
    expect(there_and_back(run, most_piped_out_by_ioctl, 1).out == 1, "little out: through a pipe");
    expect(there_and_back(run, most_piped_out_by_ioctl + 1, 1).out == 0, "much out: in pieces");
}

void the_quicker_way_is_chosen_by_what_a_mebibyte_takes() {
    using namespace std::chrono_literals;
    for (const bool two_are_quicker : {true, false}) {
        TransferChoice choice;
        size_t by_two = 0;
        for (size_t trial = 0; trial < TransferChoice::Ways::uses; ++trial) {
            const bool two = choice.by_two();
            by_two += two ? 1 : 0;
            // Of different sizes: the slower way has less to do.
            const bool quicker = two == two_are_quicker;
            choice.took(two, quicker ? 256 * mib : 128 * mib, quicker ? 40ms : 25ms);
        }
        expect(by_two == TransferChoice::Ways::uses / 2, "in turns");
        expect(choice.by_two() == two_are_quicker, "the quicker one in the end");
    }
}

// A host with pipes whose part in them is scripted. Its buffers are not looked at.
struct PipedHost : ScriptedHost {
    PipedHost() {
        script(Call::negotiate, [](Reader &, Writer &writer) {
            write(writer, NegotiateReply{static_cast<uint64_t>(Extension::pipes)});
            return ok;
        });
    }
    void on_blob(uint32_t resource, const Blob &blob) override {
        ScriptedHost::on_blob(resource, blob);
        std::lock_guard lock(mutex);
        memory[resource] = blob.memory;
    }
    // `act` has the pipe's words and answers the call.
    template <typename Request> void on_pipe(Call call, std::function<uint32_t(uint32_t &put, uint32_t &taken)> act) {
        script(call, [this, act](Reader &reader, Writer &) {
            Request request;
            expect(read(reader, request), "a request");
            std::lock_guard lock(mutex);
            resources.push_back(request.resource);
            uint8_t *at = memory.at(request.resource);
            auto &put = *reinterpret_cast<uint32_t *>(at + pipe_put_offset);
            auto &taken = *reinterpret_cast<uint32_t *>(at + pipe_taken_offset);
            return act(put, taken);
        });
    }

    std::mutex mutex;
    std::map<uint32_t, uint8_t *> memory;
    std::vector<uint32_t> resources; // that came with calls
};

constexpr size_t size = 4 * mib;
constexpr auto failed = static_cast<uint32_t>(ReturnCode::call_failed);

struct Transfer {
    explicit Transfer(PipedHost &host) : bench(host), buffer(bench.buffer(size)), tensor(bytes_in(memory, buffer, size)) {}

    // Whether it was told of a failure.
    bool set_fails() {
        CapturedLog log;
        ggml_backend_tensor_set(tensor, data.data(), 0, size);
        text = log.text();
        return log.has("pipe_set_tensor");
    }
    // Whether what came is zeros, and it was told.
    bool get_fails() {
        CapturedLog log;
        std::vector<uint8_t> out(size, 0xee);
        ggml_backend_tensor_get(tensor, out.data(), 0, size);
        text = log.text();
        return log.has("pipe_get_tensor") && out == std::vector<uint8_t>(size, 0);
    }

    Variable path{"GGML_VIRTGPU_DATA_PATH", "copied"};
    Variable awaited{"GGML_VIRTGPU_WRITE_BEHIND", "off"}; // so that a failure is told by whoever fails
    Bench bench;
    Context memory = context();
    Buffer buffer;
    ggml_tensor *tensor;
    std::vector<uint8_t> data = pattern(size);
    std::string text;
};

// The next part of a transfer finds no reply slot that nobody waits for: it goes in pieces, from where the last part ended.
void the_rest_goes_in_pieces() {
    Variable calls("GGML_VIRTGPU_CALL_DEADLINE_MS", "2000");
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    PipedHost host;
    DevicePlan plan;
    plan.window = data_page_size + size_t{2} * blob_granularity;
    Bench bench(host, plan);
    constexpr size_t bytes = 33 * mib;
    Buffer buffer = bench.buffer(bytes);
    Context memory = context();
    ggml_tensor *tensor = bytes_in(memory, buffer, bytes);
    const std::vector<uint8_t> data = pattern(bytes);
    Channel &channel = bench.registry->session().channel();
    std::thread other;
    host.silence(Call::device_get_memory);
    size_t taken_over = 0;
    host.script(Call::pipe_set_tensor, [&](Reader &reader, Writer &) {
        PipeSetTensorRequest request;
        expect(read(reader, request) && request.offset == 0 && request.size == 32 * mib, "the first part");
        // Somebody else's call, which gets no answer, takes the other slot.
        other = std::thread([&] {
            DeviceGetMemoryReply reply;
            channel.call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply);
        });
        std::this_thread::sleep_for(200ms);
        std::lock_guard lock(host.mutex);
        PipeEnd end(host.memory.at(request.resource), {request.area, request.room}, request.size, PipeEnd::Role::empties);
        bool right = true;
        while (!end.done() && !end.broken()) {
            const size_t now = end.available();
            right = right && std::memcmp(end.place(), data.data() + end.moved(), now) == 0;
            end.move(now);
        }
        taken_over = end.moved();
        expect(right, "the bytes of the first part");
        return PipedHost::ok;
    });
    ggml_backend_tensor_set(tensor, data.data(), 0, bytes);
    expect(taken_over == 32 * mib, "the first part goes through the pipe");
    other.join();
    expect(!host.sent(Call::buffer_set_tensor).empty(), "the rest in pieces");
    expect(host.held(1, 32 * mib, mib) == std::vector<uint8_t>(data.begin() + 32 * mib, data.end()), "and arrives where it belongs");
}

void refusals() {
    PipedHost host;
    Transfer transfer(host);
    host.refuse(Call::pipe_set_tensor, failed);
    host.refuse(Call::pipe_get_tensor, failed);
    const auto start = Clock::now();
    expect(transfer.set_fails() && transfer.text.find("refused it with code 5") != std::string::npos, "a refused set: " + transfer.text);
    expect(transfer.get_fails() && transfer.text.find("refused it with code 5") != std::string::npos, "a refused get: " + transfer.text);
    expect(Clock::now() - start < 5s, "without waiting for the pipe");
}

// What it says of its end is none that can be, or it says that all went well before it did.
void lies() {
    const auto start = Clock::now();
    for (uint32_t word : {uint32_t{size} + 1, 0x80000000U, UINT32_MAX, 3U << 20}) {
        PipedHost host;
        Transfer transfer(host);
        host.on_pipe<PipeGetTensorRequest>(Call::pipe_get_tensor, [word](uint32_t &put, uint32_t &) {
            __atomic_store_n(&put, word, __ATOMIC_RELEASE);
            return PipedHost::ok;
        });
        expect(transfer.get_fails(), "put " + std::to_string(word) + ": " + transfer.text);
        host.on_pipe<PipeSetTensorRequest>(Call::pipe_set_tensor, [word](uint32_t &, uint32_t &taken) {
            __atomic_store_n(&taken, word, __ATOMIC_RELEASE);
            return PipedHost::ok;
        });
        expect(transfer.set_fails(), "taken " + std::to_string(word) + ": " + transfer.text);
    }
    PipedHost host;
    Transfer transfer(host);
    for (Call call : {Call::pipe_set_tensor, Call::pipe_get_tensor}) host.answer(call, {});
    const char *early = "the host ends it before its end";
    expect(transfer.set_fails() && transfer.text.find(early) != std::string::npos, "an early end: " + transfer.text);
    expect(transfer.get_fails() && transfer.text.find(early) != std::string::npos, "an early end: " + transfer.text);
    host.on_pipe<PipeGetTensorRequest>(Call::pipe_get_tensor, [](uint32_t &put, uint32_t &) {
        __atomic_store_n(&put, 100'000U, __ATOMIC_RELEASE);
        return PipedHost::ok;
    });
    // All that is put in but for the last byte.
    host.on_pipe<PipeSetTensorRequest>(Call::pipe_set_tensor, [](uint32_t &put, uint32_t &taken) {
        for (uint32_t now = 0; now < size; __atomic_store_n(&taken, std::min(now, uint32_t{size} - 1), __ATOMIC_RELEASE))
            now = __atomic_load_n(&put, __ATOMIC_ACQUIRE);
        return PipedHost::ok;
    });
    expect(transfer.get_fails() && transfer.text.find(early) != std::string::npos, "an end in the middle: " + transfer.text);
    expect(transfer.set_fails() && transfer.text.find(early) != std::string::npos, "an end before the last byte: " + transfer.text);
    expect(Clock::now() - start < 20s, "without waiting for more");
}

// Then the guest says that it has given up, and does not use the slot again: the host may still be at it.
void silence() {
    Variable calls("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    Variable graphs("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "300");
    PipedHost host;
    Transfer transfer(host);
    for (Call call : {Call::pipe_get_tensor, Call::pipe_set_tensor}) host.silence(call);
    const auto start = Clock::now();
    expect(transfer.get_fails(), "a get without an answer: " + transfer.text);
    expect(transfer.set_fails(), "a set without an answer: " + transfer.text);
    const auto took = Clock::now() - start;
    expect(took > 500ms && took < 10s, "for as long as the deadlines say");
    std::vector<uint32_t> used;
    for (Call call : {Call::pipe_get_tensor, Call::pipe_set_tensor}) {
        const std::vector<std::vector<uint8_t>> sent = host.sent(call);
        expect(sent.size() == 1, "one command");
        Reader reader(sent[0].data(), sent[0].size());
        CommandHeader header;
        PipeGetTensorRequest request; // of the same fields as the other one
        expect(read(reader, header) && read(reader, request), "a request");
        used.push_back(request.resource);
        const bool in = call == Call::pipe_get_tensor;
        const uint32_t word = __atomic_load_n(reinterpret_cast<uint32_t *>(host.memory.at(request.resource) + (in ? pipe_taken_offset : pipe_put_offset)), __ATOMIC_ACQUIRE);
        expect(word == pipe_given_up, "the host is told");
    }
    expect(used[0] != used[1], "each has a slot of its own");
}

// The host is told of whatever ends a transfer in the middle, and the slot is not used again: it may still be at it.
void what_throws_ends_a_transfer() {
    PipedHost host;
    Transfer transfer(host);
    int told = 0;
    host.on_pipe<PipeSetTensorRequest>(Call::pipe_set_tensor, [&](uint32_t &put, uint32_t &) {
        const auto given_up = [&] { return __atomic_load_n(&put, __ATOMIC_ACQUIRE) == pipe_given_up; };
        for (int i = 0; i < 1000 && !given_up(); ++i) std::this_thread::sleep_for(10ms);
        told += given_up() ? 1 : 0;
        return failed;
    });
    const PipedTransfer piped{false, 1, {}, 0, size, nullptr, Whereabouts::host_memory};
    CapturedLog log;
    for (int i = 0; i < 2; ++i) {
        const Moved moved = move_through_pipe(transfer.bench.registry->session(), piped, [](uint8_t *, size_t, size_t) { throw std::bad_alloc(); });
        expect(moved.bytes == 0 && !moved.well, "nothing has been moved");
    }
    expect(log.has("a transfer through a pipe: "), "why: " + log.text());
    transfer.buffer.reset(); // the host is past both
    expect(told == 2, "the host is told " + std::to_string(told) + " times");
    expect(host.resources.size() == 2 && host.resources[0] != host.resources[1], "each has a slot of its own");
}

// What cannot go on is awaited no longer than any call: the host's word is none that can be, or the device is lost meanwhile.
void what_cannot_go_on_is_not_awaited() {
    Variable calls("GGML_VIRTGPU_CALL_DEADLINE_MS", "200");
    Variable graphs("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "600000");
    for (const bool lost : {false, true}) {
        PipedHost host;
        std::atomic<bool> over{false};
        bool guest_was_first = false;
        {
            Transfer transfer(host);
            Channel &channel = transfer.bench.registry->session().channel();
            host.on_pipe<PipeGetTensorRequest>(Call::pipe_get_tensor, [&](uint32_t &put, uint32_t &) {
                if (lost) channel.lose("for a test");
                else __atomic_store_n(&put, UINT32_MAX, __ATOMIC_RELEASE);
                for (int i = 0; i < 1000 && !over; ++i) std::this_thread::sleep_for(10ms);
                guest_was_first = over;
                return PipedHost::ok;
            });
            std::vector<uint8_t> out(size, 0xee);
            ggml_backend_tensor_get(transfer.tensor, out.data(), 0, size);
            over = true;
            expect(out == std::vector<uint8_t>(size, 0), "what did not come is zeros");
        }
        expect(guest_was_first, lost ? "a lost device ends it" : "nonsense ends it");
    }
}

// The slots are the parent's as well, which may be in the middle of a transfer.
void a_forked_child_leaves_slots_alone() {
    PipedHost host;
    Transfer transfer(host);
    host.refuse(Call::pipe_set_tensor, failed);
    expect(transfer.set_fails(), "a transfer, so that there is a slot: " + transfer.text);
    const std::vector<std::vector<uint8_t>> sent = host.sent(Call::pipe_set_tensor);
    Reader reader(sent.at(0).data(), sent.at(0).size());
    CommandHeader header;
    PipeSetTensorRequest request;
    expect(read(reader, header) && read(reader, request), "a request");
    uint8_t *slot = host.memory.at(request.resource);
    std::memset(slot, 0xee, request.area + request.room);
    const pid_t child = fork();
    if (child == 0) {
        ggml_backend_tensor_set(transfer.tensor, transfer.data.data(), 0, size);
        ggml_backend_tensor_memset(transfer.tensor, 1, 0, size);
        std::vector<uint8_t> out(size, 1);
        ggml_backend_tensor_get(transfer.tensor, out.data(), 0, size);
        _exit(out == std::vector<uint8_t>(size, 0) ? 0 : 1);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child reads zeros: " + std::to_string(status));
    const std::vector<uint8_t> untouched(request.area + request.room, 0xee);
    expect(std::memcmp(slot, untouched.data(), untouched.size()) == 0, "and writes nothing into the slot");
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    who_carries_how_much_is_found_out();
    what_is_large_goes_by_one_thread_and_by_two_until_it_is_known(); // before other transfers of the process's have found out anything
    there_and_back();
    the_quicker_way_is_chosen_by_what_a_mebibyte_takes();
    the_rest_goes_in_pieces();
    refusals();
    lies();
    silence();
    what_throws_ends_a_transfer();
    what_cannot_go_on_is_not_awaited();
    a_forked_child_leaves_slots_alone();
    return failures() == 0 ? 0 : 1;
}
