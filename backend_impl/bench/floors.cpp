#include "floors.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "apir_gen.hpp"
#include "clock.hpp"
#include "copy_loops.hpp"
#include "echo_call.hpp"
#include "guest/emulated.hpp"
#include "guest/emulated_pages.hpp"

namespace apir::bench {

namespace {

constexpr uint32_t venus_capset = 4;
constexpr uint32_t apir_capset = 10;
constexpr uint64_t answer_limit_ns = 10'000'000'000;
constexpr uint64_t looked_ns = 200'000; // an answer is looked for all the time before others get the processor
constexpr size_t page = 4096;
constexpr size_t kib = 1024;
constexpr size_t host_window = 1024 * kib; // of a slot, as in a transfer

std::atomic<uint32_t> &first_word(const guest::Blob &blob) { return *reinterpret_cast<std::atomic<uint32_t> *>(blob.memory); }

void require(const guest::Status &status) {
    if (!status.ok()) throw Failure(status.text());
}

// Every page is there before the clock runs.
void touch(uint8_t *memory, size_t size) {
    for (size_t at = 0; at < size; at += page) memory[at] = static_cast<uint8_t>(at >> 12);
}

// What the guest library does for its transfers (guest/emulated_pages.hpp), done for the loops beside them as well.
void grow_page_tables(uint8_t *to, const uint8_t *from, size_t size) {
    for (size_t reached = size_t{1} << 20; reached <= 2 * size; reached *= 2) {
        copy_floors().back().copy(to, from, size);
        guest::empty_page_table();
    }
}

} // namespace

Floors::Floors(std::unique_ptr<guest::Device> device) : device_(std::move(device)) {
    open();
    reply_ = blob(blob_granularity);
    word_ = blob(blob_granularity);
    const uint32_t version[] = {protocol_major, protocol_minor};
    send(static_cast<uint32_t>(CommandType::handshake), 0, version, 2);
    if (answer() != handshake_magic) throw Failure("no handshake");
    send(static_cast<uint32_t>(CommandType::load_library), 0, nullptr, 0);
    if (uint32_t code = answer(); code != 0) throw Failure("the host library was not loaded: code " + std::to_string(code));
    const uint32_t nothing[] = {word_.resource, 0};
    send(static_cast<uint32_t>(CommandType::forward), echo_call, nothing, 2);
    if (answer() != static_cast<uint32_t>(ReturnCode::ok)) throw Failure("the host library of this context is not the benchmark's");
}

Floors::~Floors() {
    device_->close_blob(word_);
    device_->close_blob(reply_);
}

void Floors::open() {
    const bool own_capset = std::getenv("GGML_REMOTING_USE_APIR_CAPSET") != nullptr;
    type_offset_ = own_capset ? 0 : venus_command_offset;
    std::string why = "there is no render node";
    for (const std::string &node : device_->nodes()) {
        guest::Status status = device_->open(node);
        if (status.ok()) status = device_->init_context(own_capset ? apir_capset : venus_capset);
        if (status.ok()) return;
        why = status.text();
    }
    throw Failure(why);
}

guest::Blob Floors::blob(size_t size) {
    guest::Blob made;
    require(device_->create_blob(size, made));
    return made;
}

void Floors::send(uint32_t type, uint32_t call, const uint32_t *payload, size_t words) {
    uint32_t command[8] = {type + type_offset_, call, reply_.resource};
    if (words != 0) std::memcpy(command + 3, payload, words * sizeof *payload);
    first_word(reply_).store(0, std::memory_order_release);
    require(device_->submit(command, (3 + words) * sizeof *command));
}

uint32_t Floors::answer() {
    const uint64_t start = now_ns();
    for (;;) {
        uint32_t notify = first_word(reply_).load(std::memory_order_acquire);
        if (notify != 0) return notify - 1;
        uint64_t waited = now_ns() - start;
        if (waited > answer_limit_ns) throw Failure("no answer from the host");
        if (waited > looked_ns) std::this_thread::yield();
    }
}

void Floors::word(const Request &request, Row &row) {
    const uint32_t rounds = static_cast<uint32_t>(request.number("rounds", 1000));
    const uint32_t payload[] = {word_.resource, rounds};
    std::atomic<uint32_t> &word = first_word(word_);
    word.store(0, std::memory_order_release);
    send(static_cast<uint32_t>(CommandType::forward), echo_call, payload, 2);
    uint32_t number = 1;
    // The first round finds the worker asleep; no floor.
    std::vector<uint64_t> samples = timed(rounds, [&] {
        word.store(number, std::memory_order_release);
        uint64_t looks = 0;
        while (word.load(std::memory_order_acquire) != number + 1)
            if (++looks == (uint64_t{1} << 32)) throw Failure("the host has stopped looking at the word");
        number += 2;
    }).ns;
    if (answer() != static_cast<uint32_t>(ReturnCode::ok)) throw Failure("the word was not answered");
    samples.erase(samples.begin());
    row.numbers("ns", samples);
}

void Floors::submission(const Request &request, Row &row) {
    const uint32_t version[] = {protocol_major, protocol_minor};
    const auto pause = std::chrono::milliseconds(request.number("pause_ms", 0, 0));
    std::vector<uint64_t> submitted;
    std::vector<uint64_t> answered;
    for (size_t left = request.number("rounds", 100); left > 0; --left) {
        if (pause.count() != 0) std::this_thread::sleep_for(pause);
        uint64_t start = now_ns();
        send(static_cast<uint32_t>(CommandType::handshake), 0, version, 2);
        submitted.push_back(now_ns() - start);
        if (answer() != handshake_magic) throw Failure("no handshake");
        answered.push_back(now_ns() - start);
    }
    row.numbers("ns", submitted).numbers("answered_ns", answered);
}

// The device is busy with those before, so that nobody has to be woken for one: what the guest's kernel takes.
void Floors::burst(const Request &request, Row &row) {
    std::vector<uint64_t> samples = timed(request.number("rounds", 20), [&] {
        const uint32_t kick[] = {static_cast<uint32_t>(CommandType::forward) + type_offset_, static_cast<uint32_t>(Call::ring_kick), 0};
        require(device_->submit(kick, sizeof kick));
    }).ns;
    samples.erase(samples.begin());
    row.numbers("ns", samples);
}

void Floors::copy(const Request &request, Row &row) {
    const size_t size = request.number("size", 1 << 20);
    const size_t rounds = request.number("rounds", 2);
    const bool to_blob = request.text("direction", "to") == "to";
    std::vector<uint8_t> memory(size);
    guest::Blob shared = blob(size);
    touch(memory.data(), size);
    touch(shared.memory, size);
    uint8_t *to = to_blob ? shared.memory : memory.data();
    const uint8_t *from = to_blob ? memory.data() : shared.memory;
    row.number("size", size);
    if (guest::is_emulated()) grow_page_tables(to, from, size);
    for (const CopyFloor &floor : copy_floors()) row.numbers(floor.name.c_str(), timed(rounds, [&] { floor.copy(to, from, size); }).ns);
    device_->close_blob(shared);
}

// By the host's clock. It has to say something, and cannot have copied for longer than this side waited.
uint64_t Floors::copied_by_host(const uint32_t *payload, size_t words) {
    uint8_t *said = reply_.memory + sizeof(uint32_t);
    uint64_t took_ns = 0;
    std::memset(said, 0, sizeof took_ns);
    const uint64_t start = now_ns();
    send(static_cast<uint32_t>(CommandType::forward), copy_call, payload, words);
    if (answer() != static_cast<uint32_t>(ReturnCode::ok)) throw Failure("the host did not copy");
    const uint64_t waited = now_ns() - start;
    std::memcpy(&took_ns, said, sizeof took_ns);
    if (took_ns == 0) throw Failure("the host does not say how long it copied");
    if (took_ns > waited) throw Failure("the host says that it copied for longer than its answer took");
    return took_ns;
}

// Nobody else uses the slot meanwhile: in a transfer it takes no less.
void Floors::host_copy(const Request &request, Row &row) {
    const size_t size = request.number("size", 1 << 20, kib) / kib * kib;
    const size_t rounds = request.number("rounds", 2);
    const uint32_t out = request.text("direction", "to") == "to";
    guest::Blob shared = blob(std::min(size, host_window));
    touch(shared.memory, shared.size);
    row.number("size", size);
    for (const uint32_t past_caches : {0U, 1U}) {
        const uint32_t payload[] = {shared.resource, out, past_caches, static_cast<uint32_t>(shared.size / kib), static_cast<uint32_t>(size / kib)};
        std::vector<uint64_t> samples;
        // The first one finds the host's memory as it was never used.
        for (size_t round = 0; round <= rounds; ++round) {
            const uint64_t took_ns = copied_by_host(payload, 5);
            if (round != 0) samples.push_back(took_ns);
        }
        row.numbers(past_caches != 0 ? "past_caches" : "memcpy", samples);
    }
    device_->close_blob(shared);
}

} // namespace apir::bench
