// Target: the schema's codec. Input: a number in four bytes, then others. They are read as the message of that number; what can be read is
// written, read again and written again: both times the same bytes.
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "target.hpp"
#include "tests/golden_gen.hpp"

using namespace apir;

namespace {

constexpr size_t room = size_t{1} << 19;

template <typename Message> void try_reading(const uint8_t *data, size_t size) {
    Message message;
    Reader reader(data, size);
    if (!read(reader, message)) return;
    static std::vector<uint8_t> first(room), second(room);
    Writer writer(first.data(), first.size());
    write(writer, message);
    if (writer.failed()) return;
    Message again;
    Reader once_more(first.data(), writer.size());
    if (!read(once_more, again) || once_more.offset() != writer.size()) std::abort();
    Writer rewriter(second.data(), second.size());
    write(rewriter, again);
    if (rewriter.size() != writer.size() || std::memcmp(first.data(), second.data(), writer.size()) != 0) std::abort();
}

using Reading = void (*)(const uint8_t *data, size_t size);

// Of every message, in the order of the golden vectors; they have the records in them.
std::vector<Reading> readings() {
    std::vector<Reading> all;
    visit_golden([&](const char *, const auto &message, const char *) { all.push_back(&try_reading<std::decay_t<decltype(message)>>); });
    return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const std::vector<Reading> all = readings();
    if (size < 4) return 0;
    all[(data[0] | data[1] << 8) % all.size()](data + 4, size - 4);
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    return apir::fuzz::mutate_plainly(data, size, most, seed);
}
