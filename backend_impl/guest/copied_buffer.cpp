#include "copied_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "bulk_copy.hpp"
#include "data_pipe.hpp"
#include "emulated_pages.hpp"
#include "log.hpp"
#include "tensor_encoding.hpp"
#include "transfer_choice.hpp"
#include "two_threads.hpp"

namespace apir::guest {

namespace {

// Bytes that are worth more in a command than a way through a data slot.
constexpr size_t inline_limit = 1024;
// By EXECBUFFER. The host copies as much in two or three submissions' time; of more it had better begin at once.
constexpr size_t most_deferred = size_t{1} << 20;
// What goes out in pieces of this size finds the slots of so large a transfer in no cache.
constexpr size_t large_piece = size_t{1} << 20;
constexpr size_t least_pieced = size_t{8} << 20;
// Pieces on their way at once.
constexpr size_t pipe_depth = 2;

struct InlineSet {
    SetTensorInlineRequest request;
    const void *data;
};
void write(Writer &writer, const InlineSet &set) {
    write(writer, set.request);
    writer.bytes(set.data, set.request.size);
}

// What lies in no cache when a piece of a transfer goes out. A slot of which only little is filled at a time is still in one, and to touch
// it first would take it away from the host, which is at the piece before.
Far far_out(size_t size, size_t piece) {
    if (size >= least_pieced && piece >= large_piece) return Far::both;
    return size >= beyond_caches ? Far::source : Far::none;
}

const char *name_of(bool in) { return in ? "get_tensor" : "set_tensor"; }

Carriage carriage_of(const Session &session) {
    if (!session.has(Extension::asynchronous)) return Carriage::one_by_one;
    return session.has(Extension::ring) ? Carriage::ring : Carriage::execbuffer;
}

// What goes out through a pipe at the most.
size_t most_piped_out_of(const Session &session) {
    if (!session.has(Extension::pipes)) return 0;
    return session.has(Extension::ring) ? most_piped_out : most_piped_out_by_ioctl;
}

// Bytes that are zeros on every way out on which they were not read.
struct Unread {
    ~Unread() {
        if (size != 0) std::memset(data, 0, size);
    }

    void *data;
    size_t size;
};

} // namespace

bool CopiedBuffer::set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    if (!session().channel().may_call()) return false;
    session().write_behind().look();
    if (defer_set(tensor, data, offset, size)) return true;
    const uint8_t *from = static_cast<const uint8_t *>(data);
    const EmulatedPages pages(data, size);
    auto fill_slot = [&](uint8_t *slot, size_t done, size_t n) {
        bulk_copy(slot, from + done, n, far_out(size, n));
        pages.copied(n);
    };
    return by_one_or_two(Way::out, size, [&](bool &by_two) { return move_out(tensor, data, offset, size, by_two, fill_slot); });
}

bool CopiedBuffer::get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) {
    // A forked child has the very slots that its parent goes on with.
    if (!session().channel().may_call()) return false;
    session().write_behind().look();
    uint8_t *to = static_cast<uint8_t *>(data);
    // The host has just written the slot: it is in a cache, but in none of ours.
    const Far far = size < beyond_caches ? Far::source : Far::both;
    const EmulatedPages pages(data, size);
    auto empty_slot = [&](const uint8_t *slot, size_t done, size_t n) {
        bulk_copy(to + done, slot, n, far);
        pages.copied(n);
    };
    const bool well = by_one_or_two(Way::in, size, [&](bool &by_two) {
        const std::optional<size_t> done = by_two ? 0 : through_pipe(Way::in, tensor, data, offset, size, empty_slot);
        if (!done || *done == size) return done.has_value();
        auto empty_rest = [&](const uint8_t *slot, size_t after, size_t n) { empty_slot(slot, *done + after, n); };
        return transfer(Way::in, tensor, offset + *done, size - *done, by_two, [](uint8_t *, size_t, size_t) {}, empty_rest);
    });
    // What was written before is there, or has failed. In that case what was read is what stood there before: the log tells, and the next graph is refused.
    session().channel().look_at_batches();
    session().write_behind().look();
    return well;
}

template <typename Move> bool CopiedBuffer::by_one_or_two(Way way, size_t size, Move move) {
    const bool in = way == Way::in;
    const bool pipes = session().has(Extension::pipes);
    const bool by_two_anyhow = !pipes && cut_transfer(carriage_of(session()), in, size).two_lanes;
    if (by_two_anyhow || !is_found_out(in, size, pipes, most_piped_out_of(session()))) {
        bool by_two = false;
        return move(by_two);
    }
    return TransferChoice::of(in).carry(size, move);
}

bool CopiedBuffer::fill(const ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) {
    if (!session().channel().may_call()) return false;
    if (size <= inline_limit) {
        uint8_t bytes[inline_limit];
        std::memset(bytes, value, size);
        if (defer_set(tensor, bytes, offset, size)) return true;
    }
    bool by_two = false;
    return move_out(tensor, nullptr, offset, size, by_two, [&](uint8_t *slot, size_t, size_t n) { std::memset(slot, value, n); });
}

template <typename Fill>
bool CopiedBuffer::move_out(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, bool &by_two, Fill fill_slot) {
    const std::optional<size_t> done = by_two ? 0 : through_pipe(Way::out, tensor, data, offset, size, fill_slot);
    if (!done || *done == size) return done.has_value();
    auto fill_rest = [&](uint8_t *slot, size_t after, size_t n) { fill_slot(slot, *done + after, n); };
    return transfer(Way::out, tensor, offset + *done, size - *done, by_two, fill_rest, [](const uint8_t *, size_t, size_t) {});
}

template <typename Carry>
std::optional<size_t> CopiedBuffer::through_pipe(Way way, const ggml_tensor *tensor, const void *data, size_t offset, size_t size, Carry carry) {
    const bool out = way == Way::out;
    const size_t least = out && !session().has(Extension::ring) ? least_piped_out_by_ioctl : least_piped;
    if (size < least || (out && size > most_piped_out_of(session())) || !session().has(Extension::pipes)) return 0;
    size_t at = 0;
    if (!find_range(tensor, offset, size, at)) return std::nullopt;
    auto record = record_of<WideTensorRecord>(tensor);
    if (!record) return 0;
    record->id = 1; // one tensor in the call: any that is not 0
    const Moved moved = move_through_pipe(session(), {way == Way::in, handle(), *record, offset, size, data, whereabouts_}, carry);
    if (!moved.well) return std::nullopt;
    return moved.bytes;
}

std::optional<CopiedBuffer::Record> CopiedBuffer::record_within(const ggml_tensor *tensor, size_t offset, size_t size) {
    size_t at = 0;
    if (!find_range(tensor, offset, size, at)) return std::nullopt;
    // One tensor in the call: any id that is not 0.
    if (auto record = record_of<TensorRecord>(tensor)) {
        record->id = 1;
        return *record;
    }
    if (session().has(Extension::wide_shapes)) {
        if (auto record = record_of<WideTensorRecord>(tensor)) {
            record->id = 1;
            return *record;
        }
    }
    log(LogLevel::error, "tensor '%s' has a shape or stride beyond 32 bits", tensor->name);
    return std::nullopt;
}

// A write that is not large goes along with the next call, which is when it can first be seen.
bool CopiedBuffer::defer_set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    if (size > most_deferred || !session().has(Extension::batch)) return false;
    return size > inline_limit ? defer_in_slot(tensor, data, offset, size) : defer_in_command(tensor, data, offset, size);
}

bool CopiedBuffer::defer_in_command(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    std::optional<Record> record = record_within(tensor, offset, size);
    if (!record || !std::holds_alternative<TensorRecord>(*record)) return false;
    SetTensorInlineRequest request{handle(), std::get<TensorRecord>(*record), offset, size};
    return session().channel().defer(Call::set_tensor_inline, InlineSet{request, data});
}

// Its slot is one that others can do without, until the next call has been answered.
bool CopiedBuffer::defer_in_slot(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    Channel &channel = session().channel();
    if (!session().write_behind().defers() || !channel.deferred_slots().has_room()) return false;
    const std::optional<Record> record = record_within(tensor, offset, size);
    if (!record) return false;
    const auto *narrow = std::get_if<TensorRecord>(&*record);
    BlobPool::Lease slot = session().data_slots().take_beside();
    if (narrow == nullptr || !slot || slot->size < size) return false;
    const EmulatedPages pages(data, size);
    bulk_copy(slot->memory, static_cast<const uint8_t *>(data), size, far_out(size, size));
    pages.copied(size);
    const BufferSetTensorRequest request{handle(), *narrow, slot->resource, offset, size};
    return channel.defer_with(slot, size, Call::buffer_set_tensor, request);
}

template <typename Request, typename Reply, typename One>
void CopiedBuffer::begin_as(Call call, const One &record, size_t offset, bool wait, Piece &piece, const CallTraits &traits) {
    Request request{handle(), record, piece.slot->resource, offset + piece.done, piece.size};
    Channel &channel = session().channel();
    if (!wait) {
        // All that takes memory before it is sent.
        auto sent = std::make_unique<SentCallOf<Reply>>();
        sent->pending = channel.begin<Reply>(call, request, traits);
        if (sent->pending.sent()) {
            piece.call = std::move(sent);
            return;
        }
    }
    Reply reply;
    CallTraits awaited = traits;
    awaited.data_slot = &piece.slot;
    piece.result = channel.call(call, request, reply, awaited);
    piece.slot.spare();
}

void CopiedBuffer::begin(Way way, const Record &record, size_t offset, bool wait, Piece &piece) {
    CallTraits traits;
    (way == Way::in ? traits.data_in : traits.data_out) = piece.size;
    const auto *narrow = std::get_if<TensorRecord>(&record);
    const auto *wide = std::get_if<WideTensorRecord>(&record);
    if (narrow != nullptr && way == Way::out) {
        begin_as<BufferSetTensorRequest, BufferSetTensorReply>(Call::buffer_set_tensor, *narrow, offset, wait, piece, traits);
    } else if (narrow != nullptr) {
        begin_as<BufferGetTensorRequest, BufferGetTensorReply>(Call::buffer_get_tensor, *narrow, offset, wait, piece, traits);
    } else if (way == Way::out) {
        begin_as<WideSetTensorRequest, WideSetTensorReply>(Call::wide_set_tensor, *wide, offset, wait, piece, traits);
    } else {
        begin_as<WideGetTensorRequest, WideGetTensorReply>(Call::wide_get_tensor, *wide, offset, wait, piece, traits);
    }
}

bool CopiedBuffer::settle(Way way, Piece &piece) {
    if (piece.settled) return piece.well;
    if (piece.call != nullptr) piece.result = piece.call->end();
    piece.call = nullptr;
    piece.settled = true;
    if (piece.result.timed_out()) piece.slot.retire();
    piece.well = piece.result.ok();
    piece.result.report(name_of(way == Way::in));
    return piece.well;
}

class CopiedBuffer::LeftPiece : public SentWrite {
  public:
    // nullptr without memory: then it has to be awaited, and is as it was.
    static std::unique_ptr<SentWrite> of(Piece &piece) {
        try {
            return std::make_unique<LeftPiece>(std::move(piece));
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }

    explicit LeftPiece(Piece &&piece) : piece_(std::move(piece)) {}
    bool answered() const override { return piece_.call == nullptr || piece_.call->answered(); }
    bool end() override { return settle(Way::out, piece_); }

  private:
    Piece piece_;
};

template <typename Before, typename After>
bool CopiedBuffer::transfer(Way way, const ggml_tensor *tensor, size_t offset, size_t size, bool &by_two, Before before, After after) {
    std::optional<Record> record = record_within(tensor, offset, size);
    if (!record) return false;
    TransferCut cut = cut_transfer(carriage_of(session()), way == Way::in, size);
    cut.two_lanes = cut.two_lanes || by_two;
    Work work{way, *record, offset, size, cut};
    const bool left_later = way == Way::out && session().write_behind().leaves();
    if (size <= cut.least && !cut.two_lanes && !left_later) {
        if (const std::optional<bool> well = carry_at_once(work, before, after)) return *well;
    }
    by_two = by_two_threads(cut.two_lanes, [&](bool) { run_lane(work, before, after); });
    return !work.failed.load();
}

// What one command carries, which is awaited here. Nothing where no slot is free, or none of its size: a lane waits for one, or takes several pieces.
template <typename Before, typename After> std::optional<bool> CopiedBuffer::carry_at_once(const Work &work, Before &before, After &after) {
    Piece piece;
    piece.slot = session().data_slots().take(Deadline(Clock::duration::zero())); // which looks at no clock where one is free
    if (!piece.slot || piece.slot->size < work.size) return std::nullopt;
    piece.size = work.size;
    before(piece.slot->memory, 0, work.size);
    begin(work.way, work.record, work.offset, true, piece);
    if (!settle(work.way, piece)) return false;
    after(piece.slot->memory, 0, work.size);
    return true;
}

template <typename Before> bool CopiedBuffer::take_next(Work &work, Before &before, Piece &piece) {
    const size_t most = std::min(piece.slot->size, work.cut.next(work.way == Way::in, work.size, work.begun.load()));
    piece.done = work.begun.fetch_add(most);
    if (piece.done >= work.size) return false;
    piece.size = std::min(work.size - piece.done, most);
    before(piece.slot->memory, piece.done, piece.size);
    return true;
}

// A data slot is lent per piece: other threads get theirs in between. The first piece waits for one, for as long as graphs keep it;
// a second does without. Whatever is thrown here (there may be no memory) ends the transfer, when what is under way has been awaited.
template <typename Before, typename After> void CopiedBuffer::run_lane(Work &work, Before before, After after) {
    const size_t depth = work.size > work.cut.least ? pipe_depth : 1;
    // Without the extension a thread has one command of a transfer under way, which was no slower than two. The next slot is filled all the same, or the
    // last one emptied, while the host is at the other.
    const bool one_by_one = !session().has(Extension::asynchronous);
    std::optional<Piece> under_way[pipe_depth];
    size_t begun = 0;
    size_t ended = 0;
    for (bool more = true; more || begun != ended;) {
        try {
            more = more && !work.failed && work.begun < work.size;
            if (more && begun - ended < depth) {
                Piece piece;
                piece.slot = session().data_slots().take(Deadline(Clock::duration::zero())); // which looks at no clock where one is free
                if (!piece.slot && begun == ended) piece.slot = session().data_slot_in_time(0);
                if (piece.slot) {
                    more = take_next(work, before, piece);
                    if (!more) continue;
                    if (one_by_one && begun != ended && !settle(work.way, *under_way[ended % pipe_depth])) work.failed = true;
                    if (work.failed) continue;
                    const bool left_later = work.way == Way::out && session().write_behind().leaves();
                    begin(work.way, work.record, work.offset, depth == 1 && !left_later, piece);
                    under_way[begun++ % pipe_depth].emplace(std::move(piece));
                    continue;
                }
                if (begun == ended) {
                    log(LogLevel::error, "%s: no data slot is free", name_of(work.way == Way::in));
                    work.failed = true;
                }
            }
            if (begun == ended) continue;
            Piece piece = std::move(*under_way[ended % pipe_depth]);
            under_way[ended++ % pipe_depth].reset();
            const bool is_last = begun == ended && (work.failed || work.begun >= work.size);
            std::unique_ptr<SentWrite> left;
            if (is_last && work.way == Way::out && piece.call != nullptr) left = LeftPiece::of(piece);
            if (left != nullptr) {
                if (!session().write_behind().leave(std::move(left))) work.failed = true;
            } else if (!settle(work.way, piece)) {
                work.failed = true;
            } else {
                after(piece.slot->memory, piece.done, piece.size);
            }
        } catch (const std::exception &failure) {
            log(LogLevel::error, "%s: %s", name_of(work.way == Way::in), failure.what());
            work.failed = true;
        }
    }
}

// A transfer in one piece that is not awaited yet.
class CopiedBuffer::PieceAhead : public CallAhead {
  public:
    explicit PieceAhead(const RemoteBuffer &buffer) : channel_(buffer.session().channel()), handle_(buffer.handle()) {}
    bool answered() const override { return piece.is_answered(); }
    bool end() override { return told(settle(Way::out, piece)); }

    Piece piece;

  protected:
    // Other streams may go on from there, too.
    bool told(bool well) {
        if (!well) channel_.lose_transfer();
        return well;
    }
    // Whether another stream's graph has failed to write what it reads. The buffer itself may be gone.
    bool is_doubtful() const { return channel_.doubtful().has(handle_); }

  private:
    Channel &channel_;
    const uint64_t handle_;
};

class CopiedBuffer::PieceInAhead : public PieceAhead {
  public:
    PieceInAhead(const RemoteBuffer &buffer, const InFlight &in_flight, void *data)
        : PieceAhead(buffer), in_flight_(in_flight), data_(data), was_doubtful_(is_doubtful()) {}
    // What comes behind a failure is not what was to be read, though the program may have been told of that one meanwhile.
    bool end() override {
        Unread unread{data_, piece.size};
        if (!told(settle(Way::in, piece) && !in_flight_.failed() && !was_doubtful_ && !is_doubtful())) return false;
        bulk_copy(data_, piece.slot->memory, piece.size, Far::source);
        unread.size = 0;
        return true;
    }

  private:
    const InFlight &in_flight_;
    void *data_;
    const bool was_doubtful_; // when it was sent
};

// Calls in flight never hold the last slot: nobody has to wait for what no one awaits.
BlobPool::Lease CopiedBuffer::slot_beside(InFlight &in_flight) {
    BlobPool::Lease slot = session().data_slots().take_beside();
    if (slot) return slot;
    in_flight.await_all();
    return session().data_slots().take_beside();
}

bool CopiedBuffer::begin_set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, InFlight &in_flight) {
    if (!session().channel().may_call()) return false;
    if (size <= inline_limit && defer_set(tensor, data, offset, size)) return true;
    std::optional<Record> record;
    auto ahead = std::make_unique<PieceAhead>(*this); // takes memory: before it is sent
    Piece &piece = ahead->piece;
    if (size <= largest_piece && in_flight.has_room()) record = record_within(tensor, offset, size);
    if (record) piece.slot = slot_beside(in_flight);
    // In order all the same: the host carries out what is in flight first.
    if (!piece.slot || piece.slot->size < size) return set(tensor, data, offset, size);
    piece.size = size;
    bulk_copy(piece.slot->memory, data, size);
    begin(Way::out, *record, offset, false, piece);
    in_flight.add(std::move(ahead));
    return true;
}

bool CopiedBuffer::begin_get(const ggml_tensor *tensor, void *data, size_t offset, size_t size, InFlight &in_flight) {
    if (!session().channel().may_call()) return false;
    std::optional<Record> record;
    auto ahead = std::make_unique<PieceInAhead>(*this, in_flight, data);
    Piece &piece = ahead->piece;
    if (size <= largest_piece && in_flight.has_room()) record = record_within(tensor, offset, size);
    if (record) piece.slot = slot_beside(in_flight);
    if (!piece.slot || piece.slot->size < size) {
        const bool well = get(tensor, data, offset, size);
        in_flight.await_all(); // whose replies are there by now
        return well && !in_flight.failed() && !is_doubtful();
    }
    piece.size = size;
    begin(Way::in, *record, offset, false, piece);
    in_flight.add(std::move(ahead));
    return true;
}

} // namespace apir::guest
