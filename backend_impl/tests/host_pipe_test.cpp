// Calls 86 and 87 of the host library, with a guest of ours at the other end of the pipe.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "host_abi.hpp"
#include "host_loopback.hpp"
#include "pipe.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr size_t floats = 100'000;
constexpr size_t bytes = floats * 4;
constexpr uint32_t resource = Loopback::data_resource;
std::atomic<uint64_t> beats{0};
std::atomic<uint32_t> ending{0};

uint8_t byte_of(size_t n) { return static_cast<uint8_t>(n * 167 + n / 251); }

struct Host {
    explicit Host(std::map<std::string, std::string> config = cpu_config()) : loopback(1, std::move(config)) {
        expect_equal(loopback.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        void *library = Library(HOST_LIBRARY).handle;
        reinterpret_cast<HostProgress>(dlsym(library, "apir_backend_progress"))(1, &beats);
        reinterpret_cast<HostEnding>(dlsym(library, "apir_backend_ending"))(1, &ending);
        buffer = new_buffer(loopback, bytes);
        tensor.id = 1, tensor.buffer = buffer, tensor.ne[0] = floats, tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
        tensor.nb[0] = 4, tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = bytes;
    }

    // The call's code, and `guest` meanwhile at the other end.
    uint32_t run(Call call, PipeArea area, uint64_t offset, uint64_t size, const std::function<void(PipeEnd &)> &guest) {
        PipeEnd::lay_out(memory());
        const bool in = call == Call::pipe_get_tensor;
        uint32_t code = failed;
        std::thread host([&] {
            if (in) code = loopback.code(call, PipeGetTensorRequest{buffer, tensor, resource, area.begin, area.room, offset, size});
            else code = loopback.code(call, PipeSetTensorRequest{buffer, tensor, resource, area.begin, area.room, offset, size});
        });
        PipeEnd end(memory(), area, static_cast<size_t>(size), in ? PipeEnd::Role::empties : PipeEnd::Role::fills);
        guest(end);
        host.join();
        return code;
    }
    uint8_t *memory() { return loopback.resource(resource).data(); }
    uint32_t &word(uint32_t offset) { return *reinterpret_cast<uint32_t *>(memory() + offset); }

    Loopback loopback;
    uint64_t buffer;
    WideTensorRecord tensor;
};

template <typename Step> void to_the_end(PipeEnd &end, size_t most, Step step) {
    while (!end.done() && !end.broken()) {
        const size_t now = std::min(end.available(), most);
        if (now == 0) std::this_thread::yield();
        for (size_t i = 0; i < now; ++i) step(end.place()[i], end.moved() + i);
        end.move(now);
    }
}

void there_and_back() {
    Host host;
    for (const PipeArea area : {PipeArea{pipe_words_size, 1000}, PipeArea{4096, 65536}, PipeArea{200, 900'000}}) {
        for (const auto &[offset, size] : {std::pair<uint64_t, uint64_t>{0, bytes}, {12'345, 200'001}, {7, 0}}) {
            const std::string what = std::to_string(size) + " bytes at " + std::to_string(offset) + ", room " + std::to_string(area.room);
            const size_t salt = area.room;
            auto fill = [&](uint8_t &place, size_t n) { place = byte_of(n + salt); };
            expect_equal(host.run(Call::pipe_set_tensor, area, offset, size, [&](PipeEnd &end) { to_the_end(end, 3333, fill); }), ok, what + ", set");
            bool right = true;
            size_t seen = 0;
            auto compare = [&](uint8_t &place, size_t n) {
                right = right && place == byte_of(n + salt);
                ++seen;
            };
            expect_equal(host.run(Call::pipe_get_tensor, area, offset, size, [&](PipeEnd &end) { to_the_end(end, 2048, compare); }), ok, what + ", get");
            expect(right && seen == size, what + ", the same bytes");
        }
    }
}

// None of these may be waited for.
void requests_that_are_refused() {
    Host host;
    auto expect_refused = [&](PipeArea area, uint64_t offset, uint64_t size, const char *what) {
        for (Call call : {Call::pipe_set_tensor, Call::pipe_get_tensor})
            expect_equal(host.run(call, area, offset, size, [](PipeEnd &) {}), failed, what);
    };
    expect_refused({pipe_words_size, 0}, 0, 100, "no room");
    expect_refused({pipe_words_size - 4, 100}, 0, 100, "an area within the words");
    expect_refused({4096, 1 << 20}, 0, 100, "an area beyond the resource");
    expect_refused({UINT32_MAX, UINT32_MAX}, 0, 100, "an area beyond 32 bits");
    expect_refused({4096, 4096}, bytes - 10, 11, "bytes beyond the tensor");
    expect_refused({4096, 4096}, UINT64_MAX, 2, "an offset that overflows");
    expect_refused({4096, 4096}, 0, uint64_t{pipe_largest} + 1, "more than a pipe carries");
    host.buffer += 1000;
    expect_refused({4096, 4096}, 0, 100, "a buffer that is none");
}

void words_that_cannot_be() {
    Host host;
    const PipeArea area{4096, 8192};
    const auto start = std::chrono::steady_clock::now();
    for (uint32_t word : {8193U, uint32_t{bytes} + 1, pipe_given_up, 0x80000000U}) {
        auto lie = [&](PipeEnd &) { __atomic_store_n(&host.word(pipe_put_offset), word, __ATOMIC_RELEASE); };
        expect_equal(host.run(Call::pipe_set_tensor, area, 0, bytes, lie), failed, "put " + std::to_string(word));
    }
    for (uint32_t word : {8193U, uint32_t{bytes}, pipe_given_up}) {
        auto lie = [&](PipeEnd &) { __atomic_store_n(&host.word(pipe_taken_offset), word, __ATOMIC_RELEASE); };
        expect_equal(host.run(Call::pipe_get_tensor, area, 0, bytes, lie), failed, "taken " + std::to_string(word));
    }
    // Back behind what the host has taken.
    auto back = [&](PipeEnd &) {
        __atomic_store_n(&host.word(pipe_put_offset), 8000U, __ATOMIC_RELEASE);
        while (__atomic_load_n(&host.word(pipe_taken_offset), __ATOMIC_ACQUIRE) != 8000) std::this_thread::yield();
        __atomic_store_n(&host.word(pipe_put_offset), 100U, __ATOMIC_RELEASE);
    };
    expect_equal(host.run(Call::pipe_set_tensor, area, 0, bytes, back), failed, "put 100 behind 8000");
    expect(std::chrono::steady_clock::now() - start < std::chrono::seconds(20), "without waiting for more");
    expect_equal(host.loopback.code(Call::buffer_clear, BufferClearRequest{host.buffer, 1}), ok, "and the session goes on");
}

void a_guest_that_does_nothing() {
    auto config = cpu_config();
    config["ggml.pipe_wait_ms"] = "300";
    Host host(config);
    const uint64_t before = beats.load();
    for (Call call : {Call::pipe_set_tensor, Call::pipe_get_tensor}) {
        const auto start = std::chrono::steady_clock::now();
        expect_equal(host.run(call, {4096, 8192}, 0, bytes, [](PipeEnd &) {}), failed, "a guest that does nothing");
        const auto took = std::chrono::steady_clock::now() - start;
        expect(took >= std::chrono::milliseconds(300) && took < std::chrono::seconds(10), "for as long as it may");
    }
    expect(beats.load() > before, "while who watches sees that the host is well");
}

void a_context_that_ends() {
    Host host;
    for (Call call : {Call::pipe_set_tensor, Call::pipe_get_tensor}) {
        const auto start = std::chrono::steady_clock::now();
        const uint32_t code = host.run(call, {4096, 8192}, 0, bytes, [](PipeEnd &) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            ending = 1;
        });
        ending = 0;
        expect_equal(code, failed, "a pipe whose guest ends");
        expect(std::chrono::steady_clock::now() - start < std::chrono::seconds(10), "at once");
    }
}

void nobody_watches() {
    auto unwatched = cpu_loopback(2);
    const uint64_t all = ~uint64_t{0};
    const auto pipes = static_cast<uint64_t>(Extension::pipes);
    expect((unwatched->call<NegotiateReply>(Call::negotiate, NegotiateRequest{1, all, 0}).accepted & pipes) == 0, "no pipes");
    Host host;
    expect((host.loopback.call<NegotiateReply>(Call::negotiate, NegotiateRequest{1, all, 0}).accepted & pipes) != 0, "pipes");
    WideTensorRecord tensor = host.tensor;
    tensor.buffer = new_buffer(*unwatched, bytes);
    expect_equal(unwatched->code(Call::pipe_set_tensor, PipeSetTensorRequest{tensor.buffer, tensor, resource, 4096, 4096, 0, 100}), failed,
                 "a pipe where nobody watches");
}

// A buffer that lies where the pipe does.
void onto_itself() {
    Host host;
    const auto made = host.loopback.call<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{resource, 1 << 20, 1 << 20});
    host.buffer = host.tensor.buffer = made.buffer;
    for (Call call : {Call::pipe_set_tensor, Call::pipe_get_tensor})
        expect_equal(host.run(call, {4096, 8192}, 0, bytes, [](PipeEnd &) {}), failed, "bytes onto themselves");
}

} // namespace

int main() {
    there_and_back();
    requests_that_are_refused();
    words_that_cannot_be();
    a_guest_that_does_nothing();
    a_context_that_ends();
    nobody_watches();
    onto_itself();
    return failures == 0 ? 0 : 1;
}
