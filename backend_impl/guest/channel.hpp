// Remote calls: a command written, sent, awaited, its reply read, and the call recorded.
//
// Several threads call at once, each with its own reply slot. A call ends in one of five ways (Outcome). The device is
// lost, and every later call of this channel fails at once, when the host says that its worker has ended or closes the command ring,
// after three calls in a row that got no reply, or when such calls keep all reply slots and there is no room for another one.
// Another context, with a channel of its own, may take its place (registry.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "apir_gen.hpp"
#include "blob_pool.hpp"
#include "call_log.hpp"
#include "carried_writes.hpp"
#include "deferred_slots.hpp"
#include "doubtful_buffers.hpp"
#include "forked.hpp"
#include "in_flight.hpp"
#include "running_graphs.hpp"
#include "transport.hpp"

namespace apir::guest {

enum class Outcome {
    answered,    // the reply came and decodes; its return code says the rest
    undecodable, // the reply came and makes no sense
    not_sent,    // the command could not be built or handed over
    timed_out,   // no reply in time: resources named in the command may still be written to
    lost,        // the device is lost
};

struct CallResult {
    // Of a call that was not needed.
    static CallResult done() { return {Outcome::answered, static_cast<uint32_t>(ReturnCode::ok)}; }

    Outcome outcome = Outcome::not_sent;
    uint32_t code = 0; // return code, when answered

    bool ok() const { return outcome == Outcome::answered && code == static_cast<uint32_t>(ReturnCode::ok); }
    bool timed_out() const { return outcome == Outcome::timed_out; }
    // Nothing was said: an answer may come to a later call, if the device is not lost.
    bool unanswered() const { return timed_out() || outcome == Outcome::not_sent || outcome == Outcome::lost; }
    // What went wrong, in words.
    std::string text() const;
    // Logs a failure of `what`; says nothing of a call that went well, and of a lost device only once per session.
    void report(const char *what) const {
        if (!ok()) report_failure(what);
    }

  private:
    void report_failure(const char *what) const;
};

// How long a call may take. A graph may run long, and a transfer through a pipe; while one does, other calls, which the host serves after it,
// wait.
enum class Patience { ordinary, graph, pipe };

struct CallTraits {
    Patience patience = Patience::ordinary;
    uint64_t data_out = 0; // bytes in a data resource, for the call record
    uint64_t data_in = 0;
    size_t reply_limit = 64; // bytes of payload that are looked at
    uint32_t device = 0; // addressed; others than the first need the extension devices
    // The data slot that the request names, of a call that is awaited at once: retired when the host has the call, for it may be
    // at the slot whatever is thrown then. The caller spares it when the call has ended.
    BlobPool::Lease *data_slot = nullptr;
};

// For so long does who waits for a slot wait, until he looks whether nobody gives it back but himself.
inline constexpr std::chrono::milliseconds between_looks{10};

class Channel {
    class Exchange;

  public:
    // A call that was sent and whose reply is awaited later (`end`). One that is dropped before gives up its reply slot for
    // good, for the host still writes there.
    template <typename Reply> class Pending {
      public:
        Pending() = default;
        explicit Pending(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

        // False when it was not handed over: the device is lost, or no reply slot can be kept without awaiting another call first.
        bool sent() const { return exchange_ != nullptr && exchange_->sent(); }
        // Whether end() would return at once.
        bool answered() const { return exchange_ == nullptr || exchange_->answered(); }
        // Whether there is more time than until `until`, for the host was at graphs that were sent before; then until when.
        bool has_more_time(Clock::time_point now, Deadline &until) { return exchange_ != nullptr && exchange_->has_more_time(now, until); }
        // From here on no more time than an ordinary call has.
        void hurry() {
            if (exchange_ != nullptr) exchange_->hurry();
        }
        // Waits for the reply; to be called once.
        CallResult end(Reply &reply) { return exchange_ == nullptr ? CallResult{} : exchange_->end(reply); }

      private:
        std::unique_ptr<Exchange> exchange_;
    };

    // Long enough, and a sum with it does not overflow.
    static constexpr std::chrono::milliseconds no_deadline = std::chrono::hours(24 * 365 * 10);

    struct Deadlines {
        std::chrono::milliseconds ordinary;
        std::chrono::milliseconds graph;
    };

    Channel(Transport &transport, BlobPool &reply_slots, CallLog &call_log, Deadlines deadlines, bool venus_types);

    template <typename Request, typename Reply>
    CallResult call(Call number, const Request &request, Reply &reply, const CallTraits &traits = {}) {
        {
            Exchange exchange(*this, CommandType::forward, static_cast<uint32_t>(number), traits);
            const CallResult result = exchange.run(request, reply);
            if (!exchange.was_held_up()) return result;
        }
        return call_alone(number, request, reply, traits);
    }

    // Sends a call and does not wait. The host carries calls out in the order in which they were sent; what their requests
    // name (data resources) has to stay until the reply. A call that could not be sent says so; whoever needs it makes it by `call`.
    template <typename Reply, typename Request>
    Pending<Reply> begin(Call number, const Request &request, const CallTraits &traits = {}) {
        auto exchange = std::make_unique<Exchange>(*this, CommandType::forward, static_cast<uint32_t>(number), traits);
        exchange->begin(request, Slot::ahead);
        return Pending<Reply>(std::move(exchange));
    }

    // Leaves a call whose reply means nothing to go along with the next one that is sent, by any thread, in one command
    // (extension batch). It is carried out before that one. When it fails the host carries out none of those behind it; `lost_transfers` tells, and the call
    // that it went along with is made once more, by itself, unless it is a graph or was begun (`begin`): those fail. False when the request is too long
    // for that, or when too many are left and cannot be sent: then this one was not left.
    template <typename Request> bool defer(Call number, const Request &request, uint32_t device = 0) {
        BlobPool::Lease none;
        return defer_as(number, request, none, 0, device);
    }
    // The same of a call that names a data slot, with `data_out` bytes in it, which is given back when the reply to what it went along with is
    // there. Few at a time (deferred_slots.hpp): false as well when there are as many, and then the slot is still the caller's.
    template <typename Request>
    bool defer_with(BlobPool::Lease &slot, uint64_t data_out, Call number, const Request &request, uint32_t device = 0) {
        return defer_as(number, request, slot, data_out, device);
    }
    DeferredSlots &deferred_slots() { return deferred_slots_; }
    // Sends what was left, if a data slot waits with it.
    void send_deferred_slot();
    // Of deferred calls that were sent by themselves, for they were too many or the next call was too long to take them along: ends those that are
    // answered, after `patience` for one that another thread is ending; or awaits all that are there by now. `lost_transfers` then tells of those that failed.
    void look_at_batches(std::chrono::milliseconds patience = std::chrono::milliseconds::zero()) {
        if (batches_sent_.load(std::memory_order_acquire) != 0) batches_.end_answered(patience);
    }
    void await_batches() {
        if (batches_sent_.load(std::memory_order_acquire) != 0) batches_.await_all_but(0);
    }

    // Of those that went along with other calls: `lost_transfers` tells of what has failed, as far as those are answered, whoever awaits them.
    void look_at_carried();
    // Number of the last call that took some along. One of up to such a number that has no reply when a call is answered that was sent later never gets one, and
    // they have not been made.
    uint64_t last_carried() const { return carried_.last(); }
    void give_up_carried(uint64_t last_before);

    // HandShake and LoadLibrary: `code` of the result is then not a Forward code.
    template <typename Request, typename Reply>
    CallResult command(CommandType type, const Request &request, Reply &reply, std::chrono::milliseconds deadline) {
        Exchange exchange(*this, type, 0, {}, deadline);
        return exchange.run(request, reply);
    }

    // From now on a graph has no deadline: whoever serves it sees to it that every call is answered. Before the first graph.
    void trust_graphs() { deadlines_.graph = no_deadline; }
    // From now on replies tell how long the host took (extension timing). Before a second thread calls.
    void expect_times() { expects_times_ = true; }
    // Called now and then by who waits for a reply slot: it ends calls that are answered and nobody has looked at. Before a second thread calls.
    void relieve_by(std::function<void()> relieve) { relieve_ = std::move(relieve); }
    // Called when each reply slot has gone with a call without a reply and the host-visible window has no room for another one: it makes one in the place of
    // what there can be done without. False: it could not, and may be able to later. Before a second thread calls.
    void make_room_by(std::function<bool()> make_room) { make_room_ = std::move(make_room); }
    // From now on commands go this way. Before a second thread calls; the transport outlives the channel.
    void use(Transport &transport) { transport_ = &transport; }

    // Whether a record of each call is kept, which tells when its reply came.
    bool keeps_records() const { return call_log_.is_open(); }
    // Whether a call was ever left without a reply: then the host may still be at it, and at what it named.
    bool in_doubt() const { return without_reply_.load(std::memory_order_acquire) != 0; }
    // Whether the host is through with all of these, as a call tells that it serves behind them: for who touches memory that it may be at. Asks it unless that
    // is known; then false without an answer.
    bool is_past_doubt();
    bool lost() const { return lost_.load(std::memory_order_acquire) || in_forked_child(); }
    // How often a write may not have been carried out, or a read gave zeros, of which the program was not told. For which stream is not known: each is told.
    uint64_t lost_transfers() const { return lost_transfers_.load(std::memory_order_acquire); }
    // One more has failed, which was logged.
    void lose_transfer() { lost_transfers_.fetch_add(1, std::memory_order_release); }
    // Of how many of them a stream was told: those behind are new to one that is made now.
    uint64_t told_lost_transfers() const { return told_lost_transfers_.load(std::memory_order_relaxed); }
    void tell_lost_transfers(uint64_t count) { told_lost_transfers_.store(count, std::memory_order_relaxed); }
    // What graphs that were sent ahead have not written.
    DoubtfulBuffers &doubtful() { return doubtful_; }
    // Whether no call will be answered any more, as of now: then it is lost from here on. For whoever waits, at each step.
    bool has_ended() {
        if (lost()) return true;
        transport_->remind();
        return look_for_its_end();
    }
    // Ends all calls from now on; says why once.
    void lose(const char *why);

    // Whether there is time until `until`, which is moved to what an ordinary call has from the end of graphs on if they kept the host.
    bool has_time_behind_graphs(Deadline &until);
    // When a call begun now has to have its reply.
    Deadline deadline(Patience patience) const { return Deadline(patience == Patience::ordinary ? deadlines_.ordinary : deadlines_.graph); }
    // Not on a lost device, nor in a process that was forked, which is told so.
    bool may_call() { return !lost() || may_call_though_lost(); }

  private:
    bool may_call_though_lost();

    // How a call gets its reply slot. One whose reply nobody waits for yet never takes the last one, nor waits for one: those who
    // keep slots could wait for each other.
    enum class Slot { awaited, ahead };

    // One call on its way: owns the reply slot and the record.
    class Exchange final {
      public:
        Exchange(Channel &channel, CommandType type, uint32_t flags, const CallTraits &traits,
                 std::chrono::milliseconds deadline = std::chrono::milliseconds::zero())
            : channel_(channel), traits_(traits),
              until_(deadline == deadline.zero() ? channel.deadline(traits.patience) : Deadline(Clock::duration(deadline))),
              writer_(command_, command_buffer_size) {
            record_.type = static_cast<uint32_t>(type);
            record_.call = flags;
        }
        ~Exchange();
        // Most calls that are not awaited at once are sent when the last one of them has ended: in its memory.
        static void *operator new(size_t size);
        static void operator delete(void *memory);
        Exchange(const Exchange &) = delete;
        Exchange &operator=(const Exchange &) = delete;

        template <typename Request, typename Reply> CallResult run(const Request &request, Reply &reply) {
            begin(request, Slot::awaited);
            return end(reply);
        }
        // The same, with no deferred call in the command.
        template <typename Request, typename Reply> CallResult run_alone(const Request &request, Reply &reply) {
            is_alone_ = true;
            return run(request, reply);
        }
        // Whether it has ended so because a deferred call failed before it, as far as can be told: it may have failed by itself, and then does so again,
        // for what the host refuses it leaves alone, and to write or read the same once more does no harm. Not so a graph, of which a part may have
        // been computed that adds to what is there; without what was to be written before it, it would be of no use either.
        bool was_held_up() const { return carries_deferred_ && result_.outcome == Outcome::answered && !result_.ok() && !may_run_long(); }

        // Sends the request, or leaves in the result why not.
        template <typename Request> void begin(const Request &request, Slot slot) {
            std::unique_lock<std::mutex> order;
            switch (prepare(slot, order)) {
            case Prepared::no: return;
            case Prepared::behind_deferred:
                if (!is_alone_ && write_with_deferred(request)) return send_with_deferred();
                if (!send_after_deferred(slot)) return;
                break;
            case Prepared::with_header: break;
            }
            write(writer_, request);
            send();
        }

        // Sends the deferred calls by themselves, if it can. With their lock held. False when there is no reply slot.
        [[gnu::cold]] bool begin_deferred(Slot slot);
        // And waits.
        [[gnu::cold]] CallResult run_deferred();

        bool sent() const { return sent_; }
        bool answered() const;
        bool has_more_time(Clock::time_point now, Deadline &until);
        void hurry();

        template <typename Reply> CallResult end(Reply &reply) {
            if (awaited()) {
                Reader reader(payload_, payload_size_);
                bool decoded = read(reader, reply);
                finish(decoded, reader.offset());
            }
            if (tells_of_carried_ && !result_.ok()) tell_of_carried();
            return result_;
        }

      private:
        // What begin() finds: nothing can be sent, and the result tells the cause if there is one; calls that wait to go along, with their
        // lock in `order`; or a slot, with the header written. One function, as all on a call's way are few: an emulator looks each of
        // them up anew, and where it returns to.
        enum class Prepared { no, behind_deferred, with_header };
        Prepared prepare(Slot slot, std::unique_lock<std::mutex> &order);
        // The deferred calls, which do not fit in with this one or are to go without it: then a slot, and the header.
        bool send_after_deferred(Slot slot);
        // False with the cause in the result.
        bool may_call();
        // False when there is none to be had.
        bool take_slot(Slot slot);
        [[gnu::cold]] BlobPool::Lease slot_in_time();
        void write_header();
        void write_header(uint32_t call);
        void write_header_of_batch(uint32_t calls);
        // False when they do not fit into one command: then nothing is written.
        template <typename Request> bool write_with_deferred(const Request &request) {
            write_header_of_batch(channel_.deferred_count_ + 1);
            writer_.bytes(channel_.deferred_.data(), channel_.deferred_.size());
            write_item(writer_, traits_.device, record_.call, request);
            if (!writer_.failed()) return true;
            writer_ = Writer(command_, command_buffer_size);
            return false;
        }
        void send_with_deferred();
        // They were sent.
        void carry_deferred();
        void end_carried(bool answered);
        [[gnu::cold]] void tell_of_carried();
        void send();
        // What was not taken at once. False when it is not taken at all, which is told.
        bool hand_over_later(Status status);
        // Whether the time of graphs before it is not its own.
        bool waits_for_graphs() const;
        // Whether others wait for it as for a graph.
        bool may_run_long() const { return traits_.patience != Patience::ordinary; }
        bool awaited();
        uint32_t await_reply(Pace &pace);
        void take_reply(uint32_t notify);
        void take_times();
        uint64_t time_for_record() const;
        // The record of a call that nobody will answer says so when the transport knows that its other end is gone.
        void note_loss();
        void record_loss();
        // A failed call has no payload: only that of a call that went well has to decode.
        void finish(bool decoded, size_t reply_bytes) {
            const bool wanted = record_.type != static_cast<uint32_t>(CommandType::forward) || result_.ok();
            if (wanted && !decoded) result_.outcome = Outcome::undecodable;
            record_.bytes_in = 4 + (wanted && decoded ? reply_bytes + traits_.data_in : 0);
        }

        Channel &channel_;
        const CallTraits traits_;
        Deadline until_;
        BlobPool::Lease slot_;
        CallRecord record_;
        CallResult result_;
        OtherSide other_ = OtherSide::awake; // when the command was handed over
        bool sent_ = false;
        bool ended_ = false;
        bool in_a_hurry_ = false;
        bool is_alone_ = false;
        bool carries_deferred_ = false;
        bool tells_of_carried_ = false; // of those, and nobody else has told how they went
        bool counted_loss_ = false;
        bool carries_slot_ = false; // of a deferred call
        uint8_t command_[batch_command_size];
        Writer writer_;
        uint8_t payload_[reply_page_size];
        size_t payload_size_ = 0;
    };

    // Seldom: apart from the way of a call that goes well.
    template <typename Request, typename Reply>
    [[gnu::cold, gnu::noinline]] CallResult call_alone(Call number, const Request &request, Reply &reply, const CallTraits &traits) {
        Exchange exchange(*this, CommandType::forward, static_cast<uint32_t>(number), traits);
        return exchange.run_alone(request, reply);
    }

    static constexpr size_t item_head = 12; // bytes of a BatchedCall
    // Room that deferred calls leave in a command for the one that they go along with.
    static constexpr size_t deferred_limit = batch_command_size - 1024;

    // A call as a batch has it.
    template <typename Request>
    static void write_item(Writer &writer, uint32_t device, uint32_t call, const Request &request) {
        size_t begin = writer.size();
        uint8_t *head = writer.room(item_head);
        write(writer, request);
        if (writer.failed()) return;
        Writer item(head, item_head);
        write(item, BatchedCall{device, call, static_cast<uint32_t>(writer.size() - begin - item_head)});
    }
    template <typename Request>
    bool defer_as(Call number, const Request &request, BlobPool::Lease &slot, uint64_t data_out, uint32_t device) {
        uint8_t bytes[command_buffer_size];
        Writer writer(bytes, sizeof bytes);
        write_item(writer, device, static_cast<uint32_t>(number), request);
        return !writer.failed() && defer_item(bytes, writer.size(), slot, data_out);
    }
    bool defer_item(const uint8_t *bytes, size_t size, BlobPool::Lease &slot, uint64_t data_out);
    BlobPool::Lease reply_slot_in_time(Deadline &until, bool waits_for_graphs);
    // Whether there is one to wait for; else the device is lost, unless there may be room later.
    bool keeps_reply_slots();
    // Not locked when no call is deferred.
    std::unique_lock<std::mutex> order_of_deferred();
    // These with the lock held.
    void forget_deferred();
    // False when they were not handed over: then they go on waiting. Their reply is looked at later, if it need not be awaited at once.
    [[gnu::cold]] bool send_deferred();
    [[gnu::cold]] bool send_and_await_deferred();

    class Batch;
    // So many may be on their way when the next one has to go; whoever leaves a write waits for the others.
    static constexpr size_t most_batches = 2;

    // Deferred calls were handed over, and ended so.
    void lose_writes(const CallResult &result);
    void report_lost_writes(const CallResult &result) const;
    // Whether the call with this word has not made the writes that went along with it.
    bool count_if_lost(uint32_t notify);
    void on_timeout();
    // Whether the transport knows that nothing will be answered any more; then the device is lost.
    bool look_for_its_end();
    bool graph_kept_it(Clock::time_point &until);
    Pace &pace_of(Patience patience);

    std::mutex deferred_mutex_; // held until what went along is handed over
    std::vector<uint8_t> deferred_; // calls as a batch has them
    std::atomic<uint32_t> deferred_count_{0};
    uint64_t deferred_data_ = 0; // bytes in the data slots that they name
    DeferredSlots deferred_slots_;
    CarriedWrites carried_;
    Transport *transport_;
    BlobPool &reply_slots_;
    CallLog &call_log_;
    Deadlines deadlines_;
    const uint32_t type_offset_;
    std::function<void()> relieve_;
    std::function<bool()> make_room_;
    bool expects_times_ = false;
    Pace ordinary_pace_;
    Pace graph_pace_;
    Pace pipe_pace_;
    std::atomic<bool> lost_{false};
    std::atomic<uint64_t> without_reply_{0}; // calls
    std::atomic<uint64_t> known_past_{0}; // those of them that the host is known to be through with
    std::atomic<uint64_t> lost_transfers_{0};
    std::atomic<uint64_t> told_lost_transfers_{0};
    DoubtfulBuffers doubtful_;
    std::atomic<int> unanswered_{0}; // calls in a row without a reply
    RunningGraphs graphs_;
    std::atomic<size_t> batches_sent_{0}; // and not ended
    InFlight batches_{batches_sent_}; // what these hold is of all above
};

// A call on its way whose reply says no more than how it went.
class SentCall {
  public:
    virtual ~SentCall() = default;
    // As with Channel::Pending.
    virtual bool answered() const = 0;
    virtual CallResult end() = 0;
};

template <typename Reply> class SentCallOf : public SentCall {
  public:
    bool answered() const override { return pending.answered(); }
    CallResult end() override {
        Reply reply;
        return pending.end(reply);
    }

    Channel::Pending<Reply> pending;
};

} // namespace apir::guest
