#include "guest_loopback.hpp"

#include <atomic>

#include <cstring>
#include <dlfcn.h>

#include "host_abi.hpp"

// ggml-cpu's threads wait for each other by means that ThreadSanitizer does not see, for ggml is not built with it.
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions();
extern "C" const char *__tsan_default_suppressions() {
    return "called_from_lib:libggml-cpu\ncalled_from_lib:libgomp\nmutex:ggml_critical_section_start\ndeadlock:ggml_critical_section_start\n";
}

namespace apir::guest::test {

namespace {

constexpr uint32_t context = 1;
constexpr const char *size_key = "apir.resource.size.";

LibraryHost *instance = nullptr;

HostCallbacks callbacks = {[](uint32_t, const char *key) { return instance->config(key); },
                           [](uint32_t, uint32_t resource) { return instance->memory(resource); }};

template <typename Function> Function symbol(void *library, const char *name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

} // namespace

// The library stays mapped (NODELETE): a sanitizer's report of what it left behind needs its names.
LibraryHost::LibraryHost(const char *library, const char *ggml_library, const char *threads)
    : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), config_{{"ggml.library.path", ggml_library}, {"ggml.threads", threads}} {
    expect(library_ != nullptr, std::string("the host library does not load: ") + (library_ == nullptr ? dlerror() : ""));
    instance = this;
}

void LibraryHost::end_context() {
    if (loaded_) symbol<HostDeinit>(library_, "apir_backend_deinit")(context);
    loaded_ = false;
}

LibraryHost::~LibraryHost() {
    end_context();
    instance = nullptr;
    if (library_ != nullptr) dlclose(library_);
}

const char *LibraryHost::config(const char *key) {
    std::lock_guard lock(mutex_);
    std::string name = key;
    if (name.rfind(size_key, 0) == 0) {
        auto blob = blobs_.find(static_cast<uint32_t>(std::stoul(name.substr(std::strlen(size_key)))));
        if (blob != blobs_.end()) config_[name] = std::to_string(blob->second.size);
    }
    auto found = config_.find(name);
    return found == config_.end() ? nullptr : found->second.c_str();
}

void *LibraryHost::memory(uint32_t resource) {
    std::lock_guard lock(mutex_);
    auto found = blobs_.find(resource);
    return found == blobs_.end() ? nullptr : found->second.memory;
}

void LibraryHost::on_blob(uint32_t resource, const Blob &blob) {
    std::lock_guard lock(mutex_);
    blobs_[resource] = blob;
}

void LibraryHost::on_blob_closed(uint32_t resource) {
    std::lock_guard lock(mutex_);
    blobs_.erase(resource);
    config_.erase(std::string(size_key) + std::to_string(resource));
}

size_t LibraryHost::shared_bytes() {
    std::lock_guard lock(mutex_);
    size_t sum = 0;
    for (const auto &entry : blobs_) sum += entry.second.size;
    return sum;
}

std::map<uint32_t, int> LibraryHost::calls() {
    std::lock_guard lock(mutex_);
    return calls_;
}

// Calls of a batch, too: one thread's write goes along with whatever call another one makes.
void LibraryHost::count(uint32_t call, Reader request) {
    std::lock_guard lock(mutex_);
    ++calls_[call];
    BatchRequest batch;
    if (call != static_cast<uint32_t>(Call::batch) || !read(request, batch)) return;
    BatchedCall item;
    for (uint32_t i = 0; i < batch.count && read(request, item) && request.bytes(item.size) != nullptr; ++i) ++calls_[item.call];
}

void LibraryHost::on_command(const std::vector<uint8_t> &command) {
    Reader reader(command.data(), command.size());
    CommandHeader header;
    if (!read(reader, header)) return;
    Blob reply;
    {
        std::lock_guard lock(mutex_);
        // A device that is taken down does not await what is still on its way: as with a component, that gets no reply.
        auto found = blobs_.find(header.reply_resource);
        if (found == blobs_.end()) return;
        reply = found->second;
    }
    header.type %= venus_command_offset;
    serve(header, command, reply);
}

void LibraryHost::add_own_extensions(const std::vector<char> &request, char *payload) const {
    Reader reader(request.data(), request.size());
    Reader theirs(payload, sizeof(uint64_t));
    NegotiateRequest offer;
    NegotiateReply answer;
    if (!read(reader, offer) || !read(theirs, answer)) return;
    answer.accepted |= offer.offered & own_extensions;
    Writer writer(payload, sizeof(uint64_t));
    write(writer, answer);
}

void LibraryHost::serve(const CommandHeader &header, const std::vector<uint8_t> &command, const Blob &reply) {
    uint32_t code = 0;
    auto *payload = reinterpret_cast<char *>(reply.memory) + 4;
    const char *end = reinterpret_cast<const char *>(reply.memory) + reply.size;
    if (header.type == static_cast<uint32_t>(CommandType::handshake)) {
        Writer writer(payload, static_cast<size_t>(end - payload));
        write(writer, Version{protocol_major, protocol_minor});
        code = handshake_magic;
    } else if (header.type == static_cast<uint32_t>(CommandType::load_library)) {
        uint32_t result = symbol<HostInitialize>(library_, "apir_backend_initialize")(context, &callbacks);
        loaded_ = result == 0 || result == static_cast<uint32_t>(InitCode::success);
        // As a component that watches: the library then offers what may take long.
        if (loaded_) {
            symbol<HostProgress>(library_, "apir_backend_progress")(context, &beats_);
            symbol<HostEnding>(library_, "apir_backend_ending")(context, &ending_);
        }
        code = loaded_ ? 0 : 6 + result;
    } else {
        // The library gets bytes of its own, on a 4-byte boundary, with nothing readable behind them.
        std::vector<char> request(command.begin() + 12, command.end());
        count(header.flags, Reader(request.data(), request.size()));
        char *after = nullptr;
        auto dispatch = symbol<HostDispatcher>(library_, "apir_backend_dispatcher");
        code = 4 + dispatch(context, &callbacks, header.flags, request.data(), request.data() + request.size(), payload, end, &after);
        expect(after >= payload && after <= end, "the host library's reply ends outside the page");
        if (header.flags == static_cast<uint32_t>(Call::negotiate)) add_own_extensions(request, payload);
    }
    reinterpret_cast<std::atomic<uint32_t> *>(reply.memory)->store(code + 1, std::memory_order_release);
}

} // namespace apir::guest::test
