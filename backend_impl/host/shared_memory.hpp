// Shared resources of a context, as the component answers for them, with a bound that the guest cannot choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "callbacks.hpp"

namespace apir::host {

struct SharedRange {
    uint8_t *data = nullptr;
    uint64_t size = 0;
};

class SharedMemory {
  public:
    explicit SharedMemory(uint32_t context) : context_(context) {}

    // The first `size` bytes of a resource; throws Refusal when there is no such resource or it is smaller.
    SharedRange range(const apir_callbacks &callbacks, uint32_t resource, uint64_t size);

  private:
    uint64_t bound(const apir_callbacks &callbacks, uint32_t resource, void *address);

    uint32_t context_;
    // Only for components that tell no size: extents read from the memory map, by resource and address.
    std::map<std::pair<uint32_t, void *>, uint64_t> extents_;
};

// Bytes from `address` to the end of the mapping it lies in; 0 when it lies in none.
uint64_t mapping_extent(const void *address);

} // namespace apir::host
