#include "loopback_device.hpp"

#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

#include "apir_gen.hpp"
#include "host_abi.hpp"
#include "request.hpp"

namespace apir::bench {

namespace {

constexpr uint32_t context = 1;

// The callbacks carry no pointer of ours.
LoopbackDevice *instance = nullptr;

HostCallbacks callbacks = {[](uint32_t, const char *key) { return instance->config(key); },
                           [](uint32_t, uint32_t resource) { return instance->memory(resource); }};

} // namespace

LoopbackDevice::LoopbackDevice(const std::string &host_library, std::string ggml_library, std::string threads)
    : library_(dlopen(host_library.c_str(), RTLD_NOW | RTLD_LOCAL)), dispatcher_(nullptr), ggml_library_(std::move(ggml_library)),
      threads_(std::move(threads)) {
    if (library_ == nullptr) throw Failure(std::string("the host library does not load: ") + dlerror());
    dispatcher_ = dlsym(library_, "apir_backend_dispatcher");
    if (dispatcher_ == nullptr || dlsym(library_, "apir_backend_initialize") == nullptr)
        throw Failure(host_library + " is no host library");
    for (uint32_t i = blobs_.size() - 1; i > 0; --i) free_.push_back(i);
    instance = this;
}

LoopbackDevice::~LoopbackDevice() {
    if (void *deinit = dlsym(library_, "apir_backend_deinit")) reinterpret_cast<HostDeinit>(deinit)(context);
    instance = nullptr;
}

guest::Status LoopbackDevice::get_caps(uint32_t, void *data, size_t size) {
    std::memset(data, 0, size);
    return {};
}

guest::Status LoopbackDevice::create_blob(size_t size, guest::Blob &blob) {
    std::lock_guard lock(slots_);
    size = (size + blob_granularity - 1) / blob_granularity * blob_granularity;
    void *memory = free_.empty() ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return guest::Status::failure("no memory for a blob");
    blob = {free_.back(), free_.back(), static_cast<uint8_t *>(memory), size};
    free_.pop_back();
    blobs_[blob.resource].size = size;
    blobs_[blob.resource].memory.store(blob.memory, std::memory_order_release);
    return {};
}

void LoopbackDevice::close_blob(guest::Blob &blob) {
    if (blob.memory == nullptr) return;
    std::lock_guard lock(slots_);
    blobs_[blob.resource].memory.store(nullptr, std::memory_order_release);
    free_.push_back(blob.resource);
    munmap(blob.memory, blob.size);
    blob = {};
}

const char *LoopbackDevice::config(const std::string &key) {
    constexpr const char *size_key = "apir.resource.size.";
    if (key == "ggml.library.path") return ggml_library_.c_str();
    if (key == "ggml.threads") return threads_.c_str();
    if (key.rfind(size_key, 0) != 0) return nullptr;
    uint32_t resource = static_cast<uint32_t>(std::stoul(key.substr(std::strlen(size_key))));
    if (memory(resource) == nullptr) return nullptr;
    size_text_ = std::to_string(blobs_[resource].size);
    return size_text_.c_str();
}

void *LoopbackDevice::memory(uint32_t resource) const {
    return resource < blobs_.size() ? blobs_[resource].memory.load(std::memory_order_acquire) : nullptr;
}

guest::Status LoopbackDevice::submit(const void *command, size_t size) {
    Reader reader(command, size);
    CommandHeader header;
    if (!read(reader, header)) return guest::Status::failure("a command without a header");
    auto *reply = static_cast<char *>(memory(header.reply_resource));
    if (reply == nullptr) return guest::Status::failure("a command without a reply resource");
    const char *bytes = static_cast<const char *>(command);
    uint32_t code;
    {
        std::lock_guard lock(serving_);
        code = serve(header.type % venus_command_offset, header.flags, bytes + reader.offset(), bytes + size, reply + sizeof(uint32_t),
                     reply + blobs_[header.reply_resource].size);
    }
    reinterpret_cast<std::atomic<uint32_t> *>(reply)->store(code + 1, std::memory_order_release);
    return {};
}

uint32_t LoopbackDevice::serve(uint32_t type, uint32_t call, const char *request, const char *request_end, char *reply,
                               const char *reply_end) {
    if (type == static_cast<uint32_t>(CommandType::handshake)) {
        Writer writer(reply, static_cast<size_t>(reply_end - reply));
        write(writer, Version{protocol_major, protocol_minor});
        return handshake_magic;
    }
    if (type == static_cast<uint32_t>(CommandType::load_library)) {
        uint32_t result = reinterpret_cast<HostInitialize>(dlsym(library_, "apir_backend_initialize"))(context, &callbacks);
        return result == 0 || result == static_cast<uint32_t>(InitCode::success) ? 0 : 6 + result;
    }
    char *after = reply;
    auto dispatch = reinterpret_cast<HostDispatcher>(dispatcher_);
    return static_cast<uint32_t>(ReturnCode::ok) +
           dispatch(context, &callbacks, call, const_cast<char *>(request), request_end, reply, reply_end, &after);
}

} // namespace apir::bench
