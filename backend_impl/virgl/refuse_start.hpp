// What cannot work is refused at start, loudly: a guest without its device would be a riddle.
#pragma once

namespace apir::virgl {

// Says why on stderr and in the log, and ends QEMU with status 1.
[[noreturn, gnu::format(printf, 1, 2)]] void refuse_start(const char *format, ...);

// Ends QEMU if the module that `address` lies in uses a virgl_renderer_* function that we do not know: it might hand a
// resource of ours to a library that never heard of it.
void check_imports(const void *address);

} // namespace apir::virgl
