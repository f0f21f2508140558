// The functions that QEMU's virtio-gpu-gl module calls, as this library presents them in front of virglrenderer's. What does
// not concern a context or resource of ours is passed on untouched. The only file with extern "C" functions.
//
// A context is ours when it is created on Venus's capset while VIRGL_ROUTE_VENUS_TO_APIR is set, or on the APIR capset while that is
// set or VIRGL_APIR_ADVERTISE_CAPSET asks for it.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <mutex>
#include <unordered_set>

extern "C" { // the header itself does not say so
#include <virglrenderer.h>
}

#include <apir_gen.hpp>
#include <build_id.hpp>
#include <call_log.hpp>

#include "component.hpp"
#include "component_log.hpp"
#include "held_fences.hpp"
#include "real.hpp"
#include "refuse_start.hpp"

namespace apir::virgl {
namespace {

// Not for an empty text and 0.
bool asks_for_capset() {
    const char *value = std::getenv("VIRGL_APIR_ADVERTISE_CAPSET");
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

// What QEMU has told, and the component. QEMU calls on its main thread only.
struct State {
    const bool routed = std::getenv("VIRGL_ROUTE_VENUS_TO_APIR") != nullptr;
    const bool advertised = asks_for_capset();
    bool appended = false; // capset 10, to QEMU's list
    void *cookie = nullptr;
    void (*write_context_fence)(void *cookie, uint32_t context, uint32_t ring, uint64_t fence) = nullptr;
    bool fences_at_once = false;
    HeldFences fences;
    // Contexts on capsets of ours that were refused, until they are destroyed: QEMU looks at no refusal, and makes fences for them.
    std::unordered_set<uint32_t> refused;
    Component component;

    bool has_fences_of(uint32_t context) { return component.owns_context(context) || refused.count(context) != 0; }
    bool active() const { return routed || advertised; }
    bool is_ours(uint32_t capset) const { return (routed && capset == venus_capset) || (active() && capset == apir_capset); }
};

// More than any guest has contexts; those beyond wait for their fences for ever.
constexpr size_t max_refused = 65536;

State *made() {
    try {
        return new State;
    } catch (const std::exception &failure) {
        refuse_start("the component cannot be set up: %s", failure.what());
    }
}

// Never destroyed: workers end with QEMU anyway, and exit handlers of others may still call in.
State &state() {
    static State *instance = made();
    return *instance;
}

// What `act` answers; no exception gets out.
template <typename Act> int guarded(Act act) {
    try {
        return act();
    } catch (const std::exception &failure) {
        log(Level::error, "%s", failure.what());
        return -ENOMEM;
    }
}

void first_use(const void *caller) {
    static std::once_flag once;
    std::call_once(once, [caller] {
        if (!state().active()) return;
        check_imports(caller);
        log(Level::info, "component %s: capset %u %s, capset %u %s", build_id_of(reinterpret_cast<const void *>(&state)).c_str(),
            venus_capset, state().routed ? "is routed to APIR" : "stays Venus's", apir_capset,
            state().advertised ? "is advertised" : "is not advertised");
    });
}

void fill_capset(void *caps, uint32_t size) {
    std::memset(caps, 0, size);
    Writer writer(caps, size);
    Capset capset;
    capset.version = 1;
    capset.supports_blob_resources = 1;
    write(writer, capset);
}

constexpr uint32_t capset_size = 24;

// Venus's size where virglrenderer has it, so that QEMU's own idea of the set stays right.
uint32_t routed_capset_size(uint32_t *version) {
    uint32_t size = 0;
    APIR_REAL(virgl_renderer_get_cap_set)(venus_capset, version, &size);
    return size < capset_size ? capset_size : size;
}

} // namespace
} // namespace apir::virgl

using namespace apir::virgl;

#define APIR_EXPORT __attribute__((visibility("default")))
#define APIR_CALLER __builtin_return_address(0)

extern "C" {

int virgl_renderer_init(void *cookie, int flags, virgl_renderer_callbacks *callbacks) {
    first_use(APIR_CALLER);
    State &ours = state();
    if (ours.advertised && !ours.appended)
        refuse_start("VIRGL_APIR_ADVERTISE_CAPSET is set, but QEMU never put capset %u on its list where this component could see "
                     "it: it needs venus=true, and the virtio-gpu-gl device as a module",
                     apir::venus_capset);
    if (callbacks != nullptr && callbacks->version >= 3) ours.write_context_fence = callbacks->write_context_fence;
    ours.cookie = cookie;
    // With this flag QEMU takes fences at any time, from any thread; without it only while it polls, for a command is put
    // on its list of fenced ones after the call that creates the fence.
    ours.fences_at_once = (flags & VIRGL_RENDERER_ASYNC_FENCE_CB) != 0;
    return APIR_REAL(virgl_renderer_init)(cookie, flags, callbacks);
}

void virgl_renderer_poll(void) {
    State &ours = state();
    ours.fences.poll(apir::monotonic_ns(),
                     [&](const Fence &fence) { ours.write_context_fence(ours.cookie, fence.context, fence.ring, fence.id); });
    APIR_REAL(virgl_renderer_poll)();
}

void virgl_renderer_get_cap_set(uint32_t set, uint32_t *version, uint32_t *size) {
    first_use(APIR_CALLER);
    if (set == apir::apir_capset && state().advertised) {
        *version = 0;
        *size = capset_size;
    } else if (set == apir::venus_capset && state().routed) {
        *size = routed_capset_size(version);
    } else {
        APIR_REAL(virgl_renderer_get_cap_set)(set, version, size);
    }
}

void virgl_renderer_fill_caps(uint32_t set, uint32_t version, void *caps) {
    uint32_t ignored = 0;
    if (set == apir::apir_capset && state().advertised)
        fill_capset(caps, capset_size);
    else if (set == apir::venus_capset && state().routed)
        fill_capset(caps, routed_capset_size(&ignored));
    else
        APIR_REAL(virgl_renderer_fill_caps)(set, version, caps);
}

int virgl_renderer_context_create_with_flags(uint32_t context, uint32_t flags, uint32_t name_size, const char *name) {
    uint32_t capset = flags & VIRGL_RENDERER_CONTEXT_FLAG_CAPSET_ID_MASK;
    State &ours = state();
    ours.refused.erase(context);
    if (!ours.is_ours(capset)) return APIR_REAL(virgl_renderer_context_create_with_flags)(context, flags, name_size, name);
    if (ours.write_context_fence == nullptr) {
        log(Level::error, "context %u is refused: this QEMU takes no fences of contexts", context);
        return EINVAL;
    }
    // This function answers with a positive errno, unlike most.
    return -guarded([&] {
        int result = ours.component.create_context(context, capset);
        if (result != 0 && ours.refused.size() < max_refused) ours.refused.insert(context);
        return result;
    });
}

void virgl_renderer_context_destroy(uint32_t context) {
    state().refused.erase(context);
    if (!state().component.owns_context(context)) return APIR_REAL(virgl_renderer_context_destroy)(context);
    guarded([&] { return state().component.destroy_context(context), 0; });
}

int virgl_renderer_context_create_fence(uint32_t context, uint32_t flags, uint32_t ring, uint64_t fence) {
    State &ours = state();
    if (!ours.has_fences_of(context)) return APIR_REAL(virgl_renderer_context_create_fence)(context, flags, ring, fence);
    // A reply is told by its own word in memory, and nothing of ours uses fences: they are complete when QEMU next polls, but for those that
    // are kept for a bunch. With fences taken at any time nothing is kept, and nothing is gained by fences on unawaited_ring.
    if (ours.fences_at_once)
        ours.write_context_fence(ours.cookie, context, ring, fence);
    else
        ours.fences.add({context, ring, fence}, apir::monotonic_ns());
    return 0;
}

int virgl_renderer_resource_create_blob(const virgl_renderer_resource_create_blob_args *args) {
    if (args->blob_mem == VIRGL_RENDERER_BLOB_MEM_GUEST || !state().component.owns_context(args->ctx_id))
        return APIR_REAL(virgl_renderer_resource_create_blob)(args);
    if (args->blob_mem != VIRGL_RENDERER_BLOB_MEM_HOST3D) return -EINVAL;
    return guarded([&] { return state().component.create_blob(args->ctx_id, args->res_handle, args->size); });
}

int virgl_renderer_resource_map(uint32_t resource, void **address, uint64_t *size) {
    if (!state().component.owns_resource(resource)) return APIR_REAL(virgl_renderer_resource_map)(resource, address, size);
    return state().component.map_blob(resource, address, size);
}

// Of virglrenderer 1.2 and later; QEMU falls back to resource_map on -EOPNOTSUPP.
APIR_EXPORT int virgl_renderer_resource_map_fixed(uint32_t resource, void *address) {
    if (state().component.owns_resource(resource)) return state().component.map_blob_at(resource, address);
    static const auto real = reinterpret_cast<int (*)(uint32_t, void *)>(find_real_function("virgl_renderer_resource_map_fixed"));
    return real == nullptr ? -EOPNOTSUPP : real(resource, address);
}

int virgl_renderer_resource_unmap(uint32_t resource) {
    if (!state().component.owns_resource(resource)) return APIR_REAL(virgl_renderer_resource_unmap)(resource);
    state().component.unmap_blob(resource);
    return 0; // the context's memory stays mapped as a whole
}

int virgl_renderer_resource_get_map_info(uint32_t resource, uint32_t *info) {
    if (!state().component.owns_resource(resource)) return APIR_REAL(virgl_renderer_resource_get_map_info)(resource, info);
    *info = VIRGL_RENDERER_MAP_CACHE_CACHED;
    return 0;
}

int virgl_renderer_resource_get_info(int resource, virgl_renderer_resource_info *info) {
    if (!state().component.owns_resource(static_cast<uint32_t>(resource)))
        return APIR_REAL(virgl_renderer_resource_get_info)(resource, info);
    *info = {};
    info->handle = static_cast<uint32_t>(resource);
    info->fd = -1;
    return 0;
}

int virgl_renderer_resource_get_info_ext(int resource, virgl_renderer_resource_info_ext *info) {
    if (!state().component.owns_resource(static_cast<uint32_t>(resource)))
        return APIR_REAL(virgl_renderer_resource_get_info_ext)(resource, info);
    *info = {};
    info->version = VIRGL_RENDERER_RESOURCE_INFO_EXT_VERSION;
    info->base.handle = static_cast<uint32_t>(resource);
    info->base.fd = -1;
    return 0;
}

int virgl_renderer_resource_attach_iov(int resource, iovec *iov, int count) {
    if (state().component.owns_resource(static_cast<uint32_t>(resource))) return -EINVAL;
    return APIR_REAL(virgl_renderer_resource_attach_iov)(resource, iov, count);
}

void virgl_renderer_resource_detach_iov(int resource, iovec **iov, int *count) {
    if (!state().component.owns_resource(static_cast<uint32_t>(resource)))
        return APIR_REAL(virgl_renderer_resource_detach_iov)(resource, iov, count);
    if (iov != nullptr) *iov = nullptr;
    if (count != nullptr) *count = 0;
}

void virgl_renderer_resource_unref(uint32_t resource) {
    if (!state().component.owns_resource(resource)) return APIR_REAL(virgl_renderer_resource_unref)(resource);
    guarded([&] { return state().component.remove_blob(resource), 0; });
}

void virgl_renderer_ctx_attach_resource(int context, int resource) {
    Component &component = state().component;
    if (component.owns_context(static_cast<uint32_t>(context)) || component.owns_resource(static_cast<uint32_t>(resource))) return;
    APIR_REAL(virgl_renderer_ctx_attach_resource)(context, resource);
}

void virgl_renderer_ctx_detach_resource(int context, int resource) {
    Component &component = state().component;
    if (component.owns_context(static_cast<uint32_t>(context)) || component.owns_resource(static_cast<uint32_t>(resource))) return;
    APIR_REAL(virgl_renderer_ctx_detach_resource)(context, resource);
}

int virgl_renderer_submit_cmd(void *command, int context, int words) {
    if (!state().component.owns_context(static_cast<uint32_t>(context)))
        return APIR_REAL(virgl_renderer_submit_cmd)(command, context, words);
    if (words < 0) return EINVAL;
    return -guarded(
        [&] { return state().component.submit(static_cast<uint32_t>(context), command, static_cast<size_t>(words) * 4); });
}

void virgl_renderer_reset(void) {
    State &ours = state();
    ours.fences.clear();
    ours.refused.clear();
    guarded([&] { return ours.component.reset(false), 0; });
    APIR_REAL(virgl_renderer_reset)();
}

void virgl_renderer_cleanup(void *cookie) {
    State &ours = state();
    ours.fences.clear();
    ours.refused.clear();
    guarded([&] { return ours.component.reset(true), 0; });
    APIR_REAL(virgl_renderer_cleanup)(cookie);
}

// For a hypervisor that configures a context itself, instead of by environment variables. 0, or -1: no such context.
APIR_EXPORT int virgl_apir_configure_kv(uint32_t context, const char *key, const char *value) {
    return guarded([&] { return state().component.configure(context, key, value); }) == 0 ? 0 : -1;
}

// GLib's: QEMU appends the capsets that it offers, one by one. Behind Venus's ours is put, when that was asked for.
APIR_EXPORT void *g_array_append_vals(void *array, const void *data, unsigned count) {
    static const auto real = reinterpret_cast<void *(*)(void *, const void *, unsigned)>(real_function("g_array_append_vals"));
    void *result = real(array, data, count);
    static const bool wanted = asks_for_capset();
    if (!wanted || count != 1) return result;
    Dl_info caller{};
    if (dladdr(APIR_CALLER, &caller) == 0 || caller.dli_fname == nullptr ||
        std::strstr(caller.dli_fname, "virtio-gpu-gl") == nullptr)
        return result;
    // All arrays of that module hold u32.
    uint32_t capset = 0;
    std::memcpy(&capset, data, sizeof capset);
    if (capset != apir::venus_capset) return result;
    state().appended = true;
    capset = apir::apir_capset;
    return real(array, &capset, 1);
}
}
