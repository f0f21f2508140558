// Shared resources of a context, as the component answers for them, with a bound that the guest cannot choose.
#pragma once

#include <cstddef>
#include <cstdint>

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
    SharedRange range(const apir_callbacks &callbacks, uint32_t resource, uint64_t size) const;

  private:
    // Found out every time, from the memory map where the component tells no size: a guest may free a resource and have a smaller one by the same
    // number, at the same address.
    uint64_t bound(const apir_callbacks &callbacks, uint32_t resource, const void *address) const;

    uint32_t context_;
};

// Bytes from `address` to the end of the mapping it lies in; 0 when it lies in none.
uint64_t mapping_extent(const void *address);

} // namespace apir::host
