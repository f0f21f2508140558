#include "config.hpp"

#include <array>
#include <cstdlib>
#include <utility>

namespace apir::virgl {
namespace {

constexpr std::array<std::pair<const char *, const char *>, 13> documented{{
    {"apir.load_library.path", "VIRGL_APIR_BACKEND_LIBRARY"},
    {"ggml.library.path", "APIR_LLAMA_CPP_GGML_LIBRARY_PATH"},
    {"ggml.library.reg", "APIR_LLAMA_CPP_GGML_LIBRARY_REG"},
    {"ggml.library.init", "APIR_LLAMA_CPP_GGML_LIBRARY_INIT"}, // part of the interface: another host library may ask for it, ours does not
    {"gpu.shmem_window", "APIR_GPU_SHMEM_WINDOW_BYTES"}, // as that one; what the component itself makes of it: component.cpp
    {"ggml.threads", "APIR_LLAMA_CPP_GGML_THREADS"}, // ours, and those below
    {"ggml.graph_work", "APIR_LLAMA_CPP_GGML_GRAPH_WORK"}, // steps that a graph may have
    {"ggml.graph_time_ms", "APIR_LLAMA_CPP_GGML_GRAPH_TIME_MS"}, // and how long it may take
    {"ggml.pipe_wait_ms", "APIR_LLAMA_CPP_GGML_PIPE_WAIT_MS"}, // how long a transfer waits for a guest that does nothing about it
    {"ggml.memory", "APIR_LLAMA_CPP_GGML_MEMORY"}, // bytes of a device's that buffers may have
    {"apir.stall_limit_ms", "VIRGL_APIR_STALL_LIMIT_MS"},
    {"apir.ring", "VIRGL_APIR_RING"}, // 0: no command ring
    {"apir.trace", "VIRGL_APIR_TRACE"}, // a folder
}};

constexpr uint32_t venus_capset = 4;

} // namespace

const char *variable_for(uint32_t capset, const char *variable) {
    std::string own = std::string(variable) + (capset == venus_capset ? "_VENUS" : "_APIR");
    const char *value = std::getenv(own.c_str());
    return value != nullptr ? value : std::getenv(variable);
}

Config config_from_environment(uint32_t capset) {
    Config config;
    for (auto [key, variable] : documented)
        if (const char *value = variable_for(capset, variable)) config.emplace(key, value);
    return config;
}

const char *variable_of(const std::string &key) {
    for (auto [known, variable] : documented)
        if (key == known) return variable;
    return "";
}

} // namespace apir::virgl
