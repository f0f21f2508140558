// What a host library exports and is given, as whoever loads one sees it.
#pragma once

#include <atomic>
#include <cstdint>

namespace apir {

struct HostCallbacks {
    const char *(*get_config)(uint32_t context, const char *key);
    void *(*get_shmem_ptr)(uint32_t context, uint32_t resource);
};

using HostInitialize = uint32_t (*)(uint32_t context, HostCallbacks *callbacks);
using HostDeinit = void (*)(uint32_t context);
using HostDispatcher = uint32_t (*)(uint32_t context, HostCallbacks *callbacks, uint32_t call, char *dec, const char *dec_end, char *enc,
                                    const char *enc_end, char **enc_after);

// Beyond the documented interface, and our library's alone: apir_backend_progress and apir_backend_ending.
using HostProgress = void (*)(uint32_t context, std::atomic<uint64_t> *beats);
using HostEnding = void (*)(uint32_t context, const std::atomic<uint32_t> *ending);

} // namespace apir
