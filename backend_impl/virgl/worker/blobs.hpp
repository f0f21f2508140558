// The context's shared resources in the worker: ranges of the arena.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "../arena.hpp"

namespace apir::virgl {

struct MappedBlob {
    uint8_t *data;
    uint64_t size;
    std::string size_text; // answer to the key apir.resource.size.<id>
};

class BlobTable {
  public:
    // Maps the arena behind `fd`; throws std::system_error.
    explicit BlobTable(int fd);
    ~BlobTable();
    BlobTable(const BlobTable &) = delete;
    BlobTable &operator=(const BlobTable &) = delete;

    void add(uint32_t resource, Range range);
    void remove(uint32_t resource) { blobs_.erase(resource); }
    // Where in the arena a blob begins.
    uint64_t offset_of(const MappedBlob &blob) const { return static_cast<uint64_t>(blob.data - memory_); }
    // Or nullptr.
    const MappedBlob *find(uint32_t resource) const;

  private:
    uint8_t *memory_ = nullptr;
    uint64_t size_ = 0;
    std::unordered_map<uint32_t, MappedBlob> blobs_;
};

} // namespace apir::virgl
