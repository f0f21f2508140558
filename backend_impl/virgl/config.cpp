#include "config.hpp"

#include <array>
#include <cstdlib>
#include <utility>

namespace apir::virgl {
namespace {

constexpr std::array<std::pair<const char *, const char *>, 11> documented{{
    {"apir.load_library.path", "VIRGL_APIR_BACKEND_LIBRARY"},
    {"ggml.library.path", "APIR_LLAMA_CPP_GGML_LIBRARY_PATH"},
    {"ggml.library.reg", "APIR_LLAMA_CPP_GGML_LIBRARY_REG"},
    {"ggml.library.init", "APIR_LLAMA_CPP_GGML_LIBRARY_INIT"},
    {"gpu.shmem_window", "APIR_GPU_SHMEM_WINDOW_BYTES"},
    {"ggml.threads", "APIR_LLAMA_CPP_GGML_THREADS"}, // ours, and those below
    {"ggml.graph_work", "APIR_LLAMA_CPP_GGML_GRAPH_WORK"}, // steps that a graph may have
    {"ggml.graph_time_ms", "APIR_LLAMA_CPP_GGML_GRAPH_TIME_MS"}, // and how long it may take
    {"apir.stall_limit_ms", "VIRGL_APIR_STALL_LIMIT_MS"},
    {"apir.ring", "VIRGL_APIR_RING"}, // 0: no command ring
    {"apir.trace", "VIRGL_APIR_TRACE"}, // a folder
}};

} // namespace

Config config_from_environment() {
    Config config;
    for (auto [key, variable] : documented)
        if (const char *value = std::getenv(variable)) config.emplace(key, value);
    return config;
}

const char *variable_of(const std::string &key) {
    for (auto [known, variable] : documented)
        if (key == known) return variable;
    return "";
}

} // namespace apir::virgl
