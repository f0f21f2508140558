// Where blobs are mapped: pages of four in a row share no place of an emulator's table, and nothing else is left mapped.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "guest/blob_places.hpp"
#include "host_expect.hpp"

using namespace apir::guest;
using namespace apir::test;

namespace {

constexpr size_t page = 4096;
constexpr size_t mebibyte_pages = 256;

struct File {
    explicit File(size_t size) : fd(memfd_create("places", 0)) {
        if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) std::abort();
    }
    ~File() { close(fd); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    const int fd;
};

size_t number_of(const void *memory) { return reinterpret_cast<uintptr_t>(memory) / page; }

// Bytes of the process's address space.
size_t mapped() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * page;
}

void four_in_a_row_have_places_of_their_own() {
    constexpr size_t size = 6192 * page;
    constexpr size_t blobs = 12;
    const File file(size);
    std::vector<void *> memory;
    for (size_t number = 0; number < blobs; ++number) memory.push_back(map_at_place(number, file.fd, 0, size));
    expect(std::find(memory.begin(), memory.end(), MAP_FAILED) == memory.end(), "mapped");
    for (size_t table : {1024, 2048, 4096, 8192}) {
        for (size_t first = 0; first + 4 <= blobs; ++first) {
            std::vector<bool> taken(table);
            for (size_t blob = first; blob < first + 4; ++blob) {
                for (size_t at = 0; at < mebibyte_pages; ++at) {
                    const size_t place = (number_of(memory[blob]) + at) % table;
                    expect(!taken[place], "place " + std::to_string(place) + " of " + std::to_string(table) + " is taken");
                    taken[place] = true;
                }
            }
        }
    }
    for (void *each : memory) munmap(each, size);
}

void it_is_the_blob_and_no_more() {
    constexpr size_t size = 300 * page;
    const File file(2 * size);
    const size_t before = mapped();
    std::vector<uint8_t *> memory;
    for (size_t number : {size_t{0}, size_t{1}, size_t{5}, SIZE_MAX}) {
        auto *each = static_cast<uint8_t *>(map_at_place(number, file.fd, size, size));
        if (each == MAP_FAILED) return expect(false, "mapped");
        std::memset(each, static_cast<int>(memory.size() + 1), size);
        memory.push_back(each);
    }
    expect(mapped() - before < 4 * size + 64 * page, "the rest of the area is given back: " + std::to_string((mapped() - before) / page));
    uint8_t byte = 0;
    expect(pread(file.fd, &byte, 1, size) == 1 && byte == memory.size() && pread(file.fd, &byte, 1, size - 1) == 1 && byte == 0, "the file's");
    expect(memory.front()[size - 1] == memory.size(), "all of them the same");
    for (uint8_t *each : memory) munmap(each, size);
    expect(mapped() - before < 64 * page, "nothing is left");
}

void what_cannot_be_mapped() {
    const File file(page);
    const size_t before = mapped();
    errno = 0;
    expect(map_at_place(0, -1, 0, size_t{1} << 20) == MAP_FAILED && errno == EBADF, "no file");
    errno = 0;
    expect(map_at_place(0, file.fd, 0, SIZE_MAX - page) == MAP_FAILED && errno == ENOMEM, "too much");
    expect(mapped() - before < 64 * page, "nothing is left");
}

} // namespace

int main() {
    if (sysconf(_SC_PAGESIZE) != static_cast<long>(page)) {
        std::fputs("pages are larger than those of an emulated guest: not looked at where blobs are mapped\n", stderr);
        return 0;
    }
    four_in_a_row_have_places_of_their_own();
    it_is_the_blob_and_no_more();
    what_cannot_be_mapped();
    return failures == 0 ? 0 : 1;
}
