// The copies that transfers are held against: they are the guest library's, and each copies everything.
#include <set>

#include "bench/copy_loops.hpp"
#include "copy_expect.hpp"
#include "guest/bulk_copy.hpp"

using namespace apir::bench;
using namespace apir::guest::test;

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
    return failures();
}
