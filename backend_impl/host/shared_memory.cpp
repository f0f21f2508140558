#include "shared_memory.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "refusal.hpp"

namespace apir::host {

uint64_t mapping_extent(const void *address) {
    std::unique_ptr<FILE, int (*)(FILE *)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
    if (maps == nullptr) return 0;
    auto wanted = reinterpret_cast<uintptr_t>(address);
    char line[512];
    while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
        uint64_t begin = 0;
        uint64_t end = 0;
        if (std::sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) == 2 && wanted >= begin && wanted < end) return end - wanted;
    }
    return 0;
}

uint64_t SharedMemory::bound(const apir_callbacks &callbacks, uint32_t resource, const void *address) const {
    char key[48];
    std::snprintf(key, sizeof key, "apir.resource.size.%" PRIu32, resource);
    const char *told = callbacks.get_config == nullptr ? nullptr : callbacks.get_config(context_, key);
    return told != nullptr ? std::strtoull(told, nullptr, 10) : mapping_extent(address);
}

SharedRange SharedMemory::range(const apir_callbacks &callbacks, uint32_t resource, uint64_t size) const {
    void *address = callbacks.get_shmem_ptr == nullptr ? nullptr : callbacks.get_shmem_ptr(context_, resource);
    if (address == nullptr) refuse("there is no shared resource %" PRIu32, resource);
#if defined(APIR_PLANT_MISSING_BOUND) || defined(APIR_UNCHECKED)
    uint64_t limit = size;
#else
    uint64_t limit = bound(callbacks, resource, address);
#endif
    if (size > limit) refuse("%" PRIu64 " bytes of resource %" PRIu32 ", which has %" PRIu64, size, resource, limit);
    return {static_cast<uint8_t *>(address), size};
}

} // namespace apir::host
