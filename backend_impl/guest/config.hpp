// The guest library's environment variables: read here and nowhere else.
#pragma once

#include <chrono>
#include <string>

#include "log.hpp"

namespace apir::guest {

// How tensor data gets to the host: in blobs that both sides map, or through a data resource.
enum class DataPath { automatic, shared, copied };

struct Config {
    bool use_apir_capset = false;           // GGML_REMOTING_USE_APIR_CAPSET: present, any value
    std::string render_node;                // GGML_VIRTGPU_RENDER_NODE; empty: search
    std::string call_log_folder;            // GGML_VIRTGPU_CALL_LOG; empty: no call records
    DataPath data_path = DataPath::automatic; // GGML_VIRTGPU_DATA_PATH: auto, shared, copied
    LogLevel log_level = LogLevel::warn;    // GGML_VIRTGPU_LOG: error, warn, info, debug
    // GGML_VIRTGPU_CALL_DEADLINE_MS: how long a call other than a graph may take.
    std::chrono::milliseconds call_deadline{60000};
    // GGML_VIRTGPU_GRAPH_DEADLINE_MS: how long a graph may take. Generous: a graph's honest time has no upper bound that
    // the guest could know, and a worker that died is told by the component at once.
    std::chrono::milliseconds graph_deadline{600000};
};

// Values that are not understood are warned of and left at their default.
Config read_config();

} // namespace apir::guest
