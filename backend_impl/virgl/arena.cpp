#include "arena.hpp"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "shared_file.hpp"

namespace apir::virgl {
namespace {

// Freed ranges up to this size keep their pages: taking them anew would cost more than the memory is worth.
constexpr uint64_t kept_with_pages = uint64_t{256} << 10;
// Some hundred microseconds' worth.
constexpr uint64_t emptied_at_once = uint64_t{4} << 20;

// What guests can make us hold by addresses of ended arenas.
constexpr uint64_t left_memory = uint64_t{64} << 30;

// -1: cannot be made.
int left_memory_fd() {
    static const int fd = [] {
        try {
            return make_shared_file("apir-left", left_memory);
        } catch (const std::system_error &) {
            return -1;
        }
    }();
    return fd;
}

} // namespace

std::optional<uint64_t> FreeRanges::take(uint64_t size) {
    std::optional<uint64_t> offset;
    if (size >= 2 * huge_page) offset = take_at(size, huge_page);
    return offset ? offset : take_at(size, 1);
}

std::optional<uint64_t> FreeRanges::take_at(uint64_t size, uint64_t multiple) {
    for (auto at = by_offset_.begin(); at != by_offset_.end(); ++at) {
        const auto [offset, available] = *at;
        const uint64_t before = (multiple - offset % multiple) % multiple;
        if (available < before || available - before < size) continue;
        by_offset_.erase(at);
        if (before != 0) by_offset_.emplace(offset, before);
        if (available - before > size) by_offset_.emplace(offset + before + size, available - before - size);
        return offset + before;
    }
    return std::nullopt;
}

void FreeRanges::give(Range range) {
    auto next = by_offset_.lower_bound(range.offset);
    if (next != by_offset_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == range.offset) {
            range = {before->first, before->second + range.size};
            by_offset_.erase(before);
        }
    }
    if (next != by_offset_.end() && range.offset + range.size == next->first) {
        range.size += next->second;
        by_offset_.erase(next);
    }
    by_offset_.emplace(range.offset, range.size);
}

Arena::Arena(uint64_t size) : size_(size), fd_(make_shared_file("apir-blobs", size)), memory_(nullptr), free_(size) {
    try {
        memory_ = map_shared_file(fd_, size);
    } catch (...) {
        close(fd_);
        throw;
    }
}

Arena::~Arena() {
    if (left_mapped_.size == 0) {
        munmap(memory_, size_);
        close(fd_);
        return;
    }
    const uint64_t end = left_mapped_.offset + left_mapped_.size;
    if (left_mapped_.offset != 0) munmap(memory_, left_mapped_.offset);
    if (end != size_) munmap(memory_ + end, size_ - end);
    // In place: there is no moment at which something else could be mapped there. If it cannot be, it stays what it is, but empty.
    if (left_mapped_.size > left_memory || !map_shared_file_at(memory_ + left_mapped_.offset, left_memory_fd(), 0, left_mapped_.size))
        empty({0, size_});
    close(fd_);
    ++left_;
}

void Arena::leave_mapped(Range range) {
    if (left_mapped_.size == 0) left_mapped_ = range;
    const uint64_t end = std::max(left_mapped_.offset + left_mapped_.size, range.offset + range.size);
    left_mapped_.offset = std::min(left_mapped_.offset, range.offset);
    left_mapped_.size = end - left_mapped_.offset;
}

void Arena::settle(uint64_t done) {
    while (!released_.empty() && released_.front().position <= done) {
        Range range = released_.front().range;
        released_.pop_front();
        if (range.size <= kept_with_pages) {
            free_.give(range);
        } else {
            --large_released_;
            full_.push_back(range);
        }
    }
}

std::optional<uint64_t> Arena::allocate(uint64_t size, uint64_t done) {
    settle(done);
    std::optional<uint64_t> offset = free_.take(size);
    if (offset || full_.empty()) return offset;
    // The context is at its limit: better its old bytes than none.
    for (Range range : std::exchange(full_, {})) free_.give(range);
    return free_.take(size);
}

void Arena::release(Range range, uint64_t position) {
    released_.push_back({range, position});
    if (range.size > kept_with_pages) ++large_released_;
}

std::optional<Range> Arena::next_to_empty(uint64_t done) {
    settle(done);
    if (full_.empty() || emptying_) return std::nullopt;
    Range &last = full_.back();
    Range piece{last.offset, std::min(last.size, emptied_at_once)};
    last = {last.offset + piece.size, last.size - piece.size};
    if (last.size == 0) full_.pop_back();
    emptying_ = piece;
    return piece;
}

void Arena::empty(Range range) const {
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(range.offset), static_cast<off_t>(range.size));
}

void Arena::emptied() {
    free_.give(*emptying_);
    emptying_.reset();
}

} // namespace apir::virgl
