// The copies that transfers are held against: they are the guest library's, and each copies everything.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "bench/copy_loops.hpp"
#include "copy_expect.hpp"
#include "guest/bulk_copy.hpp"

using namespace apir::bench;
using namespace apir::guest::test;

namespace {

// All of memory, through places that are smaller: what is left in them is each thread's end.
void through_places() {
    std::set<std::string> names;
    const size_t page = 4096;
    const size_t size = 3 * place_size + 5 * page + 17;
    std::vector<uint8_t> memory(size);
    for (size_t i = 0; i < size; ++i) memory[i] = static_cast<uint8_t>(i % 251);
    for (const PlaceCopy &one : place_copies()) {
        expect(names.insert(one.name).second, one.name + " twice");
        const bool two = one.name.rfind("two_threads_", 0) == 0;
        const size_t half = two ? size / 2 / page * page : size;
        std::vector<uint8_t> places(2 * place_size, 255);
        one.copy(memory.data(), places.data(), size, true);
        auto last = [&](size_t begin, size_t end) { // of a part: where its last piece begins, and how long that is
            const size_t whole = (end - begin - 1) / place_size * place_size;
            return std::pair(begin + whole, end - begin - whole);
        };
        auto is_last = [&](size_t place, std::pair<size_t, size_t> piece) {
            return std::equal(memory.begin() + static_cast<long>(piece.first), memory.begin() + static_cast<long>(piece.first + piece.second),
                              places.begin() + static_cast<long>(place));
        };
        expect(is_last(0, last(0, half)), one.name + " out");
        expect(two ? is_last(place_size, last(half, size)) : places[place_size] == 255, one.name + " out, the second thread's");
        std::vector<uint8_t> back(size, 255);
        for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<uint8_t>(i / place_size);
        one.copy(back.data(), places.data(), size, false);
        for (size_t i = 0; i < size; ++i) {
            if (back[i] == (i < half ? 0 : 1)) continue;
            expect(false, one.name + " in, at " + std::to_string(i));
            break;
        }
    }
}

} // namespace

int main() {
    std::set<std::string> names;
    const std::vector<CopyFloor> floors = copy_floors();
    for (const CopyFloor &floor : floors) expect(names.insert(floor.name).second, floor.name + " twice");
    for (const apir::guest::CopyLoop &loop : apir::guest::copy_loops()) expect(names.count(loop.name) == 1, std::string(loop.name) + " is no floor");
    for (const char *name : {"pieces", "registers"})
        expect(names.count(name) == names.count(std::string("two_threads_") + name), std::string(name) + " is none by two threads");
    for (const CopyFloor &floor : floors)
        for (size_t size : {0, 1, 63, 4095, 8192, 8193, 131077, 1048583})
            for (size_t at : {0, 13}) there_and_no_further(floor.copy, size, at, 31 - at);
    through_places();
    return failures();
}
