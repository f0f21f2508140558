#include "hostile_host.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace apir::fuzz {
namespace {

using guest::Blob;
using guest::test::ScriptedHost;

// More than the programs here ask for: a good host would refuse it, and this one has no memory for it.
constexpr uint64_t most_buffer_bytes = uint64_t{1} << 22;

bool is_forward(const CommandHeader &header) {
    return header.type % venus_command_offset == static_cast<uint32_t>(CommandType::forward);
}

bool is_call(const CommandHeader &header, Call call) { return is_forward(header) && header.flags == static_cast<uint32_t>(call); }

template <typename Reply> ScriptedHost::Handler always(Reply reply) {
    return [reply](Reader &, Writer &writer) {
        write(writer, reply);
        return ScriptedHost::ok;
    };
}

} // namespace

HostileHost::HostileHost(const uint8_t *data, size_t size) : data_(data, data + size) {
    takes_pointers = byte() % 2 == 0;
    script_extensions();
}

void HostileHost::script_extensions() {
    uint64_t accepted = byte();
    accepted |= uint64_t{byte()} << 8;
    script(Call::negotiate, [accepted](Reader &, Writer &writer) {
        // What was not offered as well: the guest has to know what it asked for.
        write(writer, NegotiateReply{accepted});
        return ok;
    });
    DeviceSummaryReply summary;
    summary.name = "FAKE0", summary.description = "A fake device", summary.buft_name = "FAKE";
    summary.free = 1000, summary.total = 2000, summary.buffer_from_host_ptr = takes_pointers;
    summary.buft = 77, summary.alignment = 32, summary.max_size = UINT64_MAX;
    script(Call::device_summary, always(summary));
    script(Call::wide_supports_op, always(WideSupportsOpReply{true}));
    script(Call::wide_get_alloc_size, always(WideGetAllocSizeReply{256}));
    script(Call::graph_keep, always(GraphKeepReply{0, 5}));
    script(Call::graph_run, always(GraphRunReply{true, 0}));
    script(Call::graph_patch, always(GraphPatchReply{true, 0}));
    script(Call::set_tensor_inline, always(SetTensorInlineReply{}));
    script(Call::batch, always(BatchReply{}));
    script(Call::ring_create, [this](Reader &reader, Writer &) {
        RingCreateRequest offer;
        bool opened = read(reader, offer) && open_ring(offer);
        return opened ? ok : static_cast<uint32_t>(ReturnCode::call_failed);
    });
}

void HostileHost::on_blob(uint32_t resource, const Blob &blob) {
    std::lock_guard lock(serving_);
    pages_[resource] = blob;
    ScriptedHost::on_blob(resource, blob);
}

void HostileHost::on_blob_closed(uint32_t resource) {
    std::lock_guard lock(serving_);
    if (resource == ring_resource_) ring_.reset();
    pages_.erase(resource);
    ScriptedHost::on_blob_closed(resource);
}

void HostileHost::on_command(const std::vector<uint8_t> &command) {
    std::lock_guard lock(serving_);
    CommandHeader header;
    Reader reader(command.data(), command.size());
    read(reader, header);
    if (is_call(header, Call::ring_kick)) serve_ring();
    else answer(command);
}

void HostileHost::answer(const std::vector<uint8_t> &command) {
    std::vector<uint8_t> late;
    late.swap(late_);
    CommandHeader header;
    Reader reader(command.data(), command.size());
    read(reader, header);
    BufferTypeAllocBufferRequest wanted;
    const bool makes = is_call(header, Call::buffer_type_alloc_buffer) || is_call(header, Call::alloc_with_base); // whose requests are alike
    if (makes && read(reader, wanted) && wanted.size > most_buffer_bytes) return garble(header.reply_resource);
    switch (answer_of(header)) {
    case Answer::good: ScriptedHost::on_command(command); break;
    case Answer::garbled: garble(header.reply_resource); break;
    case Answer::twice: ScriptedHost::on_command(command), garble(header.reply_resource); break;
    case Answer::late: late_ = command; break;
    case Answer::never: break;
    }
    if (!late.empty()) ScriptedHost::on_command(late);
}

// Only Forward is left without an answer: the waits for the others are constants of seconds.
HostileHost::Answer HostileHost::answer_of(const CommandHeader &header) {
    uint8_t chosen = byte();
    if (chosen < first_lie) return Answer::good;
    if (chosen < 230 || !is_forward(header)) return Answer::garbled;
    return chosen < 245 ? Answer::twice : chosen < 252 ? Answer::late : Answer::never;
}

// A return code, mostly that of success, and bytes of the input for a payload.
void HostileHost::garble(uint32_t resource) {
    uint8_t chosen = byte();
    uint32_t code = chosen < 128 ? static_cast<uint32_t>(ReturnCode::ok) : chosen % 16;
    size_t length = byte();
    auto page = pages_.find(resource);
    if (page == pages_.end()) return;
    size_t count = std::min({length, data_.size() - std::min(at_, data_.size()), size_t{reply_page_size - 4}});
    if (count != 0) std::memcpy(page->second.memory + 4, data_.data() + at_, count);
    at_ += count;
    reinterpret_cast<std::atomic<uint32_t> *>(page->second.memory)->store(code + 1, std::memory_order_release);
}

bool HostileHost::open_ring(const RingCreateRequest &offer) {
    auto page = pages_.find(offer.resource);
    ring_shape_ = {offer.slots, offer.slot_size};
    if (page == pages_.end() || !ring_shape_.valid() || ring_shape_.bytes() > page->second.size) return false;
    ring_resource_ = offer.resource;
    ring_ = std::make_unique<RingConsumer>(page->second.memory, ring_shape_);
    ring_->say(RingState::open);
    ring_->announce_sleep();
    return true;
}

// All that stands in it; then it sleeps again, unless something has come meanwhile.
void HostileHost::serve_ring() {
    if (ring_ == nullptr) return;
    ring_->awake();
    std::vector<uint8_t> bytes(ring_shape_.capacity());
    for (;;) {
        size_t size = 0;
        while (ring_->take(bytes.data(), size) == Take::taken) {
            answer({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
            if (byte() >= first_lie) spoil_ring();
        }
        ring_->announce_sleep();
        if (ring_->may_sleep()) return;
        ring_->awake();
    }
}

void HostileHost::spoil_ring() {
    uint8_t *memory = pages_.at(ring_resource_).memory;
    RingPlaces places(memory, ring_shape_);
    uint8_t chosen = byte();
    uint64_t value = byte();
    switch (chosen % 6) {
    case 0: ring_->say(static_cast<RingState>(value % 8)); break;
    case 1: __atomic_store_n(&places.turn(value), value << (chosen / 8), __ATOMIC_RELEASE); break;
    case 2: __atomic_fetch_add(&places.turn(value), ring_shape_.slots, __ATOMIC_ACQ_REL); break;
    case 3: __atomic_store_n(&places.asleep(), static_cast<uint32_t>(value), __ATOMIC_RELEASE); break;
    case 4: std::memset(memory + (size_t{chosen} * 256 + value) * 8 % (ring_shape_.bytes() - 8), static_cast<int>(value), 8); break;
    default: break; // it takes nothing more, and does not sleep
    }
}

} // namespace apir::fuzz
