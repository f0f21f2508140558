// The guest library's environment variables: read here and nowhere else.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "log.hpp"

namespace apir::guest {

// How tensor data gets to the host: in blobs that both sides map, or through a data resource.
enum class DataPath { automatic, shared, copied };

// Whether the last command of a write is awaited later (write_behind.hpp). By itself not by the ring, where replies are quick, nor while call records are
// kept, which tell when they came. Unless it is off, by EXECBUFFER one of up to 1 MiB goes along with the next call, and into its record. Writes of up to
// 1 KiB always do, by the ring, too, where the host has the extension batch.
enum class WriteBehindUse { automatic, on, off };

struct Config {
    bool use_apir_capset = false;           // GGML_REMOTING_USE_APIR_CAPSET: present, any value
    std::string render_node;                // GGML_VIRTGPU_RENDER_NODE; empty: search
    std::string call_log_folder;            // GGML_VIRTGPU_CALL_LOG; empty: no call records
    DataPath data_path = DataPath::automatic; // GGML_VIRTGPU_DATA_PATH: auto, shared, copied
    LogLevel log_level = LogLevel::warn;    // GGML_VIRTGPU_LOG: error, warn, info, debug
    // GGML_VIRTGPU_CALL_DEADLINE_MS: how long a call other than a graph may take.
    std::chrono::milliseconds call_deadline{60000};
    // GGML_VIRTGPU_GRAPH_DEADLINE_MS: how long a graph may take, whoever serves it. Unset, it is graph_wait_ms; none where
    // the component has the extension liveness, because a graph's honest time has no bound that the guest could know. What is
    // guaranteed then: within 1 s of its worker's end a graph fails, and the device is lost; a worker that lives and does not
    // get on is ended after the host's stall limit (VIRGL_APIR_STALL_LIMIT_MS, an hour). Other calls keep their deadline,
    // counted from the end of the graph that they wait behind.
    std::optional<std::chrono::milliseconds> graph_deadline;
    // GGML_VIRTGPU_EXTENSIONS: all (the default), none, or names as protocol/apir.toml has them, with commas between; "-name":
    // all but that one.
    uint64_t extensions = UINT64_MAX;
    // GGML_VIRTGPU_BUFFER_POOL_MIB: how much of freed buffers is kept on the host for the next ones; 0: nothing.
    size_t buffer_pool_bytes = size_t{64} << 20;
    // GGML_VIRTGPU_RING: auto (a command ring where the host has it), off.
    bool ring = true;
    // GGML_VIRTGPU_WRITE_BEHIND: on (tensor_set does not wait for the host to take its last bytes over), auto (by EXECBUFFER, without records), off.
    WriteBehindUse write_behind = WriteBehindUse::automatic;
};

// Values that are not understood are warned of and left at their default.
Config read_config();

} // namespace apir::guest
