// A host library that hands every call to another one, until it has served the one called REFUSED_CALL REFUSED_AFTER times: from then on it
// refuses that.
//
// Usage: REFUSING_LIBRARY=LIBRARY REFUSED_CALL=NAME REFUSED_AFTER=N apir-bench loopback THIS_LIBRARY …
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "apir_gen.hpp"
#include "host_abi.hpp"

#define APIR_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Without the library, or a function of it, this ends in a jump to nowhere, which is told as a bad end.
template <typename Function> Function real(const char *name) {
    static void *library = dlopen(std::getenv("REFUSING_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function>(dlsym(library, name));
}

bool refused(uint32_t call) {
    static const std::string name = std::getenv("REFUSED_CALL");
    static const unsigned long limit = std::strtoul(std::getenv("REFUSED_AFTER"), nullptr, 10);
    static std::atomic<unsigned long> served{0};
    return name == apir::call_name(call) && served.fetch_add(1) >= limit;
}

} // namespace

APIR_EXPORT uint32_t apir_backend_initialize(uint32_t context, apir::HostCallbacks *callbacks) {
    return real<apir::HostInitialize>("apir_backend_initialize")(context, callbacks);
}

APIR_EXPORT void apir_backend_deinit(uint32_t context) { real<apir::HostDeinit>("apir_backend_deinit")(context); }

APIR_EXPORT uint32_t apir_backend_dispatcher(uint32_t context, apir::HostCallbacks *callbacks, uint32_t call, char *dec, const char *dec_end,
                                             char *enc, const char *enc_end, char **enc_after) {
    *enc_after = enc;
    if (refused(call)) return static_cast<uint32_t>(apir::DispatchCode::failed);
    static const auto dispatcher = real<apir::HostDispatcher>("apir_backend_dispatcher");
    return dispatcher(context, callbacks, call, dec, dec_end, enc, enc_end, enc_after);
}
