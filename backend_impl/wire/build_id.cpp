#include "build_id.hpp"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>

namespace apir {
namespace {

struct Search {
    uintptr_t address;
    std::string found;
};

std::string hex(const uint8_t *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

// Build id among the notes of one segment, or empty.
std::string note_build_id(const uint8_t *at, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof note);
        size_t name = (note.n_namesz + 3u) & ~size_t{3};
        size_t total = sizeof note + name + ((note.n_descsz + 3u) & ~size_t{3});
        if (total > size) return {};
        const uint8_t *content = at + sizeof note;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(content, "GNU", 4) == 0) {
            return hex(content + name, note.n_descsz);
        }
        at += total;
        size -= total;
    }
    return {};
}

int look(dl_phdr_info *info, size_t, void *data) {
    auto *search = static_cast<Search *>(data);
    bool inside = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto &header = info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header.p_vaddr;
        inside = inside || (header.p_type == PT_LOAD && search->address >= start && search->address < start + header.p_memsz);
    }
    if (!inside) return 0;
    for (int i = 0; i < info->dlpi_phnum && search->found.empty(); ++i) {
        const auto &header = info->dlpi_phdr[i];
        if (header.p_type != PT_NOTE) continue;
        search->found = note_build_id(reinterpret_cast<const uint8_t *>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
    }
    return 1;
}

} // namespace

std::string build_id_of(const void *address) {
    Search search{reinterpret_cast<uintptr_t>(address), {}};
    dl_iterate_phdr(look, &search);
    return search.found;
}

} // namespace apir
