// Copies of some words: each byte that is to be copied, and none beside it.
#include <cstring>
#include <string>
#include <vector>

#include "apir_gen.hpp"
#include "host_expect.hpp"
#include "short_copies.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint8_t untouched = 0xa5;
constexpr size_t guard = 64;
constexpr size_t name_offset = 232; // in a tensor's record, as the protocol has it
constexpr size_t max_name = sizeof TensorRecord::name;

void every_size() {
    for (size_t size = 0; size <= longest_short + 100; ++size) {
        const size_t skew = size % 4; // from odd places, too
        std::vector<uint8_t> from(skew + size);
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + size);
        std::vector<uint8_t> wanted(size + 2 * guard, untouched);
        std::vector<uint8_t> to = wanted;
        for (size_t i = 0; i < size; ++i) wanted[guard + i] = from[skew + i];
        copy_short(to.data() + guard, from.data() + skew, size);
        expect(to == wanted, std::to_string(size) + " bytes");
    }
}

// As the C library's functions have it, whatever the bytes are and whatever stands behind the end.
void every_name() {
    for (const char letter : {'a', '\x01', '\x7f', '\x80', '\xff'}) {
        for (size_t length = 0; length <= max_name; ++length) {
            TensorRecord record;
            std::memset(record.name, 'x', sizeof record.name);
            std::memset(record.name, letter, length);
            if (length < max_name) record.name[length] = 0;
            char wanted[max_name] = {};
            std::memcpy(wanted, record.name, strnlen(record.name, sizeof wanted - 1));
            std::vector<uint8_t> bytes(TensorRecord::wire_size, untouched);
            Writer writer(bytes.data(), bytes.size());
            write(writer, record);
            const std::string what = "a name of " + std::to_string(length) + " bytes";
            expect(!writer.failed() && std::memcmp(bytes.data() + name_offset, wanted, sizeof wanted) == 0, what + " in a record");
            char copy[max_name] = {};
            copy_name(copy, record.name);
            expect(std::memcmp(copy, wanted, sizeof copy) == 0, what);
        }
    }
}

} // namespace

int main() {
    every_size();
    every_name();
    return failures == 0 ? 0 : 1;
}
