#include "data_pipe.hpp"

#include <algorithm>
#include <exception>
#include <thread>

#include "log.hpp"
#include "pipe.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;
constexpr size_t page = 4096;
// Calls of other threads wait for as long as one transfer takes.
constexpr size_t most_at_once = 32 * mib;
// What caches hold, several times what either side copies in one go. Of little that comes in the host has copied all before the guest has,
// and its processor falls asleep with it in its cache: less room keeps it awake.
constexpr size_t room_in_memory = 512 * kib;
constexpr size_t room_of_little = 256 * kib;
constexpr size_t little = 4 * mib;
// A device takes longer for many pieces than for few.
constexpr size_t room_on_device = 8 * mib;
// Copied in one go, and told then: what goes out smaller, for the host has nothing to do before.
constexpr size_t piece_out = 64 * kib;
constexpr size_t piece_in = 128 * kib;
// Pages of which QEMU's emulator has one of those that agree in their number's lower bits at hand (bulk_copy.hpp: pages_collide).
constexpr size_t emulated_span = mib;

constexpr int first_looks = 2048;
constexpr int looks_at_once = 256;
constexpr int yields_at_once = 8;
constexpr Clock::duration yield_until = 400us;
constexpr Clock::duration shortest_sleep = 20us;
constexpr Clock::duration longest_sleep = 2ms;
constexpr int sleep_share = 16; // a sleep is this part of the time waited so far

size_t room_of(const PipedTransfer &transfer) {
    if (transfer.whereabouts == Whereabouts::device) return room_on_device;
    return transfer.in && transfer.size < little ? room_of_little : room_in_memory;
}

// In the slot, clear of the program's memory by what an emulator distinguishes pages by: at a third of its table, however small that is.
PipeArea area_in(const Blob &slot, const void *memory, size_t wanted) {
    size_t begin = page;
    const size_t room = std::min(wanted, (slot.size - page) / page * page);
    if (slot.size - page - room >= emulated_span) {
        const uintptr_t ideal = reinterpret_cast<uintptr_t>(memory) + emulated_span / 3;
        begin += (ideal - reinterpret_cast<uintptr_t>(slot.memory) - page) % emulated_span / page * page;
    }
    return {static_cast<uint32_t>(begin), static_cast<uint32_t>(room)};
}

bool wait_for_news(const PipeEnd &pipe, int looks) {
    for (int i = 0; i < looks; ++i) {
        if (pipe.has_news()) return true;
        relax();
    }
    return false;
}

// The guest's end of one call's pipe, from the call's beginning to its reply.
template <typename Request, typename Reply> class PipedCall : public SentWrite {
  public:
    PipedCall(Session &session, Call call, BlobPool::Lease slot, const Request &request, PipeEnd::Role role)
        : channel_(session.channel()), name_(call_name(static_cast<uint32_t>(call))), slot_(std::move(slot)),
          pipe_(slot_->memory, {request.area, request.room}, request.size, role), piece_(role == PipeEnd::Role::fills ? piece_out : piece_in) {
        PipeEnd::lay_out(slot_->memory);
        CallTraits traits;
        traits.patience = Patience::pipe;
        (role == PipeEnd::Role::fills ? traits.data_out : traits.data_in) = request.size;
        pending_ = channel_.begin<Reply>(call, request, traits);
        under_way_ = pending_.sent();
    }
    // Whatever is thrown in the middle of it: the host is told, and the slot stays its own.
    ~PipedCall() override {
        if (!under_way_) return;
        pipe_.give_up();
        slot_.retire();
    }
    PipedCall(const PipedCall &) = delete;
    PipedCall &operator=(const PipedCall &) = delete;

    bool sent() const { return under_way_; }
    // Whether all bytes are where the other side finds them.
    bool done() const { return pipe_.done(); }
    bool answered() const override { return pending_.answered(); }

    template <typename Carry> void carry(Carry carry_piece) {
        while (!pipe_.done()) {
            const size_t bytes = std::min(pipe_.available(), piece_);
            if (pipe_.broken()) return;
            if (bytes == 0) {
                if (!await()) return;
                continue;
            }
            carry_piece(pipe_.place(), pipe_.moved(), bytes);
            pipe_.move(bytes);
        }
    }

    bool end() override {
        if (!pipe_.done()) {
            pipe_.give_up();
            pending_.hurry();
        }
        Reply reply;
        const CallResult result = pending_.end(reply);
        under_way_ = false;
        if (result.timed_out()) slot_.retire();
        result.report(name_);
        const bool whole = pipe_.done() && pipe_.others_done();
        if (result.ok() && !whole) log(LogLevel::error, "%s: the host ends it before its end, at byte %zu or before", name_, pipe_.moved());
        return result.ok() && whole;
    }

  private:
    // Until the other side has moved something. False when it never will.
    bool await() {
        if (wait_for_news(pipe_, first_looks)) return true;
        Deadline until = channel_.deadline(Patience::pipe);
        const Clock::time_point start = Clock::now();
        for (Clock::time_point now = start;; now = Clock::now()) {
            // Before the last look at the pipe: what the host did comes before its reply.
            const bool over = pending_.answered() || channel_.has_ended() || (now >= until.moment() && !pending_.has_more_time(now, until));
            if (wait_for_news(pipe_, looks_at_once)) return true;
            if (over) return false;
            if (now - start < yield_until) {
                for (int i = 0; i < yields_at_once && !pipe_.has_news(); ++i) std::this_thread::yield();
            } else {
                std::this_thread::sleep_for(std::clamp<Clock::duration>((now - start) / sleep_share, shortest_sleep, longest_sleep));
            }
        }
    }

    Channel &channel_;
    const char *const name_;
    BlobPool::Lease slot_;
    PipeEnd pipe_;
    const size_t piece_;
    Channel::Pending<Reply> pending_;
    bool under_way_ = false;
};

// What can go in one call, from `done` on. Nothing when it could not be sent.
template <typename Request, typename Reply>
std::optional<bool> move_part(Session &session, Call call, const PipedTransfer &transfer, BlobPool::Lease slot, size_t done, size_t size,
                              const CarryPiece &carry) {
    const auto *memory = static_cast<const uint8_t *>(transfer.memory);
    const PipeArea area = area_in(*slot, memory == nullptr ? nullptr : memory + done, room_of(transfer));
    const Request request{transfer.buffer, transfer.tensor, slot->resource, area.begin, area.room, transfer.offset + done, size};
    using Piped = PipedCall<Request, Reply>;
    auto piped = std::make_unique<Piped>(session, call, std::move(slot), request, transfer.in ? PipeEnd::Role::empties : PipeEnd::Role::fills);
    if (!piped->sent()) return std::nullopt;
    piped->carry([&](uint8_t *place, size_t moved, size_t bytes) { carry(place, done + moved, bytes); });
    if (transfer.in || !piped->done()) return piped->end();
    return session.write_behind().leave(std::move(piped));
}

} // namespace

Moved move_through_pipe(Session &session, const PipedTransfer &transfer, const CarryPiece &carry) {
    size_t done = 0;
    try {
        while (done < transfer.size) {
            // None that is free: who may wait for one does.
            BlobPool::Lease slot = session.data_slots().take(Deadline(Clock::now()));
            if (!slot) break;
            const size_t size = std::min(transfer.size - done, most_at_once);
            const std::optional<bool> well =
                transfer.in ? move_part<PipeGetTensorRequest, PipeGetTensorReply>(session, Call::pipe_get_tensor, transfer, std::move(slot), done, size, carry)
                            : move_part<PipeSetTensorRequest, PipeSetTensorReply>(session, Call::pipe_set_tensor, transfer, std::move(slot), done, size, carry);
            if (!well) break;
            if (!*well) return {done, false};
            done += size;
        }
        return {done, true};
    } catch (const std::exception &failure) {
        log(LogLevel::error, "a transfer through a pipe: %s", failure.what());
        return {done, false};
    }
}

} // namespace apir::guest
