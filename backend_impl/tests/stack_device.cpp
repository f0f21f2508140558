#include "stack_device.hpp"

extern "C" {
#include <virglrenderer.h>
}

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

#include "wire/apir_gen.hpp"

namespace apir::test {
namespace {

std::mutex mutex;
uint32_t last_context = 0;
uint32_t last_resource = 0;
std::set<uint32_t> open_resources;
virgl_renderer_callbacks callbacks{};

} // namespace

StackHost::StackHost(const char *ggml_library) {
    setenv("VIRGL_ROUTE_VENUS_TO_APIR", "1", 1);
    setenv("VIRGL_APIR_WORKER", APIR_WORKER, 1);
    setenv("VIRGL_APIR_BACKEND_LIBRARY", HOST_LIBRARY, 1);
    setenv("APIR_LLAMA_CPP_GGML_LIBRARY_PATH", ggml_library, 1);
    setenv("APIR_LLAMA_CPP_GGML_THREADS", "1", 1);
    callbacks.version = 4;
    callbacks.write_context_fence = [](void *, uint32_t, uint32_t, uint64_t) {};
    virgl_renderer_init(this, 0, &callbacks);
}

StackHost::~StackHost() { virgl_renderer_cleanup(this); }

StackDevice::~StackDevice() {
    std::lock_guard lock(mutex);
    if (context_ != 0) virgl_renderer_context_destroy(context_);
}

guest::Status StackDevice::get_caps(uint32_t, void *data, size_t size) {
    std::memset(data, 0, size);
    return {};
}

guest::Status StackDevice::init_context(uint32_t capset) {
    std::lock_guard lock(mutex);
    context_ = ++last_context;
    int cause = virgl_renderer_context_create_with_flags(context_, capset, 4, "test");
    return cause == 0 ? guest::Status{} : guest::Status::failure("context_create: " + std::to_string(cause));
}

guest::Status StackDevice::create_blob(size_t size, guest::Blob &blob) {
    std::lock_guard lock(mutex);
    virgl_renderer_resource_create_blob_args arguments{};
    arguments.res_handle = last_resource + 1;
    arguments.ctx_id = context_;
    arguments.blob_mem = VIRGL_RENDERER_BLOB_MEM_HOST3D;
    arguments.blob_flags = VIRGL_RENDERER_BLOB_FLAG_USE_MAPPABLE;
    arguments.size = (size + blob_granularity - 1) / blob_granularity * blob_granularity;
    int cause = virgl_renderer_resource_create_blob(&arguments);
    void *memory = nullptr;
    uint64_t mapped = 0;
    if (cause == 0) cause = virgl_renderer_resource_map(arguments.res_handle, &memory, &mapped);
    if (cause != 0) return guest::Status::failure("create_blob: " + std::to_string(cause));
    open_resources.insert(++last_resource);
    blob = {last_resource, last_resource, static_cast<uint8_t *>(memory), mapped};
    return {};
}

void StackDevice::close_blob(guest::Blob &blob) {
    std::lock_guard lock(mutex);
    open_resources.erase(blob.resource);
    virgl_renderer_resource_unmap(blob.resource);
    virgl_renderer_resource_unref(blob.resource);
    blob = guest::Blob{};
}

guest::Status StackDevice::submit(const void *command, size_t size) {
    std::lock_guard lock(mutex);
    std::vector<uint32_t> words(size / 4);
    std::memcpy(words.data(), command, size);
    virgl_renderer_submit_cmd(words.data(), static_cast<int>(context_), static_cast<int>(words.size()));
    return {};
}

uint32_t StackDevice::contexts() { return last_context; }

size_t StackDevice::open_blobs() {
    std::lock_guard lock(mutex);
    return open_resources.size();
}

std::vector<int> worker_pids() {
    std::vector<int> pids;
    std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
    for (int pid = 0; children >> pid;) pids.push_back(pid);
    return pids;
}

long private_kib(int pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        long kib = 0;
        if (std::sscanf(line.c_str(), "RssAnon: %ld", &kib) == 1) return kib;
    }
    return -1;
}

} // namespace apir::test
