// Writes APIR items into memory of a fixed size.
//
// Total, as the reader: what does not fit sets a sticky failure and writes nothing more. Padding is written as zeros,
// so no stale memory of ours reaches the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "reader.hpp"

namespace apir {

class Writer {
  public:
    Writer(void *data, size_t size) : begin_(static_cast<uint8_t *>(data)), size_(size) {}

    bool failed() const { return failed_; }
    // Bytes written so far.
    size_t size() const { return offset_; }
    size_t remaining() const { return failed_ ? 0 : size_ - offset_; }
    void fail() { failed_ = true; }

    // Room for `size` bytes, padding zeroed; nullptr when there is none. The caller fills it.
    uint8_t *room(size_t size) {
        if (size > remaining() || padded(size) > remaining()) {
            failed_ = true;
            return nullptr;
        }
        uint8_t *at = begin_ + offset_;
        if (padded(size) != size) std::memset(at + size, 0, padded(size) - size);
        offset_ += padded(size);
        return at;
    }

    void bytes(const void *data, size_t size) {
        uint8_t *at = room(size);
        if (at != nullptr && size != 0) std::memcpy(at, data, size);
    }

    void u32(uint32_t value) { bytes(&value, sizeof value); }
    void i32(int32_t value) { bytes(&value, sizeof value); }
    void u64(uint64_t value) { bytes(&value, sizeof value); }
    void i64(int64_t value) { bytes(&value, sizeof value); }
    void u8(uint8_t value) { bytes(&value, sizeof value); }
    void boolean(bool value) { u8(value ? 1 : 0); }

    void string(std::string_view text) {
        // Says what room() would say, and lets a compiler see that the length with its NUL does not wrap around.
        if (text.size() >= remaining()) return fail();
        u64(text.size() + 1);
        uint8_t *at = room(text.size() + 1);
        if (at == nullptr) return;
        if (!text.empty()) std::memcpy(at, text.data(), text.size());
        at[text.size()] = 0;
    }

  private:
    uint8_t *begin_;
    size_t size_;
    size_t offset_ = 0;
    bool failed_ = false;
};

} // namespace apir
