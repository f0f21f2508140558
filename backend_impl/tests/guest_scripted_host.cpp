#include <algorithm>
#include <atomic>
#include <cstring>

#include "guest_fake.hpp"

namespace apir::guest::test {

ScriptedHost::ScriptedHost() {
    script_device();
    script_buffer_type();
    script_buffers();
    script_data();
}

void ScriptedHost::on_blob(uint32_t resource, const Blob &blob) {
    std::lock_guard lock(mutex_);
    blobs_[resource] = blob;
}

void ScriptedHost::on_blob_closed(uint32_t resource) {
    std::lock_guard lock(mutex_);
    // A real host has a mapping of its own; this one shares the guest's, and a guest that was not answered does not wait with it.
    for (auto &[handle, buffer] : buffers_) {
        if (buffer.bytes != blobs_[resource].memory) continue;
        buffer.own.assign(buffer.size, 0);
        buffer.bytes = buffer.own.data();
    }
    blobs_.erase(resource);
    events_.push_back("close " + std::to_string(resource));
}

Blob ScriptedHost::blob(uint32_t resource) {
    std::lock_guard lock(mutex_);
    auto found = blobs_.find(resource);
    return found == blobs_.end() ? Blob{} : found->second;
}

void ScriptedHost::reply(uint32_t resource, uint32_t code, const std::vector<uint8_t> &payload) {
    // Under the lock, so that the blob is not unmapped meanwhile.
    std::lock_guard lock(mutex_);
    auto found = blobs_.find(resource);
    if (found == blobs_.end()) return;
    uint8_t *memory = found->second.memory;
    if (!payload.empty()) std::memcpy(memory + 4, payload.data(), payload.size());
    reinterpret_cast<std::atomic<uint32_t> *>(memory)->store(code + 1, std::memory_order_release);
}

void ScriptedHost::on_command(const std::vector<uint8_t> &command) {
    Reader reader(command.data(), command.size());
    CommandHeader header;
    if (!read(reader, header)) return;
    uint32_t type = header.type >= venus_command_offset ? header.type - venus_command_offset : header.type;
    {
        std::lock_guard lock(mutex_);
        commands_.push_back(command);
    }
    std::vector<uint8_t> payload(reply_page_size - 4);
    Writer writer(payload.data(), payload.size());
    uint32_t code = 0;
    if (type == static_cast<uint32_t>(CommandType::handshake)) {
        if (!answers_handshake) return;
        write(writer, version);
        code = handshake_code;
    } else if (type == static_cast<uint32_t>(CommandType::load_library)) {
        if (!answers_load) return;
        code = load_code;
        if (!first_load_codes.empty()) {
            code = first_load_codes.front();
            first_load_codes.pop_front();
        }
    } else {
        if (is_silent(header.flags)) return;
        auto handler = handlers_.find(header.flags);
        code = handler == handlers_.end() ? static_cast<uint32_t>(ReturnCode::unknown_call) : handler->second(reader, writer);
    }
    payload.resize(writer.size());
    reply(header.reply_resource, code, payload);
}

void ScriptedHost::answer(Call call, std::vector<uint8_t> payload) {
    script(call, [payload = std::move(payload)](Reader &, Writer &reply) {
        reply.bytes(payload.data(), payload.size());
        return ok;
    });
}

void ScriptedHost::silence(Call call) {
    std::lock_guard lock(mutex_);
    silent_.insert(static_cast<uint32_t>(call));
}

void ScriptedHost::end_silence(Call call) {
    std::lock_guard lock(mutex_);
    silent_.erase(static_cast<uint32_t>(call));
}

bool ScriptedHost::is_silent(uint32_t call) {
    std::lock_guard lock(mutex_);
    return silent_.count(call) != 0;
}

void ScriptedHost::refuse(Call call, uint32_t code) {
    script(call, [code](Reader &, Writer &) { return code; });
}

std::vector<std::vector<uint8_t>> ScriptedHost::all() {
    std::lock_guard lock(mutex_);
    return commands_;
}

std::vector<std::vector<uint8_t>> ScriptedHost::sent(Call call) {
    std::vector<std::vector<uint8_t>> found;
    for (const auto &command : all()) {
        Reader reader(command.data(), command.size());
        CommandHeader header;
        read(reader, header);
        bool forward = header.type % venus_command_offset == static_cast<uint32_t>(CommandType::forward);
        if (forward && header.flags == static_cast<uint32_t>(call)) found.push_back(command);
    }
    return found;
}

size_t ScriptedHost::open_blobs() {
    std::lock_guard lock(mutex_);
    return blobs_.size();
}

std::vector<uint8_t> ScriptedHost::held(uint64_t buffer, size_t at, size_t size) {
    std::lock_guard lock(mutex_);
    const Buffer &found = buffers_.at(buffer);
    return {found.bytes + at, found.bytes + at + size};
}

std::vector<std::string> ScriptedHost::events() {
    std::lock_guard lock(mutex_);
    return events_;
}

namespace {

// Reads the request, lets `body` make the reply, writes it; an undecodable request fails the call.
template <typename Request, typename Reply, typename Body> ScriptedHost::Handler handler(Body body) {
    return [body](Reader &reader, Writer &writer) -> uint32_t {
        Request request;
        Reply reply;
        if (!read(reader, request) || !reader.finished() || !body(request, reply)) {
            return static_cast<uint32_t>(ReturnCode::call_failed);
        }
        write(writer, reply);
        return ScriptedHost::ok;
    };
}

} // namespace

void ScriptedHost::script_device() {
    script(Call::device_get_device_count, handler<DeviceGetDeviceCountRequest, DeviceGetDeviceCountReply>([](auto &, auto &r) {
               r.count = 1;
               return true;
           }));
    script(Call::device_get_count, handler<DeviceGetCountRequest, DeviceGetCountReply>([](auto &, auto &r) {
               r.count = 1;
               return true;
           }));
    script(Call::device_get_name, handler<DeviceGetNameRequest, DeviceGetNameReply>([](auto &, auto &r) {
               r.name = "FAKE0";
               return true;
           }));
    script(Call::device_get_description, handler<DeviceGetDescriptionRequest, DeviceGetDescriptionReply>([](auto &, auto &r) {
               r.description = "A fake device";
               return true;
           }));
    script(Call::device_get_type, handler<DeviceGetTypeRequest, DeviceGetTypeReply>([](auto &, auto &r) {
               r.type = static_cast<uint32_t>(DeviceType::cpu);
               return true;
           }));
    script(Call::device_get_memory, handler<DeviceGetMemoryRequest, DeviceGetMemoryReply>([](auto &, auto &r) {
               r.free = 1000;
               r.total = 2000;
               return true;
           }));
    script(Call::device_supports_op, handler<DeviceSupportsOpRequest, DeviceSupportsOpReply>([](auto &, auto &r) {
               r.supported = true;
               return true;
           }));
    script(Call::device_get_props, handler<DeviceGetPropsRequest, DeviceGetPropsReply>([this](auto &, auto &r) {
               r.buffer_from_host_ptr = takes_pointers;
               return true;
           }));
}

void ScriptedHost::script_buffer_type() {
    script(Call::device_get_buffer_type, handler<DeviceGetBufferTypeRequest, DeviceGetBufferTypeReply>([](auto &, auto &r) {
               r.buft = 77;
               return true;
           }));
    script(Call::buffer_type_get_name, handler<BufferTypeGetNameRequest, BufferTypeGetNameReply>([](auto &q, auto &r) {
               r.name = "FAKE";
               return q.buft == 77;
           }));
    script(Call::buffer_type_get_alignment,
           handler<BufferTypeGetAlignmentRequest, BufferTypeGetAlignmentReply>([](auto &q, auto &r) {
               r.alignment = 32;
               return q.buft == 77;
           }));
    script(Call::buffer_type_get_max_size, handler<BufferTypeGetMaxSizeRequest, BufferTypeGetMaxSizeReply>([](auto &q, auto &r) {
               r.max_size = UINT64_MAX;
               return q.buft == 77;
           }));
    script(Call::buffer_type_is_host,
           handler<BufferTypeIsHostRequest, BufferTypeIsHostReply>([](auto &, auto &) { return true; }));
    script(Call::buffer_type_get_alloc_size,
           handler<BufferTypeGetAllocSizeRequest, BufferTypeGetAllocSizeReply>([](auto &q, auto &r) {
               r.size = q.op.tensor.nb[3] * static_cast<uint64_t>(q.op.tensor.ne[3]);
               return q.buft == 77;
           }));
}

void ScriptedHost::script_buffers() {
    script(Call::buffer_type_alloc_buffer,
           handler<BufferTypeAllocBufferRequest, BufferTypeAllocBufferReply>([this](auto &q, auto &r) {
               std::lock_guard lock(mutex_);
               r.buffer = next_buffer_++;
               Buffer &buffer = buffers_[r.buffer];
               buffer.own.resize(q.size);
               buffer.bytes = buffer.own.data();
               buffer.size = q.size;
               return q.buft == 77;
           }));
    script(Call::device_buffer_from_ptr, handler<DeviceBufferFromPtrRequest, DeviceBufferFromPtrReply>([this](auto &q, auto &r) {
               std::lock_guard lock(mutex_);
               auto shared = blobs_.find(q.resource);
               if (shared == blobs_.end() || q.size > shared->second.size) return false;
               r.buffer = next_buffer_++;
               r.buft = 77;
               buffers_[r.buffer] = {{}, shared->second.memory, q.size};
               return true;
           }));
    script(Call::alloc_with_base, handler<AllocWithBaseRequest, AllocWithBaseReply>([this](auto &q, auto &r) {
               std::lock_guard lock(mutex_);
               r.buffer = next_buffer_++;
               r.base = r.buffer << 32;
               Buffer &buffer = buffers_[r.buffer];
               buffer.own.resize(q.size);
               buffer.bytes = buffer.own.data();
               buffer.size = q.size;
               return q.buft == 77;
           }));
    script(Call::buffer_get_base, handler<BufferGetBaseRequest, BufferGetBaseReply>([](auto &q, auto &r) {
               r.base = q.buffer << 32;
               return true;
           }));
    script(Call::buffer_clear, handler<BufferClearRequest, BufferClearReply>([this](auto &q, auto &) {
               std::lock_guard lock(mutex_);
               auto found = buffers_.find(q.buffer);
               if (found == buffers_.end()) return false;
               std::memset(found->second.bytes, q.value, found->second.size);
               return true;
           }));
    script(Call::buffer_free_buffer, handler<BufferFreeBufferRequest, BufferFreeBufferReply>([this](auto &q, auto &) {
               std::lock_guard lock(mutex_);
               events_.push_back("free " + std::to_string(q.buffer));
               return buffers_.erase(q.buffer) == 1;
           }));
}

uint8_t *ScriptedHost::place(uint64_t buffer, const TensorRecord &tensor, uint64_t offset, uint64_t size) {
    std::lock_guard lock(mutex_);
    auto found = buffers_.find(buffer);
    if (found == buffers_.end() || tensor.buffer != buffer) return nullptr;
    uint64_t at = tensor.data + offset;
    return at <= found->second.size && size <= found->second.size - at ? found->second.bytes + at : nullptr;
}

void ScriptedHost::remember(uint32_t resource, uint64_t size) {
    Blob data = blob(resource);
    expect(size <= data.size, "a graph is larger than its resource");
    data_seen.assign(data.memory, data.memory + std::min<uint64_t>(size, data.size));
}

void ScriptedHost::script_data() {
    script(Call::buffer_set_tensor, handler<BufferSetTensorRequest, BufferSetTensorReply>([this](auto &q, auto &) {
               uint8_t *to = place(q.buffer, q.tensor, q.offset, q.size);
               Blob from = blob(q.resource);
               if (to == nullptr || q.size > from.size) return false;
               std::memcpy(to, from.memory, q.size);
               return true;
           }));
    script(Call::buffer_get_tensor, handler<BufferGetTensorRequest, BufferGetTensorReply>([this](auto &q, auto &) {
               const uint8_t *from = place(q.buffer, q.tensor, q.offset, q.size);
               Blob to = blob(q.resource);
               if (from == nullptr || q.size > to.size) return false;
               std::memcpy(to.memory, from, q.size);
               return true;
           }));
    script(Call::buffer_cpy_tensor, handler<BufferCpyTensorRequest, BufferCpyTensorReply>([this](auto &q, auto &r) {
               uint64_t size = uint64_t{q.source.nb[3]} * q.source.ne[3];
               const uint8_t *from = place(q.source.buffer, q.source, 0, size);
               uint8_t *to = place(q.buffer, q.destination, 0, size);
               r.copied = from != nullptr && to != nullptr;
               if (r.copied) std::memmove(to, from, size);
               return true;
           }));
    script(Call::backend_graph_compute, handler<BackendGraphComputeRequest, BackendGraphComputeReply>([this](auto &q, auto &r) {
               remember(q.resource, q.size);
               r.status = static_cast<int32_t>(GraphStatus::ok);
               return true;
           }));
}

} // namespace apir::guest::test
