#include "meddling_host.hpp"

#include <array>
#include <cstring>
#include <sys/mman.h>

namespace apir::fuzz {

using guest::test::expect;
using guest::test::LibraryHost;

namespace {

constexpr uint32_t nowhere = UINT32_MAX; // no resource of a fake device's
constexpr size_t command_header_size = 12;

// libggml ends the program where it is told no size, and nothing can be tried without a start.
bool is_left_alone(uint32_t call) {
    switch (static_cast<Call>(call)) {
    case Call::buffer_set_tensor:
    case Call::buffer_get_tensor:
    case Call::buffer_cpy_tensor:
    case Call::buffer_clear:
    case Call::buffer_free_buffer:
    case Call::buffer_type_alloc_buffer:
    case Call::device_buffer_from_ptr:
    case Call::device_get_memory:
    case Call::backend_graph_compute:
    case Call::wide_set_tensor:
    case Call::wide_get_tensor:
    case Call::wide_cpy_tensor:
    case Call::wide_graph_compute:
    case Call::graph_keep:
    case Call::graph_run:
    case Call::graph_patch:
    case Call::batch:
    case Call::set_tensor_inline:
    case Call::pipe_set_tensor:
    case Call::pipe_get_tensor:
    case Call::alloc_with_base: return false;
    default: return true;
    }
}

// The same command with a call in the midst of it that no host has.
std::vector<uint8_t> broken_off(const std::vector<uint8_t> &command, Random &random) {
    std::vector<uint8_t> broken = command;
    Reader reader(command.data() + command_header_size, command.size() - command_header_size);
    BatchRequest batch;
    BatchedCall item;
    if (!read(reader, batch)) return broken;
    for (uint64_t left = random.below(batch.count);; --left) {
        const size_t at = command_header_size + reader.offset() + sizeof item.device;
        if (!read(reader, item) || reader.bytes(item.size) == nullptr) return broken;
        if (left == 0) return std::memset(broken.data() + at, 0xff, sizeof item.call), broken;
    }
}

} // namespace

MeddlingHost::MeddlingHost(const char *library, const char *ggml_library, Story &story, uint64_t seed)
    : LibraryHost(library, ggml_library, "1"), story_(story), random_(seed) {
    void *memory = mmap(nullptr, reply_page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(memory != MAP_FAILED, "a page for replies that nobody is to see");
    nowhere_ = {nowhere, nowhere, static_cast<uint8_t *>(memory), reply_page_size};
    LibraryHost::on_blob(nowhere, nowhere_);
    own_extensions |= static_cast<uint64_t>(Extension::ring);
}

MeddlingHost::~MeddlingHost() {
    end_ring();
    end_context();
    munmap(nowhere_.memory, nowhere_.size);
}

MeddlingHost::Peace::Peace(MeddlingHost &host) : host_(host) {
    std::lock_guard lock(host_.mutex_);
    ++host_.at_peace_;
    host_.peace_.notify_all();
}

MeddlingHost::Peace::~Peace() {
    std::lock_guard lock(host_.mutex_);
    --host_.at_peace_;
}

void MeddlingHost::meddle(const Meddling &how) {
    std::lock_guard lock(mutex_);
    how_ = how;
}

bool MeddlingHost::meddles() {
    std::lock_guard lock(mutex_);
    return how_.one_in != 0;
}

uint64_t MeddlingHost::meddled() {
    std::lock_guard lock(mutex_);
    return meddled_;
}

uint64_t MeddlingHost::followed() {
    std::lock_guard lock(mutex_);
    return followed_;
}

void MeddlingHost::begin_another(uint32_t first) {
    end_ring();
    std::lock_guard one(one_at_a_time_);
    end_context();
    first_ = first;
    dead_ = false;
    std::lock_guard lock(mutex_);
    ++followed_;
}

MeddlingHost::Deed MeddlingHost::deed_for(uint32_t call) {
    if (at_peace_ != 0 || how_.one_in == 0 || is_left_alone(call) || !random_.one_in(how_.one_in)) return Deed::none;
    ++meddled_;
    if (how_.deaths != 0 && random_.one_in(4)) return --how_.deaths, Deed::die;
    if (call == static_cast<uint32_t>(Call::batch) && random_.one_in(3)) return Deed::break_off;
    constexpr std::array deeds{Deed::refuse, Deed::refuse, Deed::be_silent, Deed::be_late, Deed::keep_the_reply};
    return random_.pick(deeds);
}

void MeddlingHost::answer(uint32_t resource, ReturnCode code) {
    void *reply = memory(resource);
    if (reply != nullptr) static_cast<std::atomic<uint32_t> *>(reply)->store(static_cast<uint32_t>(code) + 1, std::memory_order_release);
}

ReturnCode MeddlingHost::open_ring(Reader &request) {
    RingCreateRequest offer;
    auto *place = read(request, offer) && ring_ == 0 ? static_cast<uint8_t *>(memory(offer.resource)) : nullptr;
    shape_ = {offer.slots, offer.slot_size};
    if (place == nullptr || !shape_.valid()) return ReturnCode::call_failed;
    ring_ = offer.resource;
    __atomic_store_n(&RingPlaces{place, shape_}.state(), static_cast<uint32_t>(RingState::open), __ATOMIC_RELEASE);
    ring_thread_ = std::thread([this] { serve_ring(); });
    return ReturnCode::ok;
}

// As a worker: awake while there is something to do, and a moment longer.
void MeddlingHost::serve_ring() {
    RingConsumer consumer(static_cast<uint8_t *>(memory(ring_)), shape_);
    std::vector<uint8_t> bytes(shape_.capacity());
    size_t size = 0;
    for (int idle = 0; !ring_ends_ && !dead_;) {
        if (consumer.take(bytes.data(), size) == Take::taken) {
            carry_out({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
            idle = 0;
        } else if (++idle < 100) {
            std::this_thread::yield();
        } else {
            const uint32_t heard = kicks_;
            consumer.announce_sleep();
            while (consumer.may_sleep() && kicks_ == heard && !ring_ends_ && !dead_) std::this_thread::sleep_for(std::chrono::microseconds(50));
            consumer.awake();
            idle = 0;
        }
    }
    if (dead_) consumer.say(RingState::dead);
}

void MeddlingHost::end_ring() {
    ring_ends_ = true;
    if (ring_thread_.joinable()) ring_thread_.join();
    ring_ends_ = false;
    ring_ = 0;
}

void MeddlingHost::on_blob_closed(uint32_t resource) {
    if (resource == ring_) end_ring();
    LibraryHost::on_blob_closed(resource);
}

void MeddlingHost::on_command(const std::vector<uint8_t> &command) {
    Reader reader(command.data(), command.size());
    CommandHeader header;
    if (!read(reader, header)) return;
    const bool forward = header.type % venus_command_offset == static_cast<uint32_t>(CommandType::forward);
    if (forward && header.flags == static_cast<uint32_t>(Call::ring_kick)) ++kicks_;
    else if (forward && header.flags == static_cast<uint32_t>(Call::ring_create)) answer(header.reply_resource, open_ring(reader));
    else carry_out(command);
}

void MeddlingHost::carry_out(const std::vector<uint8_t> &command) {
    std::lock_guard one(one_at_a_time_);
    Reader reader(command.data(), command.size());
    CommandHeader header;
    if (!read(reader, header)) return;
    if (dead_ || header.reply_resource < first_) return answer(header.reply_resource, ReturnCode::worker_lost);
    if (header.type % venus_command_offset != static_cast<uint32_t>(CommandType::forward)) return LibraryHost::on_command(command);
    std::vector<uint8_t> changed = command;
    {
        std::unique_lock lock(mutex_);
        const Deed deed = deed_for(header.flags);
        if (deed != Deed::none) {
            constexpr std::array words{"nothing", "refuses", "leaves out", "delays", "does, and does not answer,", "breaks off", "dies of"};
            char line[64];
            std::snprintf(line, sizeof line, "    the host %s call %u\n", words[static_cast<size_t>(deed)], header.flags);
            story_.add(line);
        }
        switch (deed) {
        case Deed::none: break;
        case Deed::refuse: return answer(header.reply_resource, ReturnCode::call_failed);
        case Deed::be_silent: return;
        case Deed::be_late: peace_.wait_for(lock, how_.late * (1 + random_.below(8)) / 4, [this] { return at_peace_ != 0; }); break;
        case Deed::keep_the_reply: std::memcpy(changed.data() + 2 * sizeof(uint32_t), &nowhere_.resource, sizeof nowhere_.resource); break;
        case Deed::break_off: changed = broken_off(command, random_); break;
        case Deed::die: dead_ = true; return answer(header.reply_resource, ReturnCode::worker_lost);
        }
    }
    LibraryHost::on_command(changed);
}

} // namespace apir::fuzz
