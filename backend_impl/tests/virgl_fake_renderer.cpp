// Stands in for virglrenderer and GLib behind the preload: says what reached it.
#include <cstdint>
#include <cstring>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
std::vector<uint32_t> appended;
int passed = 0;
} // namespace

// Calls that were passed on since the last question.
EXPORT int fake_passed() {
    int count = passed;
    passed = 0;
    return count;
}

__attribute__((visibility("default"))) const std::vector<uint32_t> &fake_appended() { return appended; }

EXPORT void *g_array_append_vals(void *array, const void *data, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        uint32_t value = 0;
        std::memcpy(&value, static_cast<const uint32_t *>(data) + i, sizeof value);
        appended.push_back(value);
    }
    return array;
}

EXPORT int virgl_renderer_init(void *, int, void *) { return ++passed, 0; }
EXPORT void virgl_renderer_poll() { ++passed; }
EXPORT void virgl_renderer_get_cap_set(uint32_t set, uint32_t *version, uint32_t *size) {
    ++passed;
    *version = 0;
    *size = set == 4 ? 160 : 0;
}
EXPORT void virgl_renderer_fill_caps(uint32_t, uint32_t, void *) { ++passed; }
EXPORT int virgl_renderer_context_create_with_flags(uint32_t, uint32_t, uint32_t, const char *) { return ++passed, 0; }
EXPORT void virgl_renderer_context_destroy(uint32_t) { ++passed; }
EXPORT int virgl_renderer_context_create_fence(uint32_t, uint32_t, uint32_t, uint64_t) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_create_blob(const void *) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_map(uint32_t, void **, uint64_t *) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_unmap(uint32_t) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_get_map_info(uint32_t, uint32_t *) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_get_info(int, void *) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_get_info_ext(int, void *) { return ++passed, 0; }
EXPORT int virgl_renderer_resource_attach_iov(int, void *, int) { return ++passed, 0; }
EXPORT void virgl_renderer_resource_detach_iov(int, void *, int *) { ++passed; }
EXPORT void virgl_renderer_resource_unref(uint32_t) { ++passed; }
EXPORT void virgl_renderer_ctx_attach_resource(int, int) { ++passed; }
EXPORT void virgl_renderer_ctx_detach_resource(int, int) { ++passed; }
EXPORT int virgl_renderer_submit_cmd(void *, int, int) { return ++passed, 0; }
EXPORT void virgl_renderer_reset() { ++passed; }
EXPORT void virgl_renderer_cleanup(void *) { ++passed; }
// A function of some later version.
EXPORT void virgl_renderer_unheard_of() { ++passed; }
