#include "blobs.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

#include "../shared_file.hpp"

namespace apir::virgl {

BlobTable::BlobTable(int fd) {
    struct stat status{};
    if (fstat(fd, &status) != 0) throw std::system_error(errno, std::generic_category(), "the arena");
    size_ = static_cast<uint64_t>(status.st_size);
    memory_ = map_shared_file(fd, size_);
}

BlobTable::~BlobTable() { munmap(memory_, size_); }

void BlobTable::add(uint32_t resource, Range range) {
    if (range.size > size_ || range.offset > size_ - range.size) return;
    blobs_[resource] = {memory_ + range.offset, range.size, std::to_string(range.size)};
}

const MappedBlob *BlobTable::find(uint32_t resource) const {
    auto at = blobs_.find(resource);
    return at == blobs_.end() ? nullptr : &at->second;
}

} // namespace apir::virgl
