#include "commands.hpp"

#include <cinttypes>
#include <cstring>
#include <optional>
#include <string>

#include "../component_log.hpp"
#include "meant_call.hpp"

namespace apir::virgl {
namespace {

// Lines about commands that cannot be answered, per context: a hostile guest must not fill the disk.
constexpr int max_complaints = 100;

// The type with the offset of routed commands taken off: both forms are accepted on both capsets.
std::optional<CommandType> command_type(uint32_t type) {
    if (type >= venus_command_offset) type -= venus_command_offset;
    if (type > static_cast<uint32_t>(CommandType::forward)) return std::nullopt;
    return static_cast<CommandType>(type);
}

// The doorbell of the ring: it was heard when it came, and is no call.
bool is_kick(CommandType type, uint32_t flags) {
    return type == CommandType::forward && flags == static_cast<uint32_t>(Call::ring_kick);
}

// What is between guest and component only is no part of a conversation that a host library can play again.
bool is_of_the_ring(CommandType type, uint32_t flags) {
    return type == CommandType::forward && flags == static_cast<uint32_t>(Call::ring_create);
}

bool moves_data(uint32_t call) {
    return call == static_cast<uint32_t>(Call::buffer_set_tensor) || call == static_cast<uint32_t>(Call::buffer_get_tensor) ||
           call == static_cast<uint32_t>(Call::wide_set_tensor) || call == static_cast<uint32_t>(Call::wide_get_tensor);
}

uint32_t forward_code(uint32_t result) { return static_cast<uint32_t>(ReturnCode::ok) + result; }

} // namespace

void Commands::complain(const char *what, uint32_t number) {
    // A guest that goes on with the same thing is told of once.
    if (what == last_complaint_ && number == last_number_) return;
    last_complaint_ = what;
    last_number_ = number;
    if (++complaints_ <= max_complaints) log(Level::warn, "context %u: %s %" PRIu32 "; no reply", world_.context, what, number);
}

void Commands::take(const Entry &entry) {
    switch (entry.kind) {
    case EntryKind::command: return on_command(entry);
    case EntryKind::blob_added: return on_blob_added(entry);
    case EntryKind::blob_removed: return on_blob_removed(entry);
    case EntryKind::config: return on_config(entry);
    case EntryKind::skip: return;
    }
}

void Commands::on_blob_added(const Entry &entry) {
    BlobEntry blob;
    std::memcpy(&blob, entry.payload, sizeof blob);
    world_.blobs->add(blob.resource, {blob.offset, blob.size});
    trace_.blob_added(blob.resource, blob.size);
}

void Commands::on_blob_removed(const Entry &entry) {
    BlobEntry blob;
    std::memcpy(&blob, entry.payload, sizeof blob);
    ring_.forget(blob.resource);
#if !defined(APIR_PLANT_STALE_RESOURCE)
    world_.blobs->remove(blob.resource);
#endif
}

void Commands::on_config(const Entry &entry) {
    const char *key = reinterpret_cast<const char *>(entry.payload);
    const char *value = key + std::strlen(key) + 1;
    world_.config[key] = value;
}

void Commands::on_command(const Entry &entry) {
    Reader reader(entry.payload, entry.size);
    CommandHeader header;
    bool whole = read(reader, header);
    std::optional<CommandType> type = whole ? command_type(header.type) : std::nullopt;
    if (type && is_kick(*type, header.flags)) return;
    moved_data_ = type == CommandType::forward && moves_data(header.flags);
    calls_.count();
    CallRecord record;
    record.start_ns = monotonic_ns();
    record.queue_ns = record.start_ns - entry.submitted_ns;
    if (!whole) return complain("a command of", static_cast<uint32_t>(entry.size)); // has no reply resource
    record.reply_resource = header.reply_resource;
    const MappedBlob *page = world_.blobs->find(header.reply_resource);
    record.type = type ? static_cast<uint32_t>(*type) : header.type;
    record.bytes_out = entry.size;
    if (!type) complain("a command of type", header.type);
    if (page == nullptr) complain("a command with reply resource", header.reply_resource);
    if (type && page != nullptr) {
        const uint8_t *request = entry.payload + reader.offset();
        bool traced = trace_.is_open() && !is_of_the_ring(*type, header.flags);
        if (traced) trace_.begin(*type, entry.payload, entry.size, *world_.blobs);
        uint64_t start_ns = traced ? monotonic_ns() : 0;
        const bool timed = tells_times_ && *type == CommandType::forward && page->size > sizeof(uint32_t) + reply_timing_size;
        Outcome outcome = carry_out(*type, header.flags, reader, request, entry.size - reader.offset(), page->data + sizeof(uint32_t),
                                    page->size - sizeof(uint32_t) - (timed ? reply_timing_size : 0));
        // Before the guest learns of the reply, and may use the data resource for the next call.
        if (traced)
            trace_.end(outcome.code, page->data + sizeof(uint32_t), outcome.reply_size, start_ns, monotonic_ns() - start_ns);
        if (timed) {
            Writer writer(page->data + page->size - reply_timing_size, reply_timing_size);
            write(writer, ReplyTiming{record.queue_ns, monotonic_ns() - record.start_ns});
        }
        auto *notify = reinterpret_cast<uint32_t *>(page->data);
        // Release: the guest, which reads this with acquire, then sees the payload and all data.
#if defined(APIR_PLANT_UNTOLD_REPLY)
        static int replies = 0;
        if (++replies == 20) return;
#endif
        __atomic_store_n(notify, outcome.code + 1, __ATOMIC_RELEASE);
        record.status = static_cast<int32_t>(outcome.code);
        record.bytes_in = sizeof(uint32_t) + outcome.reply_size;
        if (*type == CommandType::forward && calls_.is_open()) {
            MeantCall meant = meant_call(header.flags, request, entry.size - reader.offset());
            record.call = meant.number;
            record.bytes_out += meant.all_bytes_out();
            record.bytes_in += meant.bytes_in;
        }
    }
    record.duration_ns = monotonic_ns() - record.start_ns;
    calls_.add(record);
}

Commands::Outcome Commands::carry_out(CommandType type, uint32_t flags, Reader &payload, const uint8_t *request,
                                      size_t request_size, uint8_t *reply, size_t room) {
    switch (type) {
    case CommandType::handshake: return on_handshake(payload, reply, room);
    case CommandType::load_library: return on_load_library();
    case CommandType::forward: return on_forward(flags, request, request_size, reply, room);
    }
    return {static_cast<uint32_t>(ReturnCode::no_dispatch), 0};
}

Commands::Outcome Commands::on_handshake(Reader &payload, uint8_t *reply, size_t room) {
    Version theirs;
    bool told = read(payload, theirs);
    other_major_ = !told || theirs.major != protocol_major;
    if (other_major_)
        log(Level::error,
            "context %u: the guest speaks protocol %" PRIu32 ".%" PRIu32 ", this component %" PRIu32 ".%" PRIu32 ": refused",
            world_.context, theirs.major, theirs.minor, protocol_major, protocol_minor);
    else if (theirs.minor != protocol_minor)
        log(Level::warn, "context %u: the guest speaks protocol %" PRIu32 ".%" PRIu32 ", this component %" PRIu32 ".%" PRIu32,
            world_.context, theirs.major, theirs.minor, protocol_major, protocol_minor);
    Writer writer(reply, room);
    write(writer, Version{protocol_major, protocol_minor});
    return {handshake_magic, writer.size()};
}

Commands::Outcome Commands::on_load_library() {
    if (other_major_) return {static_cast<uint32_t>(LoadCode::not_sent), 0};
    return {library_.load(), 0};
}

Commands::Outcome Commands::on_forward(uint32_t call, const uint8_t *request, size_t request_size, uint8_t *reply, size_t room) {
    if (!library_.loaded() || other_major_) return {static_cast<uint32_t>(ReturnCode::no_dispatch), 0};
    if (call == static_cast<uint32_t>(Call::negotiate)) return on_negotiate(request, request_size, reply, room);
    if (call == static_cast<uint32_t>(Call::ring_create)) return on_ring_create(request, request_size);
    size_t reply_size = 0;
    uint32_t result = library_.call(call, request, request_size, reply, room, reply_size);
    return {forward_code(result), reply_size};
}

Commands::Outcome Commands::on_ring_create(const uint8_t *request, size_t request_size) {
    Reader reader(request, request_size);
    RingCreateRequest offer;
    bool opened = read(reader, offer) && ring_.open(offer);
    return {static_cast<uint32_t>(opened ? ReturnCode::ok : ReturnCode::call_failed), 0};
}

// The host library has its say, then the component adds its own extensions: with a host library that has none, the
// component's remain.
Commands::Outcome Commands::on_negotiate(const uint8_t *request, size_t request_size, uint8_t *reply, size_t room) {
    Reader reader(request, request_size);
    NegotiateRequest offer;
    if (!read(reader, offer)) return {static_cast<uint32_t>(ReturnCode::call_failed), 0};
    calls_.set_session(offer.session);
    size_t reply_size = 0;
    uint32_t result = library_.call(static_cast<uint32_t>(Call::negotiate), request, request_size, reply, room, reply_size);
    NegotiateReply answer;
    Reader theirs(reply, reply_size);
    if (result != static_cast<uint32_t>(DispatchCode::ok) || !read(theirs, answer)) answer.accepted = 0;
    uint64_t ours = component_extensions;
    if (!ring_.allowed()) ours &= ~static_cast<uint64_t>(Extension::ring);
    // What goes through a pipe is not there when the command comes: a recording would be without it.
    if (trace_.is_open()) answer.accepted &= ~static_cast<uint64_t>(Extension::pipes);
    answer.accepted = (answer.accepted | ours) & offer.offered;
    Writer writer(reply, room);
    write(writer, answer);
    tells_times_ = (answer.accepted & static_cast<uint64_t>(Extension::timing)) != 0;
    return {writer.failed() ? static_cast<uint32_t>(ReturnCode::call_failed) : static_cast<uint32_t>(ReturnCode::ok),
            writer.size()};
}

} // namespace apir::virgl
