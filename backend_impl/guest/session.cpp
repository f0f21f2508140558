#include "session.hpp"

#include <algorithm>
#include <sys/random.h>
#include <unistd.h>

#include "execbuffer_transport.hpp"
#include "forked.hpp"
#include "guarded.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr size_t reply_slot_limit = 64;
// So many there are before buffers fill the host-visible window: graphs go ahead with all but one.
constexpr size_t least_reply_slots = 4;
constexpr size_t data_slot_limit = 4;
constexpr size_t least_data_slot = size_t{64} << 10;
constexpr uint64_t known_extensions = component_extensions | host_library_extensions;

struct Nothing {};
void write(Writer &, const Nothing &) {}
bool read(Reader &, Nothing &) { return true; }

std::string version_text(uint32_t major, uint32_t minor) { return std::to_string(major) + "." + std::to_string(minor); }

uint64_t random_id() {
    uint64_t id = 0;
    while (id == 0) {
        if (getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id)) id = monotonic_ns();
    }
    return id;
}

std::vector<std::string> candidates(Device &device, const Config &config) {
    if (!config.render_node.empty()) return {config.render_node};
    return device.nodes();
}

Status open_context(Device &device, const std::string &node, uint32_t capset) {
    uint8_t caps[24] = {}; // its content is not looked at: behind a proxy it may be zero, on capset 4 it is Venus's
    Status status = device.open(node);
    if (status.ok()) status = device.get_caps(capset, caps, sizeof caps);
    if (status.ok()) status = device.init_context(capset);
    if (status.ok()) log(LogLevel::info, "context on %s, capset %u", node.c_str(), capset);
    return status;
}

std::string library_code_text(uint32_t code) {
    switch (code) {
    case 1: return "the host does not accept this guest (another protocol version, or its component cannot send)";
    case 2: return "the host library is loaded already in this context";
    case 3: return "no host library is configured: VIRGL_APIR_BACKEND_LIBRARY is not set on the host";
    case 4: return "the host library cannot be opened: VIRGL_APIR_BACKEND_LIBRARY on the host names no loadable file";
    case 5: return "the host library lacks a symbol: VIRGL_APIR_BACKEND_LIBRARY on the host names another kind of library";
    default: return "";
    }
}

std::string init_error_text(uint32_t error) {
    switch (error) {
    case 1: return "it cannot open its backend library";
    case 2:
        return "it cannot open the ggml library: APIR_LLAMA_CPP_GGML_LIBRARY_PATH on the host is not set, or names no loadable "
               "file";
    case 3: return "its backend library lacks symbols";
    case 4:
        return "the ggml library lacks the registration symbol: see APIR_LLAMA_CPP_GGML_LIBRARY_REG and "
               "APIR_LLAMA_CPP_GGML_LIBRARY_PATH on the host";
    case 5: return "its backend failed";
    case 6: return "the ggml library gave no registry";
    case 7: return "it was initialised before";
    case 8: return "the ggml library offers no device";
    case 9: return "the ggml library's device gives no backend";
    default: return "unknown reason";
    }
}

} // namespace

std::string load_code_text(uint32_t code) {
    std::string known = library_code_text(code);
    if (!known.empty()) return known + " (code " + std::to_string(code) + ")";
    // 6 + what the host library's init returned: 1 to 5 as above, 6 + n for its own error n.
    uint32_t value = code - 6;
    std::string cause = value <= 5 ? library_code_text(value) : init_error_text(value - 6);
    return "the host library did not initialise: " + (cause.empty() ? "unknown reason" : cause) + " (code " +
           std::to_string(code) + ")";
}

// The first node that leads to a host library: a virtual machine may have several GPUs, and APIR behind one of them.
std::unique_ptr<Session> Session::start(std::unique_ptr<Device> device, const Config &config, std::string &error) {
    watch_for_forks();
    std::shared_ptr<Device> shared = std::move(device);
    uint32_t capset = config.use_apir_capset ? apir_capset : venus_capset;
    error.clear();
    for (const std::string &node : candidates(*shared, config)) {
        Status status = open_context(*shared, node, capset);
        if (status.ok()) {
            std::unique_ptr<Session> session(new Session(shared, config, capset));
            status = session->bring_up();
            if (status.ok()) return session;
        }
        error += (error.empty() ? "" : "; ") + status.text();
    }
    if (error.empty()) error = "no render node of a virtio-gpu device in /dev/dri";
    return nullptr;
}

Status Session::bring_up() {
    open_call_log();
    Status status = handshake();
    if (status.ok()) status = load_library();
    if (!status.ok()) return status;
    negotiate();
    // The first data slot is made before any buffer can fill the host-visible window.
    if (!data_slots_.take(Clock::now())) return Status::failure("the host-visible window has no room for a data resource");
    if (has(Extension::asynchronous)) reply_slots_.prepare(least_reply_slots);
    return {};
}

Session::Session(std::shared_ptr<Device> device, const Config &config, uint32_t capset)
    : config_(config), capset_(capset), device_(std::move(device)),
      reply_slots_(*device_, reply_page_size, reply_page_size, reply_slot_limit),
      data_slots_(*device_, data_page_size, least_data_slot, data_slot_limit), buffer_blobs_(*device_),
      transport_(std::make_unique<ExecbufferTransport>(*device_)),
      channel_(*transport_, reply_slots_, call_log_, {config.call_deadline, config.graph_deadline.value_or(std::chrono::milliseconds(graph_wait_ms))}, capset == venus_capset),
      write_behind_(channel_, data_slots_, config.write_behind), id_(random_id()) {
    channel_.relieve_by([this] { end_answered(); });
    channel_.make_room_by([this] { return make_room(); });
}

void Session::know(const std::shared_ptr<InFlight> &in_flight) {
    std::lock_guard lock(streams_mutex_);
    streams_.erase(std::remove_if(streams_.begin(), streams_.end(), [](const auto &each) { return each.expired(); }), streams_.end());
    streams_.push_back(in_flight);
}

// What fails has been noted by the stream that it is of.
void Session::end_answered() noexcept {
    if (in_forked_child()) return; // there they are the parent's
    guarded("a call sent ahead", 0, [this] {
        std::vector<std::weak_ptr<InFlight>> streams;
        {
            std::lock_guard lock(streams_mutex_);
            streams = streams_;
        }
        for (const auto &each : streams)
            if (const std::shared_ptr<InFlight> stream = each.lock()) stream->end_answered();
        channel_.look_at_batches();
        return 0;
    });
    write_behind_.look();
}

void Session::give_up_free() {
    write_behind_.settle();
    end_answered();
    data_slots_.give_up_free();
    reply_slots_.give_up_free();
    buffer_blobs_.give_up_all();
}

// A data slot is made anew of what room there is then, before buffers take that. Whoever comes while another thread closes blobs waits for that.
bool Session::make_room() {
    std::lock_guard lock(room_mutex_);
    if (!reply_slots_.has_none()) return true;
    buffer_blobs_.give_up_all();
    if (reply_slots_.has_another()) return true;
    data_slots_.give_up_free();
    const bool there = reply_slots_.has_another();
    // One that is lent, perhaps to the very call that wants room, or that another thread has made of the room meanwhile.
    const bool others = !data_slots_.has_none();
    data_slots_.prepare(1);
    return there || !others;
}

// What nobody awaits may have the last one: a write that is left, one that has yet to go along with a call, one that went along with a graph, one that was
// sent ahead. Another thread may leave more of them meanwhile. And nobody else may ever see that the worker has ended.
BlobPool::Lease Session::data_slot_in_time(size_t size) {
    write_behind_.settle();
    end_answered();
    Deadline until = channel_.deadline(Patience::ordinary);
    for (;;) {
        const Deadline look(std::min(until.moment(), Clock::now() + between_looks));
        BlobPool::Lease slot = data_slots_.take(look);
        const bool over = slot || channel_.has_ended() || data_slots_.has_none() || !channel_.has_time_behind_graphs(until);
        if (over) return data_slots_.sized(std::move(slot), size);
        write_behind_.settle();
        end_answered();
    }
}

void Session::open_call_log() {
    if (config_.call_log_folder.empty()) return;
    static std::atomic<unsigned> contexts{0};
    std::string name = "guest-" + std::to_string(getpid()) + "-" + std::to_string(contexts.fetch_add(1));
    std::string error;
    // An address of this library, so that the file bears its build id.
    const void *here = reinterpret_cast<const void *>(&load_code_text);
    if (!call_log_.open(config_.call_log_folder.c_str(), name, CallSide::guest, 0, capset_, here, error)) {
        log(LogLevel::warn, "no call records: %s", error.c_str());
    }
    call_log_.set_session(id_);
}

Status Session::handshake() {
    Version theirs;
    const Version ours{protocol_major, protocol_minor};
    CallResult result = channel_.command(CommandType::handshake, ours, theirs, std::chrono::milliseconds(handshake_wait_ms));
    if (result.timed_out()) {
        return Status::failure("no answer to the handshake within " + std::to_string(handshake_wait_ms) +
                               " ms: the host has no APIR component, or VIRGL_ROUTE_VENUS_TO_APIR is not set there");
    }
    if (result.outcome != Outcome::answered) return Status::failure("handshake: " + result.text());
    if (result.code != handshake_magic) {
        return Status::failure("the host answers the handshake with " + std::to_string(result.code) + ", not with " +
                               std::to_string(handshake_magic));
    }
    std::string versions = "this guest speaks protocol " + version_text(ours.major, ours.minor) + ", the host " +
                           version_text(theirs.major, theirs.minor);
    if (theirs.major != ours.major) return Status::failure(versions);
    // The component's minor says nothing of the host library: nothing is decided by it.
    log(theirs.minor == ours.minor ? LogLevel::debug : LogLevel::info, "%s", versions.c_str());
    return {};
}

Status Session::load_library() {
    Nothing reply;
    CallResult result =
        channel_.command(CommandType::load_library, Nothing{}, reply, std::chrono::milliseconds(load_library_wait_ms));
    if (result.timed_out()) {
        return Status::failure("the host did not load its library within " + std::to_string(load_library_wait_ms) + " ms");
    }
    if (result.outcome != Outcome::answered) return Status::failure("load library: " + result.text());
    if (result.code != static_cast<uint32_t>(LoadCode::ok)) return Status::failure(load_code_text(result.code));
    return {};
}

// Any refusal means a peer of 0.2, and no extensions.
void Session::negotiate() {
    NegotiateReply reply;
    const uint64_t offered = config_.extensions & known_extensions & ~(config_.ring ? 0 : static_cast<uint64_t>(Extension::ring));
    CallResult result = channel_.call(Call::negotiate, NegotiateRequest{1, offered, id_}, reply);
    if (result.ok()) extensions_ = reply.accepted & offered;
    if (has(Extension::liveness) && !config_.graph_deadline) channel_.trust_graphs();
    if (has(Extension::timing)) channel_.expect_times();
    if (has(Extension::bunched_fences)) device_->bunch_fences();
    std::string names;
    for (const NamedExtension &each : all_extensions)
        if (has(each.extension)) names += std::string(" ") + each.name;
    log(LogLevel::info, "extensions:%s (%s)", names.empty() ? " none" : names.c_str(), result.text().c_str());
    if (has(Extension::ring)) open_ring();
}

// Without a ring, for whatever reason, commands go on by EXECBUFFER, and nobody sees the extension.
void Session::open_ring() {
    std::string error;
    ring_ = RingTransport::lay_out(*device_, capset_ == venus_capset ? venus_command_offset : 0, error);
    CallResult result;
    if (ring_ != nullptr) {
        RingCreateReply reply;
        result = channel_.call(Call::ring_create, ring_->offer(), reply);
        error = result.text();
    }
    if (result.ok()) {
        write_behind_.expect_quick_replies();
        return channel_.use(*ring_);
    }
    extensions_ &= ~static_cast<uint64_t>(Extension::ring);
    log(LogLevel::warn, "no command ring: %s", error.c_str());
    // After a call without a reply the host may have it yet: then its memory stays.
    if (!result.timed_out()) ring_.reset();
}

} // namespace apir::guest
