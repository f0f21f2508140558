// The whole op path in one process with chosen extensions, and what goes over it.
#pragma once

#include "guest_bench.hpp"
#include "guest_loopback.hpp"
#include "sent_bytes.hpp"

namespace apir::guest::test {

struct Libraries {
    const char *host = nullptr;
    const char *ggml = nullptr;
};
inline Libraries libraries;
// From a test program's arguments: HOST_LIBRARY GGML_BACKEND_LIBRARY.
inline void use_libraries(char **arguments) { libraries = {arguments[1], arguments[2]}; }

template <typename Host> struct RunOn {
    explicit RunOn(const char *extensions, const char *path = "copied", DevicePlan plan = {})
        : chosen("GGML_VIRTGPU_EXTENSIONS", extensions), data_path("GGML_VIRTGPU_DATA_PATH", path),
          host(libraries.host, libraries.ggml, "1"), registry(set_up(host, std::move(plan))),
          backend(ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free) {}

    ggml_backend_buffer_type_t buft() { return ggml_backend_dev_buffer_type(registry->device()); }
    Buffer buffer(size_t size) { return {ggml_backend_buft_alloc_buffer(buft(), size), ggml_backend_buffer_free}; }
    Channel &channel() { return registry->session->channel(); }

    Variable chosen;
    Variable data_path;
    CallRecords records;
    Host host;
    std::unique_ptr<Registry> registry;
    Backend backend;
};
using Run = RunOn<LibraryHost>;

template <typename Host> void expect_calls(RunOn<Host> &run, std::map<Call, int> wanted, const std::string &what) {
    Sent sent = sum(run.records.fresh());
    for (auto [call, times] : wanted) {
        int seen = sent.by_call[static_cast<uint32_t>(call)];
        expect(seen == times, what + ": " + std::to_string(seen) + " times " + call_name(static_cast<uint32_t>(call)));
    }
}

} // namespace apir::guest::test
