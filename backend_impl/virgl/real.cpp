#include "real.hpp"

#include <dlfcn.h>

#include "refuse_start.hpp"

namespace apir::virgl {

void *find_real_function(const char *name) {
    if (void *next = dlsym(RTLD_NEXT, name)) return next;
    // QEMU's module is loaded into a scope of its own, so that its virglrenderer is not among the next ones.
    static void *const library = dlopen("libvirglrenderer.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : dlsym(library, name);
}

void *real_function(const char *name) {
    void *found = find_real_function(name);
    if (found == nullptr)
        refuse_start("virglrenderer has no function %s: libvirglrenderer.so.1 is missing or of another version", name);
    return found;
}

} // namespace apir::virgl
