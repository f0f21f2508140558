// What a Forward command is about, for the records: the call that is meant, and the data that goes along with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apir::virgl {

struct MeantData {
    uint32_t resource = 0; // data resource; 0: none
    uint64_t bytes_out = 0; // in it, guest to host, as the guest says
    uint64_t bytes_in = 0; // host to guest
};

struct MeantCall : MeantData {
    uint32_t number = 0; // of the call itself, where on_device carries it; of the last one of a batch
    std::vector<MeantData> along; // of each call before that one

    // Guest to host, with what goes along.
    uint64_t all_bytes_out() const;
};

// Never fails: of what does not decode only the number is told.
MeantCall meant_call(uint32_t call, const uint8_t *request, size_t size);

} // namespace apir::virgl
