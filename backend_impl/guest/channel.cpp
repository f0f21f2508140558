#include "channel.hpp"

#include <algorithm>
#include <cstring>

#include "log.hpp"
#include "wire/short_copies.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr int unanswered_limit = 3;
constexpr uint32_t worker_lost = static_cast<uint32_t>(ReturnCode::worker_lost);
// How long a waiting call still waits for its own reply when the device was lost meanwhile: the component fails pending calls
// of a dead worker by itself.
constexpr auto lost_grace = 2s;
// An old host library answers call 8 with one item less than a new one: what it does not write has to read 0.
constexpr size_t cleared_reply = 24;

const char *outcome_text(Outcome outcome) {
    switch (outcome) {
    case Outcome::answered: return "answered";
    case Outcome::undecodable: return "the host's reply does not decode";
    case Outcome::not_sent: return "the command could not be sent";
    case Outcome::timed_out: return "no reply from the host in time";
    case Outcome::lost: return "the device is lost";
    }
    return "unknown";
}

std::atomic<uint32_t> &notify_of(const Blob &slot) {
    static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free);
    return *reinterpret_cast<std::atomic<uint32_t> *>(slot.memory);
}

// What the word of a reply says.
CallResult result_in(uint32_t notify) {
    const uint32_t code = notify - 1;
    return {code == worker_lost ? Outcome::lost : Outcome::answered, code};
}

} // namespace

std::string CallResult::text() const {
    if (outcome != Outcome::answered) return outcome_text(outcome);
    if (ok()) return "ok";
    return "the host refused it with code " + std::to_string(code);
}

void CallResult::report_failure(const char *what) const {
    log(outcome == Outcome::lost ? LogLevel::debug : LogLevel::error, "%s: %s", what, text().c_str());
}

Channel::Channel(Transport &transport, BlobPool &reply_slots, CallLog &call_log, Deadlines deadlines, bool venus_types)
    : carried_(reply_slots.limit()), transport_(&transport), reply_slots_(reply_slots), call_log_(call_log), deadlines_(deadlines),
      type_offset_(venus_types ? venus_command_offset : 0) {}

[[gnu::cold]] bool Channel::may_call_though_lost() {
    if (in_forked_child()) lose("this process was forked, and only its parent may call");
    return false;
}

bool Channel::defer_item(const uint8_t *bytes, size_t size, BlobPool::Lease &slot, uint64_t data_out) {
    if (in_forked_child()) return false;
    std::unique_lock lock(deferred_mutex_);
    if (deferred_.size() + size > deferred_limit) {
        lock.unlock(); // others may call meanwhile
        batches_.await_all_but(most_batches - 1);
        lock.lock();
        if (deferred_.size() + size > deferred_limit && !send_deferred()) return false;
    }
    deferred_.reserve(deferred_.size() + size);
    if (slot && !deferred_slots_.leave(slot)) return false;
    deferred_.insert(deferred_.end(), bytes, bytes + size);
    deferred_data_ += data_out;
    ++deferred_count_;
    return true;
}

void Channel::send_deferred_slot() {
    if (in_forked_child() || !deferred_slots_.has_unsent()) return;
    std::lock_guard lock(deferred_mutex_);
    if (deferred_slots_.has_unsent()) send_deferred();
}

// Calls in flight leave one free slot; but a call without a reply may take that one away, and then nobody gives back any but who looks at their replies.
// Those in flight may be graphs: a call that waits for them has its time from their end on.
[[gnu::cold]] BlobPool::Lease Channel::reply_slot_in_time(Deadline &until, bool waits_for_graphs) {
    for (;;) {
        const Deadline look(std::min(until.moment(), Clock::now() + between_looks));
        BlobPool::Lease slot = reply_slots_.take(look);
        if (slot || has_ended() || !keeps_reply_slots()) return slot;
        if (waits_for_graphs ? !has_time_behind_graphs(until) : Clock::now() >= until.moment()) return slot;
        if (relieve_) relieve_();
    }
}

// Without one there is no call that could fail, and so bring the device back when all of it is freed; nor any that would free something. Another thread
// may have made one meanwhile.
bool Channel::keeps_reply_slots() {
    if (!reply_slots_.has_none()) return true;
    if (!in_doubt()) return false; // there never was one: whoever sets up tells
    const bool for_good = !make_room_ || make_room_();
    if (!reply_slots_.has_none()) return true;
    if (for_good) lose("calls without a reply keep all reply slots, and the host-visible window has no room for another one (the VM needs a larger hostmem=SIZE)");
    return false; // with a data slot that is lent, this call alone fails
}

bool Channel::has_time_behind_graphs(Deadline &until) {
    if (Clock::now() < until.moment()) return true;
    Clock::time_point later;
    if (!graph_kept_it(later)) return false;
    until = Deadline(later);
    return true;
}

std::unique_lock<std::mutex> Channel::order_of_deferred() {
    if (deferred_count_.load(std::memory_order_acquire) == 0) return {};
    return std::unique_lock(deferred_mutex_);
}

void Channel::forget_deferred() {
    deferred_.clear();
    deferred_count_ = 0;
    deferred_data_ = 0;
}

// Calls that wait for the next one, when they cannot wait or do not fit in with it. Failures are told with those of the calls that went along with
// others.
class Channel::Batch : public CallAhead {
  public:
    explicit Batch(Channel &channel) : channel_(channel) {}
    bool answered() const override { return pending.answered(); }
    bool end() override {
        BatchReply reply;
        const CallResult result = pending.end(reply);
        if (!result.ok()) channel_.lose_writes(result);
        return true;
    }

    Pending<BatchReply> pending;

  private:
    Channel &channel_;
};

// The time of a call in the records ends when its reply is looked at.
bool Channel::send_deferred() {
    if (keeps_records()) return send_and_await_deferred();
    auto batch = std::make_unique<Batch>(*this);
    auto exchange = std::make_unique<Exchange>(*this, CommandType::forward, static_cast<uint32_t>(Call::batch), CallTraits{});
    if (!exchange->begin_deferred(Slot::ahead)) return send_and_await_deferred(); // the last one is for those who wait
    if (!exchange->sent()) return false;
    batch->pending = Pending<BatchReply>(std::move(exchange));
    batches_.add(std::move(batch));
    forget_deferred(); // whoever sees that none waits sees that they are on their way
    return true;
}

bool Channel::send_and_await_deferred() {
    Exchange exchange(*this, CommandType::forward, static_cast<uint32_t>(Call::batch), {});
    CallResult result = exchange.run_deferred();
    if (!exchange.sent()) return false;
    if (!result.ok()) lose_writes(result);
    forget_deferred();
    return true;
}

void Channel::look_at_carried() {
    while (const uint32_t notify = carried_.next_answered([this](uint32_t word) { count_if_lost(word); })) {
        const CallResult result = result_in(notify);
        if (!result.ok()) report_lost_writes(result);
    }
}

void Channel::give_up_carried(uint64_t last_before) {
    if (carried_.give_up(last_before, [this](uint32_t word) { count_if_lost(word); }) == 0) return;
    log(LogLevel::error, "tensor writes went along with a call that the host has not answered, but one that was sent behind it; a graph is refused");
}

// A call without a reply has not written them as far as anybody knows.
bool Channel::count_if_lost(uint32_t notify) {
    const bool lost = notify == 0 || !result_in(notify).ok();
#if !defined(APIR_PLANT_UNTOLD_WRITES)
    if (lost) lose_transfer();
#endif
    return lost;
}

// Whoever left them was told of success before.
void Channel::lose_writes(const CallResult &result) {
    lose_transfer();
    report_lost_writes(result);
}

void Channel::report_lost_writes(const CallResult &result) const {
    result.report("tensor writes that went along with a call, which may not all have been made; the next graph is refused");
}

void Channel::lose(const char *why) {
    if (!lost_.exchange(true, std::memory_order_acq_rel)) {
        log(LogLevel::error, "device lost: %s; every later call fails", why);
    }
}

bool Channel::look_for_its_end() {
    const char *why = transport_->gone();
    if (why != nullptr) lose(why);
    return why != nullptr;
}

void Channel::on_timeout() {
    without_reply_.fetch_add(1, std::memory_order_release);
    if (unanswered_.fetch_add(1) + 1 >= unanswered_limit) lose("the host leaves calls without a reply");
}

bool Channel::is_past_doubt() {
    const uint64_t all = without_reply_.load(std::memory_order_acquire);
    if (known_past_.load(std::memory_order_acquire) == all) return true;
    DeviceGetCountReply reply;
    const CallResult result = call(Call::device_get_count, DeviceGetCountRequest{}, reply);
    if (result.unanswered()) {
        result.report("device_get_count, behind a call without a reply");
        return false;
    }
    known_past_.store(all, std::memory_order_release);
    return true;
}

// The host serves commands in order: a call behind a graph gets its time from the graph's end on.
bool Channel::graph_kept_it(Clock::time_point &until) {
    const Clock::time_point now = Clock::now();
    const Clock::time_point after_graphs = graphs_.busy_until(now, deadlines_.graph) + deadlines_.ordinary;
    if (after_graphs <= now) return false;
    until = after_graphs;
    return true;
}

inline Pace &Channel::pace_of(Patience patience) {
    switch (patience) {
    case Patience::graph: return graph_pace_;
    case Patience::pipe: return pipe_pace_;
    default: return ordinary_pace_;
    }
}

namespace {

// Of one exchange that has ended, for the next one. An exchange is some 32 KiB, which the C library does not have at hand. Never given back.
std::atomic<void *> spare_exchange{nullptr};

} // namespace

void *Channel::Exchange::operator new(size_t size) {
    if (void *memory = spare_exchange.exchange(nullptr)) return memory;
    return ::operator new(size);
}

void Channel::Exchange::operator delete(void *memory) {
#if !defined(APIR_SANITIZED) // which would not see who still uses it
    memory = spare_exchange.exchange(memory);
#endif
    ::operator delete(memory);
}

inline bool Channel::Exchange::may_call() {
    record_.start_ns = time_for_record();
    if (channel_.may_call()) return true;
    result_.outcome = Outcome::lost;
    return false;
}

// One that may run long has its time from when it is sent: for a slot it waits as others do, for where nobody limits its time (liveness) nothing else
// would end that.
BlobPool::Lease Channel::Exchange::slot_in_time() {
    Deadline as_others = channel_.deadline(Patience::ordinary);
    BlobPool::Lease slot = may_run_long() ? channel_.reply_slot_in_time(as_others, true) : channel_.reply_slot_in_time(until_, waits_for_graphs());
    if (!slot && channel_.lost()) result_.outcome = Outcome::lost;
    return slot;
}

inline bool Channel::Exchange::take_slot(Slot slot) {
    slot_ = slot == Slot::ahead ? channel_.reply_slots_.take_beside() : channel_.reply_slots_.take(Deadline(Clock::duration::zero()));
    if (!slot_ && slot == Slot::awaited) slot_ = slot_in_time();
    if (!slot_) return false;
    record_.reply_resource = slot_->resource;
    return true;
}

inline void Channel::Exchange::write_header(uint32_t call) {
    write(writer_, CommandHeader{channel_.type_offset_ + record_.type, call, slot_->resource});
}

// Only a command that begins so has all of the room.
void Channel::Exchange::write_header_of_batch(uint32_t calls) {
    writer_ = Writer(command_, sizeof command_);
    write_header(static_cast<uint32_t>(Call::batch));
    write(writer_, BatchRequest{calls});
}

inline void Channel::Exchange::write_header() {
    if (traits_.device == 0) return write_header(record_.call);
    write_header(static_cast<uint32_t>(Call::on_device));
    write(writer_, OnDeviceRequest{traits_.device, record_.call});
}

// While calls wait to go along, or are about to, commands leave one by one: none may overtake them. Their lock is taken before the slot: whoever
// holds it may have to wait for one, so nobody may wait for it with one in hand.
Channel::Exchange::Prepared Channel::Exchange::prepare(Slot slot, std::unique_lock<std::mutex> &order) {
    if (!may_call()) return Prepared::no;
    if (record_.type == static_cast<uint32_t>(CommandType::forward)) order = channel_.order_of_deferred();
    if (!take_slot(slot)) return Prepared::no;
    if (order && channel_.deferred_count_ != 0) return Prepared::behind_deferred;
    write_header();
    return Prepared::with_header;
}

// This one may be about what they were to write: it does not go without them. They need a slot, and there may be one only.
bool Channel::Exchange::send_after_deferred(Slot slot) {
    slot_ = {};
    if (!channel_.send_deferred() || !take_slot(slot)) return false;
    write_header();
    return true;
}

inline uint64_t Channel::Exchange::time_for_record() const { return channel_.call_log_.is_open() ? monotonic_ns() : 0; }

Channel::Exchange::~Exchange() {
    if (!sent_) {
        // They still wait to go along.
        if (carries_deferred_) channel_.carried_.ended(notify_of(*slot_), [](uint32_t) {});
        // Nobody waits for one whose handing over threw.
        if (slot_ && may_run_long()) channel_.graphs_.remove(notify_of(*slot_));
        return;
    }
    if (!ended_) {
        channel_.without_reply_.fetch_add(1, std::memory_order_release);
        if (may_run_long()) channel_.graphs_.remove(notify_of(*slot_));
        end_carried(false);
        slot_.retire();
        note_loss();
    }
    if (!channel_.call_log_.is_open()) return;
    record_.duration_ns = time_for_record() - record_.start_ns;
    channel_.call_log_.add(record_);
}

// Where commands do not pass through the component, nobody else says in a reply that the worker has ended.
void Channel::Exchange::note_loss() {
    if (channel_.transport_->gone() != nullptr) record_.status = static_cast<int32_t>(ReturnCode::worker_lost);
}

// The call that found the other end gone is in the records like one that was answered so.
void Channel::Exchange::record_loss() {
    result_.outcome = Outcome::lost;
    note_loss();
    channel_.call_log_.count();
    record_.duration_ns = time_for_record() - record_.start_ns;
    channel_.call_log_.add(record_);
}

bool Channel::Exchange::begin_deferred(Slot slot) {
    if (!may_call()) return true;
    if (!take_slot(slot)) return false;
    write_header_of_batch(channel_.deferred_count_);
    writer_.bytes(channel_.deferred_.data(), channel_.deferred_.size());
    send();
    if (sent_) carry_deferred();
    return true;
}

CallResult Channel::Exchange::run_deferred() {
    begin_deferred(Slot::awaited);
    BatchReply reply;
    return end(reply);
}

void Channel::Exchange::send_with_deferred() {
    notify_of(*slot_).store(0, std::memory_order_release);
    channel_.carried_.begin(notify_of(*slot_));
    carries_deferred_ = true;
    send();
    if (!sent_) return;
    carry_deferred();
    channel_.forget_deferred();
}

void Channel::Exchange::carry_deferred() {
    carries_slot_ = channel_.deferred_slots_.has_unsent();
    if (carries_slot_) channel_.deferred_slots_.sent(notify_of(*slot_));
    record_.bytes_out += channel_.deferred_data_;
}

// While the reply slot is still this call's.
inline void Channel::Exchange::end_carried(bool answered) {
    if (carries_slot_) channel_.deferred_slots_.ended(notify_of(*slot_), answered);
    if (!carries_deferred_) return;
    const auto see = [this](uint32_t word) { counted_loss_ = channel_.count_if_lost(word); };
    tells_of_carried_ = channel_.carried_.ended(notify_of(*slot_), see);
}

// A reply that says that all went well, but cannot be read, is not one.
void Channel::Exchange::tell_of_carried() {
    if (!counted_loss_) channel_.lose_transfer();
    channel_.report_lost_writes(result_);
}

void Channel::Exchange::send() {
    if (writer_.failed()) return;
    std::memset(slot_->memory + 4, 0, cleared_reply - 4);
    notify_of(*slot_).store(0, std::memory_order_release);
    record_.queue_ns = time_for_record() - record_.start_ns;
    record_.bytes_out = writer_.size() + traits_.data_out;

    // Takes memory: before the host has it.
    if (may_run_long()) channel_.graphs_.add(notify_of(*slot_));
    Status status = channel_.transport_->submit(command_, writer_.size(), until_, other_);
    if (!status.ok() && !hand_over_later(std::move(status))) return;
    channel_.call_log_.count();
    sent_ = true;
    if (traits_.data_slot != nullptr) traits_.data_slot->retire();
}

// A full ring may be one whose worker computes.
bool Channel::Exchange::hand_over_later(Status status) {
    Clock::time_point until;
    while (status.had_no_room() && waits_for_graphs() && !channel_.lost() && channel_.graph_kept_it(until)) {
        status = channel_.transport_->submit(command_, writer_.size(), until, other_);
    }
    if (status.ok()) return true;
    if (may_run_long()) channel_.graphs_.remove(notify_of(*slot_));
    log(LogLevel::error, "%s", status.text().c_str());
    if (channel_.look_for_its_end()) record_loss();
    return false;
}

bool Channel::Exchange::waits_for_graphs() const {
    return traits_.patience == Patience::ordinary && record_.type == static_cast<uint32_t>(CommandType::forward);
}

void Channel::Exchange::hurry() {
    in_a_hurry_ = true;
    until_ = Deadline(Clock::now() + channel_.deadlines_.ordinary);
}

bool Channel::Exchange::answered() const { return !sent_ || ended_ || notify_of(*slot_).load(std::memory_order_acquire) != 0; }

// The payload is copied out once: the host can change the shared page while it is being decoded.
inline void Channel::Exchange::take_reply(uint32_t notify) {
    channel_.unanswered_.store(0);
    result_.code = notify - 1;
    record_.status = static_cast<int32_t>(result_.code);
    if (result_.code == worker_lost) {
        channel_.lose("the host's worker process has ended");
        result_.outcome = Outcome::lost;
        return;
    }
    if (channel_.expects_times_ && channel_.call_log_.is_open()) take_times();
    result_.outcome = Outcome::answered;
    payload_size_ = std::min({traits_.reply_limit, sizeof payload_, slot_->size - 4});
    copy_short(payload_, slot_->memory + 4, payload_size_);
}

bool Channel::Exchange::awaited() {
    if (!sent_) return false;
    Pace &pace = channel_.pace_of(traits_.patience);
    uint32_t notify = look_for_quick_reply(notify_of(*slot_), pace);
    if (notify == 0) notify = await_reply(pace);
    ended_ = true;
    if (may_run_long()) channel_.graphs_.remove(notify_of(*slot_));
    end_carried(notify != 0);
    if (notify == 0) {
#if !defined(APIR_PLANT_REUSED_SLOT)
        slot_.retire();
#endif
        result_.outcome = channel_.lost() ? Outcome::lost : Outcome::timed_out;
        if (!channel_.lost()) channel_.on_timeout();
        note_loss();
        return false;
    }
    take_reply(notify);
    return result_.outcome == Outcome::answered;
}

uint32_t Channel::Exchange::await_reply(Pace &pace) {
    static const std::atomic<bool> never{false};
    Deadline until = until_;
    bool shortened = false;
    for (;;) {
        const uint32_t notify =
            channel_.transport_->await(notify_of(*slot_), until, pace, other_, shortened ? never : channel_.lost_);
        if (notify != 0) return notify;
        // The last reply may have come between two looks, at it and at the other side.
        if (channel_.look_for_its_end()) return notify_of(*slot_).load(std::memory_order_acquire);
        const Clock::time_point now = Clock::now();
        if (channel_.lost() && !shortened) {
            shortened = true;
            until = std::min(until.moment(), now + lost_grace);
        }
        if (now < until.moment()) continue;
        if (shortened || !has_more_time(now, until)) return 0;
    }
}

// The host was at graphs that were sent before.
bool Channel::Exchange::has_more_time(Clock::time_point now, Deadline &until) {
    if (in_a_hurry_) return false;
    Clock::time_point later = now;
    if (may_run_long()) later = channel_.graphs_.time_of(notify_of(*slot_), now, channel_.deadlines_.graph);
    else if (waits_for_graphs()) channel_.graph_kept_it(later);
    until = later;
    return later > now;
}

// Of the guest's own record; a host that lies about it deceives whoever reads that.
void Channel::Exchange::take_times() {
    if (record_.type != static_cast<uint32_t>(CommandType::forward)) return;
    uint8_t bytes[reply_timing_size];
    std::memcpy(bytes, slot_->memory + slot_->size - sizeof bytes, sizeof bytes);
    Reader reader(bytes, sizeof bytes);
    ReplyTiming timing;
    if (!read(reader, timing)) return;
    record_.host_queue_ns = timing.queue_ns;
    record_.host_compute_ns = timing.compute_ns;
}

} // namespace apir::guest
