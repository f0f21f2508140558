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

uint64_t SharedMemory::bound(const apir_callbacks &callbacks, uint32_t resource, void *address) {
    char key[48];
    std::snprintf(key, sizeof key, "apir.resource.size.%" PRIu32, resource);
    // Asked every time: a number may be given again to a resource of another size.
    const char *told = callbacks.get_config == nullptr ? nullptr : callbacks.get_config(context_, key);
    if (told != nullptr) return std::strtoull(told, nullptr, 10);
    auto known = extents_.find({resource, address});
    if (known != extents_.end()) return known->second;
    uint64_t extent = mapping_extent(address);
    constexpr size_t remembered = 4096;
    if (extents_.size() >= remembered) extents_.clear();
    extents_.emplace(std::make_pair(resource, address), extent);
    return extent;
}

SharedRange SharedMemory::range(const apir_callbacks &callbacks, uint32_t resource, uint64_t size) {
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
