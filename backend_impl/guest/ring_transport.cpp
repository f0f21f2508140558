#include "ring_transport.hpp"

#include <exception>

#include "log.hpp"

namespace apir::guest {

namespace {

// More commands wait at once than any program has threads, and each slot takes the longest one.
constexpr RingShape shape{32, (batch_command_size + ring_command_offset + 63) / 64 * 64};

} // namespace

std::unique_ptr<RingTransport> RingTransport::lay_out(Device &device, uint32_t type_offset, std::string &error) {
    static_assert(shape.slots >= 2 && shape.slot_size >= batch_command_size + ring_command_offset);
    Blob blob;
    Status status = device.create_blob_in_time(shape.bytes(), blob);
    if (!status.ok()) {
        error = status.text();
        return nullptr;
    }
    return std::unique_ptr<RingTransport>(new RingTransport(device, blob, type_offset));
}

// Apart from the way of a command that goes well, which is to fit into a page.
[[gnu::cold]] Status RingTransport::not_pushed(Push pushed, const char *gone, size_t size) {
    if (gone != nullptr) return Status::failure(gone);
    switch (pushed) {
    case Push::full: return Status::no_room("the command ring is full and the host takes nothing from it");
    case Push::refused: return Status::failure("a command of " + std::to_string(size) + " bytes does not fit the command ring");
    default: return Status::failure("the host has written nonsense into the command ring");
    }
}

RingTransport::RingTransport(Device &device, Blob blob, uint32_t type_offset)
    : device_(device), blob_(blob), type_offset_(type_offset), producer_(blob.memory, shape) {}

RingTransport::~RingTransport() { device_.close_blob(blob_); }

RingCreateRequest RingTransport::offer() const { return {blob_.resource, shape.slots, shape.slot_size}; }

// A command that is in the ring is on its way even when this fails: the next one rings again, and so does at each step whoever waits, for a graph may have
// no deadline. What fails again and again is told once.
// What is thrown (there may be no memory for the text of a failure) is one, too: whoever pushed the command must not take it for one that was not handed over.
void RingTransport::ring_doorbell() noexcept {
    const bool told = unrung_.exchange(false);
    try {
        uint8_t kick[12];
        Writer writer(kick, sizeof kick);
        write(writer, CommandHeader{type_offset_ + static_cast<uint32_t>(CommandType::forward), static_cast<uint32_t>(Call::ring_kick), 0});
        const Status status = device_.submit(kick, sizeof kick);
        if (!status.ok()) not_rung(status.text().c_str(), !told);
    } catch (const std::exception &error) {
        not_rung(error.what(), !told);
    }
}

// Others may ring before it is told: the program's log may wait for one of them.
void RingTransport::not_rung(const char *why, bool tells) noexcept {
    unrung_ = true;
    producer_.doorbell_failed();
    if (!tells) return;
    try {
        log(LogLevel::error, "the host's worker cannot be woken: %s", why);
    } catch (const std::exception &) { // of that log; it has nowhere to be told
    }
}

// Until there is room; `full` when time is up.
Push RingTransport::push_later(const uint8_t *command, size_t size, const Deadline &until) {
    static const std::atomic<uint32_t> nothing{0};
    ReplyWait wait(nothing, room_);
    Push pushed = producer_.push(command, size);
    while (pushed == Push::full && gone() == nullptr && wait.pause() < until.moment()) {
        remind(); // those whose commands fill it may all have failed to wake the worker
        pushed = producer_.push(command, size);
    }
    return pushed;
}

Status RingTransport::submit(const uint8_t *command, size_t size, const Deadline &until, OtherSide &other) {
    Push pushed = producer_.push(command, size);
    if (pushed == Push::full) pushed = push_later(command, size, until);
    const char *why = gone();
    if (pushed != Push::done || why != nullptr) return not_pushed(pushed, why, size);
    const bool asleep = producer_.owes_doorbell();
    if (asleep) ring_doorbell();
    other = asleep ? OtherSide::asleep : OtherSide::awake;
    return {};
}

uint32_t RingTransport::await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                              const std::atomic<bool> &given_up) {
    auto hopeless = [&] {
        remind();
        return given_up.load() || gone() != nullptr;
    };
    return await_word(notify, until, pace, hopeless, other);
}

const char *RingTransport::gone() const {
    switch (producer_.state()) {
    case RingState::open: return nullptr;
    case RingState::dead: return "the host's worker process has ended";
    default: return "the host has closed the command ring";
    }
}

} // namespace apir::guest
