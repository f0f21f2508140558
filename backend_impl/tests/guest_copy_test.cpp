// Copies of all sizes around the ones at which another way is taken, before and after the choice among loops has been made.
#include <thread>
#include <unistd.h>
#include <vector>

#include "copy_expect.hpp"
#include "guest/bulk_copy.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

namespace {

void chosen(uint8_t *to, const uint8_t *from, size_t size) { bulk_copy(to, from, size); }

// Addresses that are never used: pages apart, and bytes.
bool collide(ptrdiff_t pages, ptrdiff_t bytes) {
    const uintptr_t from = uintptr_t{1} << 40;
    const uintptr_t to = from + static_cast<uintptr_t>(pages * 4096 + bytes);
    return pages_collide(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from));
}

void pages_of_the_same_place_in_the_emulators_table_collide() {
    for (ptrdiff_t pages : {0, 256, 512, 1024, -256, -1024, 65536})
        for (ptrdiff_t bytes : {-4095, -16, 0, 16, 4095}) {
            const std::string what = std::to_string(pages) + " pages and " + std::to_string(bytes) + " bytes apart";
            expect(collide(pages, bytes), what + " do not collide");
            expect(!collide(pages + 2, bytes) && !collide(pages - 2, bytes) && !collide(pages + 128, bytes), what + ", and others");
        }
    expect(!collide(1, 0) && !collide(-1, 0) && !collide(255, 0), "the next page is another one");
}

// A program's static object, which lives longer than what the library makes: it still copies. One that has not chosen yet has its
// loops in memory, as sanitizers see.
class CopiesAtExit {
  public:
    ~CopiesAtExit() {
        std::vector<uint8_t> from(size_t{64} << 10, 5);
        std::vector<uint8_t> to(from.size());
        bulk_copy(to.data(), from.data(), from.size());
        if (to != from) _exit(1);
    }
};

} // namespace

int main(int count, char **) {
    static CopiesAtExit late;
    if (count > 1) {
        there_and_no_further(chosen, 65536, 0, 0);
        return failures();
    }
    pages_of_the_same_place_in_the_emulators_table_collide();
    for (const CopyLoop &loop : copy_loops())
        for (size_t size : {0, 1, 7, 8, 31, 32, 63, 64, 65, 127, 128, 129, 511, 512, 1025, 65535, 65536, 65537, 131077})
            for (size_t at : {0, 1, 13}) there_and_no_further(loop.copy, size, at, 31 - at);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([] {
            for (size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{300001}, size_t{1048583}, size_t{9000017}})
                for (size_t at : {0, 1, 13}) there_and_no_further(chosen, size, at, 31 - at);
        });
    }
    for (std::thread &thread : threads) thread.join();
    return failures();
}
