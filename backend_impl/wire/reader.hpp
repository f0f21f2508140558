// Reads APIR items from bytes that nobody vouches for.
//
// Total: every function returns, whatever the bytes are. The first overrun sets a sticky failure; from then on all
// answers are zero and `failed()` is true, so a decoder reads a whole message and asks once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace apir {

constexpr size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }

class Reader {
  public:
    Reader(const void *data, size_t size) : begin_(static_cast<const uint8_t *>(data)), size_(size) {}

    bool failed() const { return failed_; }
    size_t offset() const { return offset_; }
    size_t remaining() const { return failed_ ? 0 : size_ - offset_; }
    // Whether all was read and nothing failed.
    bool finished() const { return !failed_ && offset_ == size_; }
    void fail() { failed_ = true; }

    // The next `size` bytes (padding skipped too), or nullptr.
    const uint8_t *bytes(size_t size) {
        // Padding is checked by the same comparison; a size near 2^64 must not wrap around.
        if (size > remaining() || padded(size) > remaining()) {
            failed_ = true;
            return nullptr;
        }
        const uint8_t *at = begin_ + offset_;
        offset_ += padded(size);
        return at;
    }

    uint32_t u32() { return scalar<uint32_t>(); }
    int32_t i32() { return scalar<int32_t>(); }
    uint64_t u64() { return scalar<uint64_t>(); }
    int64_t i64() { return scalar<int64_t>(); }
    // Only the first byte of four counts: the others are stale.
    uint8_t u8() { return scalar<uint8_t>(); }
    bool boolean() { return u8() != 0; }

    // At most `limit` characters; a size of 0, one beyond the limit, or a missing NUL fails.
    std::string string(size_t limit) {
        uint64_t size = u64();
        if (failed_ || size == 0 || size - 1 > limit) {
            failed_ = true;
            return {};
        }
        const uint8_t *at = bytes(size);
        if (at == nullptr || at[size - 1] != 0) {
            failed_ = true;
            return {};
        }
        return std::string(reinterpret_cast<const char *>(at));
    }

    // Count of a list whose items take at least `item_size` bytes each: a count that cannot fit fails before
    // anything is allocated for it.
    uint32_t count(size_t item_size) {
        uint32_t n = u32();
        if (failed_ || n > remaining() / item_size) {
            failed_ = true;
            return 0;
        }
        return n;
    }

  private:
    template <typename T> T scalar() {
        static_assert(std::is_integral_v<T>);
        T value{};
        if (const uint8_t *at = bytes(sizeof(T))) std::memcpy(&value, at, sizeof(T));
        return value;
    }

    const uint8_t *begin_;
    size_t size_;
    size_t offset_ = 0;
    bool failed_ = false;
};

} // namespace apir
