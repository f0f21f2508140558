// A buffer that the host has where it likes: bytes travel in the command when they are few, else through a pipe in a data slot (data_pipe.hpp),
// or in a slot a piece at a time where the host has no pipes, or there are not enough for that.
//
// By EXECBUFFER the last command of a write is not awaited (write_behind.hpp): its bytes are in the slot, and whatever is sent next is carried out behind it.
// Where the host takes several calls in one command, a write of up to 1 MiB is not even sent by itself, but goes along with the next call, unless
// another one waits for that: a submission takes as long as some 256 KiB do to copy.
//
// Where calls may be asynchronous, two of those pieces are on their way at once: the host copies one while the guest copies the other. Tensors of
// 32 MiB and more go in two lanes, each with a thread of its own: one thread's copy loop is slower than memory. By protocol 0.2 alone one piece
// of a transfer is on its way at a time, and the guest copies the one before it, or behind it, meanwhile. Whether more than 64 MiB come in by one
// thread or by two is found out, and whether 48 to 128 MiB go out through a pipe (transfer_choice.hpp).
#pragma once

#include <atomic>
#include <optional>
#include <variant>

#include "remote_buffer.hpp"
#include "transfer_cut.hpp"
#include "write_behind.hpp"

namespace apir::guest {

class CopiedBuffer : public RemoteBuffer {
  public:
    CopiedBuffer(Session &session, uint64_t handle, void *base, size_t size, Whereabouts whereabouts)
        : RemoteBuffer(session, handle, base, size), whereabouts_(whereabouts) {}
    ~CopiedBuffer() override { free_on_host(); }

    bool set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) override;
    bool get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) override;
    bool fill(const ggml_tensor *tensor, uint8_t value, size_t offset, size_t size) override;

  protected:
    bool begin_set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, InFlight &in_flight) override;
    bool begin_get(const ggml_tensor *tensor, void *data, size_t offset, size_t size, InFlight &in_flight) override;

  private:
    // The records of 0.2 are smaller: they are used wherever the tensor fits.
    using Record = std::variant<TensorRecord, WideTensorRecord>;
    enum class Way { in, out };
    struct Piece {
        Piece() = default;
        Piece(Piece &&) = default;
        // The host may still be at the slot of one that was not awaited.
        ~Piece() {
            if (call != nullptr) slot.retire();
        }
        // Whether to await it would not wait.
        bool is_answered() const { return call == nullptr || call->answered(); }

        BlobPool::Lease slot;
        std::unique_ptr<SentCall> call; // from when it was sent until it was awaited
        CallResult result;              // of one that was awaited at once, or could not be sent
        bool settled = false;
        bool well = false; // what came of it then
        size_t done = 0; // bytes before it
        size_t size = 0;
    };

    std::optional<Record> record_within(const ggml_tensor *tensor, size_t offset, size_t size);
    // Leaves a write to go along with the next call; false when it has to be sent by itself.
    bool defer_set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size);
    bool defer_in_command(const ggml_tensor *tensor, const void *data, size_t offset, size_t size);
    bool defer_in_slot(const ggml_tensor *tensor, const void *data, size_t offset, size_t size);

    // A piece on its way out that nobody awaits any more.
    class LeftPiece;
    // One of a stream's, in order with its graphs.
    class PieceAhead;
    class PieceInAhead;

    // Sends what is in the slot, or asks for what is to come into it; settle() then tells how that went.
    void begin(Way way, const Record &record, size_t offset, bool wait, Piece &piece);
    template <typename Request, typename Reply, typename One>
    void begin_as(Call call, const One &record, size_t offset, bool wait, Piece &piece, const CallTraits &traits);
    // Awaits it, unless somebody has. Whether it went well.
    static bool settle(Way way, Piece &piece);
    // What is left of a transfer, for whoever takes the next piece.
    struct Work {
        Way way;
        const Record &record;
        size_t offset; // within the tensor
        size_t size;
        TransferCut cut;
        std::atomic<size_t> begun{0}; // bytes that somebody has taken
        std::atomic<bool> failed{false};
    };

    // All of a transfer, by `move`, which is told whether two threads are to do without a pipe, and tells whether they did (transfer_choice.hpp).
    template <typename Move> bool by_one_or_two(Way way, size_t size, Move move);
    // Unless `by_two`, through a pipe where that can be, and what is left in pieces.
    template <typename Fill>
    bool move_out(const ggml_tensor *tensor, const void *data, size_t offset, size_t size, bool &by_two, Fill fill_slot);
    // How many bytes went through a pipe: none where that cannot be or is not worth it. Nothing when it failed.
    template <typename Carry>
    std::optional<size_t> through_pipe(Way way, const ggml_tensor *tensor, const void *data, size_t offset, size_t size, Carry carry);
    // Runs `before` on each slot that is sent and `after` on each that came, from two threads at once if `by_two` or where that is surely worth it. In the
    // end `by_two` is whether there were two.
    template <typename Before, typename After>
    bool transfer(Way way, const ggml_tensor *tensor, size_t offset, size_t size, bool &by_two, Before before, After after);
    template <typename Before, typename After> void run_lane(Work &work, Before before, After after);
    // What one command carries: whether that went well. Nothing where no slot of its size is free.
    template <typename Before, typename After> std::optional<bool> carry_at_once(const Work &work, Before &before, After &after);
    // Takes the next piece, and `before` has its slot. False when nothing is left.
    template <typename Before> bool take_next(Work &work, Before &before, Piece &piece);
    BlobPool::Lease slot_beside(InFlight &in_flight);

    const Whereabouts whereabouts_;
};

} // namespace apir::guest
