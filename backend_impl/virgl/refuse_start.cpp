#include "refuse_start.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <set>
#include <string>
#include <unistd.h>

#include "component_log.hpp"

namespace apir::virgl {
namespace {

constexpr const char *prefix = "virgl_renderer_";

// Without the prefix. First those of interpose.cpp, then those that never see a context or a resource of ours, or answer
// unknown ones with an error.
const std::set<std::string> known{
    "init",
    "cleanup",
    "reset",
    "poll",
    "get_cap_set",
    "fill_caps",
    "context_create_with_flags",
    "context_destroy",
    "context_create_fence",
    "resource_create_blob",
    "resource_map",
    "resource_map_fixed",
    "resource_unmap",
    "resource_get_map_info",
    "resource_get_info",
    "resource_get_info_ext",
    "resource_attach_iov",
    "resource_detach_iov",
    "resource_unref",
    "ctx_attach_resource",
    "ctx_detach_resource",
    "submit_cmd",
    "context_create",
    "create_fence",
    "force_ctx_0",
    "get_cursor_data",
    "resource_create",
    "transfer_read_iov",
    "transfer_write_iov",
    "get_rect",
    "get_fd_for_texture",
    "get_fd_for_texture2",
};

template <typename T> const T *dynamic_pointer(const link_map &module, ElfW(Addr) value) {
    // glibc relocates these in place on most architectures, and leaves them alone on others.
    return reinterpret_cast<const T *>(value < module.l_addr ? value + module.l_addr : value);
}

struct DynamicTables {
    const char *strings = nullptr;
    const ElfW(Sym) *symbols = nullptr;
    const ElfW(Rela) * relocations[2] = {};
    size_t counts[2] = {};
};

DynamicTables tables_of(const link_map &module) {
    DynamicTables tables;
    for (const ElfW(Dyn) *entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
        case DT_STRTAB: tables.strings = dynamic_pointer<char>(module, entry->d_un.d_ptr); break;
        case DT_SYMTAB: tables.symbols = dynamic_pointer<ElfW(Sym)>(module, entry->d_un.d_ptr); break;
        case DT_RELA: tables.relocations[0] = dynamic_pointer<ElfW(Rela)>(module, entry->d_un.d_ptr); break;
        case DT_RELASZ: tables.counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_JMPREL: tables.relocations[1] = dynamic_pointer<ElfW(Rela)>(module, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: tables.counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        default: break;
        }
    }
    return tables;
}

std::string unknown_imports(const link_map &module) {
    DynamicTables tables = tables_of(module);
    std::set<std::string> unknown;
    for (int table = 0; table < 2; ++table) {
        for (size_t i = 0; tables.relocations[table] != nullptr && i < tables.counts[table]; ++i) {
            size_t symbol = ELF64_R_SYM(tables.relocations[table][i].r_info);
            const char *name = tables.strings + tables.symbols[symbol].st_name;
            if (std::strncmp(name, prefix, std::strlen(prefix)) != 0) continue;
            if (known.count(name + std::strlen(prefix)) == 0) unknown.insert(name);
        }
    }
    std::string list;
    for (const std::string &name : unknown) list += (list.empty() ? "" : ", ") + name;
    return list;
}

} // namespace

void refuse_start(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log(Level::error, "refusing to start: %s", text);
    if (log_fd() != STDERR_FILENO) dprintf(STDERR_FILENO, "virgl-apir: refusing to start: %s\n", text);
    std::exit(1);
}

void check_imports(const void *address) {
    Dl_info info{};
    link_map *module = nullptr;
    if (dladdr1(address, &info, reinterpret_cast<void **>(&module), RTLD_DL_LINKMAP) == 0 || module == nullptr) return;
    std::string unknown = unknown_imports(*module);
    if (!unknown.empty())
        refuse_start("%s uses functions of virglrenderer that this component does not know: %s", info.dli_fname, unknown.c_str());
}

} // namespace apir::virgl
