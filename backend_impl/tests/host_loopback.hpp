// The host library driven in-process: resources of our own, typed calls, and raw ones for the hostile cases.
#pragma once

#include <apir_gen.hpp>

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "host/callbacks.hpp"
#include "host_expect.hpp"

namespace apir::test {

// A shared resource with a page behind it that may not be touched. It lies where a huge page would begin, as the worker maps it.
class Resource {
  public:
    explicit Resource(size_t size) : size_(size), mapped_((size + 4095) / 4096 * 4096 + 4096), area_size_(mapped_ + alignment) {
        area_ = mmap(nullptr, area_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area_ == MAP_FAILED) std::abort();
        auto *begin = static_cast<uint8_t *>(area_);
        begin += (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
        void *at = mmap(begin, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (at == MAP_FAILED) std::abort();
        memory_ = static_cast<uint8_t *>(at);
        mprotect(memory_ + mapped_ - 4096, 4096, PROT_NONE);
    }
    ~Resource() { munmap(area_, area_size_); }
    Resource(const Resource &) = delete;
    Resource &operator=(const Resource &) = delete;

    uint8_t *data() const { return memory_; }
    size_t size() const { return size_; }

    // No larger than it was made first, at the same address: as one that was freed and made again, but for the range, which nobody else gets meanwhile.
    void make_again(size_t size) {
        size_ = size;
        const size_t there = (size + 4095) / 4096 * 4096;
        if (there + 4096 > mapped_ || mprotect(memory_, there, PROT_READ | PROT_WRITE) != 0) std::abort();
        mprotect(memory_ + there, mapped_ - there, PROT_NONE);
    }

    // Its first page belongs to another one.
    void begin_a_page_later() { memory_ += 4096, size_ -= 4096, mapped_ -= 4096; }

  private:
    static constexpr size_t alignment = size_t{2} << 20;
    size_t size_;
    size_t mapped_;
    size_t area_size_;
    void *area_;
    uint8_t *memory_;
};

struct Library {
    explicit Library(const char *path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        if (handle == nullptr) {
            std::fprintf(stderr, "%s\n", dlerror());
            std::exit(1);
        }
        initialize = reinterpret_cast<uint32_t (*)(uint32_t, apir_callbacks *)>(dlsym(handle, "apir_backend_initialize"));
        deinit = reinterpret_cast<void (*)(uint32_t)>(dlsym(handle, "apir_backend_deinit"));
        dispatcher = reinterpret_cast<uint32_t (*)(uint32_t, apir_callbacks *, uint32_t, char *, const char *, char *, const char *,
                                                   char **)>(dlsym(handle, "apir_backend_dispatcher"));
    }

    void *handle;
    uint32_t (*initialize)(uint32_t, apir_callbacks *);
    void (*deinit)(uint32_t);
    uint32_t (*dispatcher)(uint32_t, apir_callbacks *, uint32_t, char *, const char *, char *, const char *, char **);
};

// One context.
class Loopback {
  public:
    static constexpr uint32_t reply_resource = 1;
    static constexpr uint32_t data_resource = 2;

    Loopback(uint32_t context, std::map<std::string, std::string> config, bool tells_sizes = true)
        : library_(HOST_LIBRARY), context_(context), config_(std::move(config)), tells_sizes_(tells_sizes) {
        all()[context] = this;
        add(reply_resource, 16384);
        add(data_resource, 1 << 20);
    }
    ~Loopback() {
        deinit();
        all().erase(context_);
    }
    Loopback(const Loopback &) = delete;
    Loopback &operator=(const Loopback &) = delete;

    uint32_t initialize() { return library_.initialize(context_, &callbacks_); }
    void deinit() { library_.deinit(context_); }
    Resource &add(uint32_t number, size_t size) { return *(resources_[number] = std::make_unique<Resource>(size)); }
    Resource &resource(uint32_t number) { return *resources_.at(number); }
    void remove(uint32_t number) { resources_.erase(number); }

    // A call with a payload as it is. `reply` gets what was written; its end is checked.
    uint32_t raw(uint32_t call, const std::vector<uint8_t> &payload, std::vector<uint8_t> *reply = nullptr, size_t room = 16380) {
        Resource &page = resource(reply_resource);
        char *enc = reinterpret_cast<char *>(page.data()) + 4;
        char *after = reinterpret_cast<char *>(8);
        // Just behind its allocation: a sanitizer sees every byte too many.
        std::vector<uint8_t> exact(payload);
        char *dec = reinterpret_cast<char *>(exact.data());
        uint32_t code = library_.dispatcher(context_, &callbacks_, call, dec, dec + exact.size(), enc, enc + room, &after);
        expect(after >= enc && after <= enc + room, std::string(call_name(call)) + " leaves the end of the reply unset");
        if (reply != nullptr) reply->assign(enc, after);
        return code;
    }

    template <typename Request> static std::vector<uint8_t> encoded(const Request &request) {
        std::vector<uint8_t> bytes(1 << 16);
        Writer writer(bytes.data(), bytes.size());
        write(writer, request);
        bytes.resize(writer.size());
        return bytes;
    }

    template <typename Request> uint32_t code(Call call, const Request &request) {
        return raw(static_cast<uint32_t>(call), encoded(request));
    }

    // A call that has to succeed.
    template <typename Reply, typename Request> Reply call(Call number, const Request &request) {
        std::vector<uint8_t> bytes;
        uint32_t result = raw(static_cast<uint32_t>(number), encoded(request), &bytes);
        expect_equal(result, 0u, call_name(static_cast<uint32_t>(number)));
        Reader reader(bytes.data(), bytes.size());
        Reply reply;
        expect(read(reader, reply) || result != 0, std::string(call_name(static_cast<uint32_t>(number))) + ": reply is too short");
        return reply;
    }

  private:
    static std::map<uint32_t, Loopback *> &all() {
        static std::map<uint32_t, Loopback *> contexts;
        return contexts;
    }

    static const char *get_config(uint32_t context, const char *key) {
        Loopback *ours = all().at(context);
        const char *prefix = "apir.resource.size.";
        if (ours->tells_sizes_ && std::strncmp(key, prefix, std::strlen(prefix)) == 0) {
            auto at = ours->resources_.find(static_cast<uint32_t>(std::atoi(key + std::strlen(prefix))));
            if (at == ours->resources_.end()) return nullptr;
            ours->size_text_ = std::to_string(at->second->size());
            return ours->size_text_.c_str();
        }
        auto at = ours->config_.find(key);
        return at == ours->config_.end() ? nullptr : at->second.c_str();
    }

    static void *get_shmem_ptr(uint32_t context, uint32_t number) {
        Loopback *ours = all().at(context);
        auto at = ours->resources_.find(number);
        return at == ours->resources_.end() ? nullptr : at->second->data();
    }

    Library library_;
    uint32_t context_;
    std::map<std::string, std::string> config_;
    bool tells_sizes_;
    std::string size_text_;
    std::map<uint32_t, std::unique_ptr<Resource>> resources_;
    apir_callbacks callbacks_{get_config, get_shmem_ptr};
};

inline std::map<std::string, std::string> cpu_config() { return {{"ggml.library.path", GGML_CPU_LIBRARY}, {"ggml.threads", "1"}}; }

// An initialised context on ggml's CPU backend.
inline std::unique_ptr<Loopback> cpu_loopback(uint32_t context = 1) {
    auto loopback = std::make_unique<Loopback>(context, cpu_config());
    expect_equal(loopback->initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
    return loopback;
}

inline uint64_t device_buffer_type(Loopback &host) {
    return host.call<DeviceGetBufferTypeReply>(Call::device_get_buffer_type, DeviceGetBufferTypeRequest{}).buft;
}

inline uint64_t new_buffer(Loopback &host, uint64_t size) {
    return host
        .call<BufferTypeAllocBufferReply>(Call::buffer_type_alloc_buffer,
                                          BufferTypeAllocBufferRequest{device_buffer_type(host), size})
        .buffer;
}

// A contiguous f32 tensor.
inline TensorRecord f32_tensor(uint64_t id, uint64_t buffer, uint64_t data, uint32_t n0, uint32_t n1 = 1) {
    TensorRecord tensor;
    tensor.id = id;
    tensor.type = 0;
    tensor.buffer = buffer;
    tensor.ne[0] = n0;
    tensor.ne[1] = n1;
    tensor.ne[2] = tensor.ne[3] = 1;
    tensor.nb[0] = 4;
    tensor.nb[1] = 4 * n0;
    tensor.nb[2] = tensor.nb[3] = 4 * n0 * n1;
    tensor.data = data;
    return tensor;
}

} // namespace apir::test
