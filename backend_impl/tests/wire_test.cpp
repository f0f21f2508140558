// The C++ codec against the golden vectors: equal bytes, round trip, refusal of every truncation; and the bounds of
// reader and writer.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "golden_gen.hpp"

namespace {

int failures = 0;

void expect(bool holds, const std::string &what) {
    if (holds) return;
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    ++failures;
}

std::string hex(const std::vector<uint8_t> &bytes) {
    std::string text;
    char digits[3];
    for (uint8_t byte : bytes) {
        std::snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

template <typename Message> std::vector<uint8_t> encoded(const Message &message) {
    std::vector<uint8_t> bytes(1 << 16);
    apir::Writer writer(bytes.data(), bytes.size());
    write(writer, message);
    bytes.resize(writer.failed() ? 0 : writer.size());
    return bytes;
}

template <typename Message> void check_message(const std::string &name, const Message &message, const std::string &golden) {
    std::vector<uint8_t> bytes = encoded(message);
    expect(hex(bytes) == golden, name + ": bytes differ from the golden ones");

    apir::Reader reader(bytes.data(), bytes.size());
    Message again;
    expect(read(reader, again) && reader.finished(), name + ": does not decode");
    expect(hex(encoded(again)) == golden, name + ": round trip changes it");

    for (size_t size = 0; size < bytes.size(); ++size) {
        // A heap copy of just that size, so that a sanitizer sees one byte too many.
        std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        apir::Reader truncated(cut.data(), cut.size());
        Message out;
        // The optional last item of get_props may be missing.
        bool optional = name == "device_get_props_reply" && size == 16;
        expect(read(truncated, out) == optional, name + ": accepted after " + std::to_string(size) + " bytes");

        std::vector<uint8_t> room(size);
        apir::Writer writer(room.data(), room.size());
        write(writer, message);
        expect(writer.failed(), name + ": written into " + std::to_string(size) + " bytes");
    }
}

void check_bounds() {
    uint8_t bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 0, 0, 0, 0};
    apir::Reader endless(bytes, sizeof bytes);
    expect(endless.string(apir::max_string).empty() && endless.failed(), "a string of 2^64-1 bytes was read");
    expect(endless.u64() == 0 && endless.remaining() == 0, "a failed reader goes on");

    apir::Reader count(bytes, sizeof bytes);
    expect(count.count(1) == 0 && count.failed(), "a count beyond the message was accepted");

    apir::Reader unpadded(bytes + 8, 6);
    expect(unpadded.bytes(5) == nullptr && unpadded.failed(), "padding beyond the end was accepted");

    apir::Writer writer(bytes, 3);
    writer.u8(1);
    expect(writer.failed(), "a byte takes four");
}

} // namespace

int main() {
    apir::visit_golden([](const char *name, const auto &message, const char *golden) { check_message(name, message, golden); });
    check_bounds();
    std::fprintf(stderr, failures == 0 ? "wire: all passed\n" : "wire: %d failed\n", failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
