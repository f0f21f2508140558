// Plays QEMU to the preload: contexts, blobs, commands, as its virtio-gpu-gl module makes them.
#pragma once

extern "C" {
#include <virglrenderer.h>
}

#include <apir_gen.hpp>
#include <call_log.hpp>

#include <cstring>
#include <poll.h>
#include <string>
#include <vector>

#include "host_expect.hpp"
#include "virgl_fake_host.hpp"

extern "C" {
int virgl_apir_configure_kv(uint32_t context, const char *key, const char *value);
int virgl_renderer_resource_map_fixed(uint32_t resource, void *address);
}

namespace apir::test {

struct ToldFence {
    uint32_t context, ring;
    uint64_t id;
};

class Qemu {
  public:
    // `flags` as QEMU gives them to virgl_renderer_init.
    explicit Qemu(int flags = 0, int callbacks_version = 4) {
        callbacks_.version = callbacks_version;
        callbacks_.write_context_fence = [](void *cookie, uint32_t context, uint32_t ring, uint64_t fence) {
            static_cast<Qemu *>(cookie)->fences.push_back({context, ring, fence});
        };
        virgl_renderer_init(this, flags, &callbacks_);
    }
    ~Qemu() { virgl_renderer_cleanup(this); }
    Qemu(const Qemu &) = delete;
    Qemu &operator=(const Qemu &) = delete;

    std::vector<ToldFence> fences;

  private:
    virgl_renderer_callbacks callbacks_{};
};

inline int create_blob(uint32_t context, uint32_t resource, uint64_t size) {
    virgl_renderer_resource_create_blob_args args{};
    args.res_handle = resource;
    args.ctx_id = context;
    args.blob_mem = VIRGL_RENDERER_BLOB_MEM_HOST3D;
    args.blob_flags = VIRGL_RENDERER_BLOB_FLAG_USE_MAPPABLE;
    args.size = size;
    return virgl_renderer_resource_create_blob(&args);
}

inline uint8_t *mapped(uint32_t resource) {
    void *address = nullptr;
    uint64_t size = 0;
    return virgl_renderer_resource_map(resource, &address, &size) == 0 ? static_cast<uint8_t *>(address) : nullptr;
}

// A context with a reply page, as a guest sets it up; `page` is that page's resource.
class GuestContext {
  public:
    GuestContext(uint32_t context, uint32_t page, uint32_t capset = venus_capset)
        : context_(context), page_(page), routed_(capset == venus_capset) {
        expect_equal(virgl_renderer_context_create_with_flags(context, capset, 4, "test"), 0, "context_create");
        expect_equal(create_blob(context, page, reply_page_size), 0, "create_blob");
        virgl_renderer_ctx_attach_resource(static_cast<int>(context), static_cast<int>(page));
        memory_ = mapped(page);
    }
    ~GuestContext() { destroy(); }
    GuestContext(const GuestContext &) = delete;
    GuestContext &operator=(const GuestContext &) = delete;

    void destroy() {
        if (destroyed_) return;
        destroyed_ = true;
        virgl_renderer_context_destroy(context_);
        virgl_renderer_resource_unref(page_);
    }

    void submit_raw(std::vector<uint8_t> bytes) {
        __atomic_store_n(reinterpret_cast<uint32_t *>(memory_), 0, __ATOMIC_RELEASE);
        virgl_renderer_submit_cmd(bytes.data(), static_cast<int>(context_), static_cast<int>(bytes.size() / 4));
    }

    void submit(uint32_t type, uint32_t flags, const std::vector<uint8_t> &payload, uint32_t page) {
        std::vector<uint8_t> bytes(12 + padded(payload.size()));
        Writer writer(bytes.data(), bytes.size());
        write(writer, CommandHeader{type, flags, page});
        writer.bytes(payload.data(), payload.size());
        submit_raw(bytes);
    }
    void submit(CommandType type, uint32_t flags = 0, const std::vector<uint8_t> &payload = {}) {
        submit(static_cast<uint32_t>(type) + (routed_ ? venus_command_offset : 0), flags, payload, page_);
    }

    uint32_t notify() const { return __atomic_load_n(reinterpret_cast<uint32_t *>(memory_), __ATOMIC_ACQUIRE); }

    // The return code, or -1 when none comes in time.
    int64_t wait(int timeout_ms = 20000) const {
        uint64_t end = monotonic_ns() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
        while (notify() == 0 && monotonic_ns() < end) poll(nullptr, 0, 1);
        return notify() == 0 ? -1 : static_cast<int64_t>(notify()) - 1;
    }

    int64_t handshake(uint32_t major = protocol_major, uint32_t minor = protocol_minor) {
        std::vector<uint8_t> payload(8);
        Writer writer(payload.data(), payload.size());
        write(writer, Version{major, minor});
        submit(CommandType::handshake, 0, payload);
        return wait();
    }
    int64_t load() {
        submit(CommandType::load_library);
        return wait();
    }
    int64_t forward(uint32_t call, const std::vector<uint8_t> &payload = {}) {
        submit(CommandType::forward, call, payload);
        return wait();
    }
    // What the fake host library answers.
    std::string ask(FakeCall call, const std::string &argument = "") {
        std::vector<uint8_t> payload(argument.begin(), argument.end());
        payload.push_back(0);
        int64_t code = forward(static_cast<uint32_t>(call), payload);
        expect_equal(code, static_cast<int64_t>(ReturnCode::ok), "fake call " + std::to_string(static_cast<uint32_t>(call)));
        return code == static_cast<int64_t>(ReturnCode::ok) ? reinterpret_cast<const char *>(memory_ + 4) : "";
    }
    pid_t worker() {
        forward(static_cast<uint32_t>(FakeCall::pid));
        pid_t pid = -1;
        std::memcpy(&pid, memory_ + 4, sizeof pid);
        return pid;
    }
    void start() {
        expect_equal(handshake(), static_cast<int64_t>(handshake_magic), "handshake");
        expect_equal(load(), static_cast<int64_t>(LoadCode::ok), "load");
    }
    const uint8_t *reply() const { return memory_ + 4; }

  private:
    uint32_t context_;
    uint32_t page_;
    bool routed_;
    bool destroyed_ = false;
    uint8_t *memory_ = nullptr;
};

// What every case needs; before the component is first used.
inline void environment() {
    setenv("VIRGL_ROUTE_VENUS_TO_APIR", "1", 1);
    const char *planted = getenv("APIR_TEST_WORKER"); // one with a defect (fuzz/plants.cmake)
    setenv("VIRGL_APIR_WORKER", planted == nullptr ? APIR_WORKER : planted, 1);
    setenv("VIRGL_APIR_BACKEND_LIBRARY", FAKE_HOST, 1);
    setenv("LD_PRELOAD_WITNESS", "kept", 1);
}

} // namespace apir::test
