// The functions behind the ones that we stand in front of.
#pragma once

namespace apir::virgl {

// The next definition of `name` after ours in the process, or virglrenderer's own. Ends the process, with a message, when
// there is none: QEMU has been told that the function exists.
void *real_function(const char *name);

// The same, or nullptr.
void *find_real_function(const char *name);

} // namespace apir::virgl

// The real function, looked up once.
#define APIR_REAL(name)                                                                                                            \
    ([] {                                                                                                                          \
        static const auto real = reinterpret_cast<decltype(&name)>(apir::virgl::real_function(#name));                             \
        return real;                                                                                                               \
    }())
