// What the component hands to the host library: the C ABI of both is in entry.cpp.
#pragma once

#include <cstdint>

extern "C" {

// `get_config` answers a configuration key of the context, or NULL. `get_shmem_ptr` answers where a shared resource is
// mapped, or NULL for one that does not exist. The strings live until the call ends.
struct apir_callbacks {
    const char *(*get_config)(uint32_t context, const char *key);
    void *(*get_shmem_ptr)(uint32_t context, uint32_t resource);
};
}
