// Remote calls: a command written, sent, awaited, its reply read, and the call recorded.
//
// Several threads call at once, each with its own reply slot. A call ends in one of five ways (Outcome). The device is
// lost for good, and every later call fails at once, when the host says that its worker has ended, or after three calls
// in a row that got no reply.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "apir_gen.hpp"
#include "blob_pool.hpp"
#include "call_log.hpp"
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
    // What went wrong, in words.
    std::string text() const;
    // Logs a failure of `what`; says nothing of a call that went well, and of a lost device only once per session.
    void report(const char *what) const;
};

// How long a call may take. A graph may run long; while one does, other calls, which the host serves after it, wait.
enum class Patience { ordinary, graph };

struct CallTraits {
    Patience patience = Patience::ordinary;
    uint64_t data_out = 0; // bytes in a data resource, for the call record
    uint64_t data_in = 0;
    size_t reply_limit = 64; // bytes of payload that are looked at
    uint32_t device = 0; // addressed; others than the first need the extension devices
};

// A request for another device than the first, as on_device has it.
template <typename Request> struct Addressed {
    OnDeviceRequest address;
    const Request &request;
};
template <typename Request> void write(Writer &writer, const Addressed<Request> &addressed) {
    write(writer, addressed.address);
    write(writer, addressed.request);
}

class Channel {
    class Exchange;

  public:
    // A call that was sent and whose reply is awaited later (`end`). One that is dropped before gives up its reply slot for
    // good, for the host still writes there.
    template <typename Reply> class Pending {
      public:
        Pending() = default;
        explicit Pending(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

        // Whether end() would return at once.
        bool answered() const { return exchange_ == nullptr || exchange_->answered(); }
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
        uint32_t call = static_cast<uint32_t>(number);
        if (traits.device != 0) {
            Exchange exchange(*this, CommandType::forward, static_cast<uint32_t>(Call::on_device), traits);
            exchange.record_as(call);
            return exchange.run(Addressed<Request>{{traits.device, call}, request}, reply);
        }
        Exchange exchange(*this, CommandType::forward, call, traits);
        return exchange.run(request, reply);
    }

    // Sends a call and does not wait. The host carries calls out in the order in which they were sent; what their requests
    // name (data resources) has to stay until the reply. A call that could not be sent says so at its end.
    template <typename Reply, typename Request>
    Pending<Reply> begin(Call number, const Request &request, const CallTraits &traits = {}) {
        uint32_t call = static_cast<uint32_t>(number);
        bool wrapped = traits.device != 0;
        auto exchange = std::make_unique<Exchange>(*this, CommandType::forward,
                                                   wrapped ? static_cast<uint32_t>(Call::on_device) : call, traits);
        exchange->record_as(call);
        if (wrapped) exchange->begin(Addressed<Request>{{traits.device, call}, request});
        else exchange->begin(request);
        return Pending<Reply>(std::move(exchange));
    }

    // HandShake and LoadLibrary: `code` of the result is then not a Forward code.
    template <typename Request, typename Reply>
    CallResult command(CommandType type, const Request &request, Reply &reply, std::chrono::milliseconds deadline) {
        Exchange exchange(*this, type, 0, {}, deadline);
        return exchange.run(request, reply);
    }

    // From now on a graph has no deadline: whoever serves it sees to it that every call is answered. Before the first graph.
    void trust_graphs() { deadlines_.graph = no_deadline; }
    // From now on commands go this way. Before a second thread calls; the transport outlives the channel.
    void use(Transport &transport) { transport_ = &transport; }

    bool lost() const { return lost_.load(std::memory_order_acquire); }
    // Ends all calls from now on; says why once.
    void lose(const char *why);

    // When a call begun now has to have its reply.
    Deadline deadline(Patience patience) const;

  private:
    // One call on its way: owns the reply slot and the record.
    class Exchange {
      public:
        Exchange(Channel &channel, CommandType type, uint32_t flags, const CallTraits &traits,
                 std::chrono::milliseconds deadline = std::chrono::milliseconds::zero());
        ~Exchange();
        Exchange(const Exchange &) = delete;
        Exchange &operator=(const Exchange &) = delete;

        // The call that is meant, where another one carries it.
        void record_as(uint32_t call) { record_.call = call; }

        template <typename Request, typename Reply> CallResult run(const Request &request, Reply &reply) {
            begin(request);
            return end(reply);
        }

        // Sends the request, or leaves in the result why not.
        template <typename Request> void begin(const Request &request) {
            if (!slot_) return;
            write(writer_, request);
            send();
        }

        bool answered() const;

        template <typename Reply> CallResult end(Reply &reply) {
            if (!awaited()) return result_;
            Reader reader(payload_, payload_size_);
            bool decoded = read(reader, reply);
            finish(decoded, reader.offset());
            return result_;
        }

      private:
        void send();
        bool awaited();
        uint32_t await_reply();
        void take_reply(uint32_t notify);
        uint64_t time_for_record() const;
        void finish(bool decoded, size_t reply_bytes);

        Channel &channel_;
        const CallTraits traits_;
        const Deadline until_;
        BlobPool::Lease slot_;
        CallRecord record_;
        CallResult result_;
        bool sent_ = false;
        bool ended_ = false;
        uint8_t command_[command_buffer_size];
        Writer writer_;
        uint8_t payload_[reply_page_size];
        size_t payload_size_ = 0;
    };

    void on_timeout();
    // Whether the transport knows that nothing will be answered any more; then the device is lost.
    bool look_for_its_end();
    bool graph_kept_it(Clock::time_point &until) const;

    Transport *transport_;
    BlobPool &reply_slots_;
    CallLog &call_log_;
    Deadlines deadlines_;
    const uint32_t type_offset_;
    Pace ordinary_pace_;
    Pace graph_pace_;
    std::atomic<bool> lost_{false};
    std::atomic<int> unanswered_{0}; // calls in a row without a reply
    std::atomic<int> graphs_running_{0};
    std::atomic<Clock::rep> last_graph_end_{0};
};

} // namespace apir::guest
