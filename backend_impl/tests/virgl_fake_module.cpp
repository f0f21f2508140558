// Stands in for QEMU's virtio-gpu-gl module, by its name and by what it imports.
#include <cstdint>

extern "C" {
void *g_array_append_vals(void *array, const void *data, unsigned count);
void virgl_renderer_get_cap_set(uint32_t set, uint32_t *version, uint32_t *size);
void virgl_renderer_unheard_of();
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void module_append(uint32_t capset) {
    void *array = g_array_append_vals(nullptr, &capset, 1);
    // Kept from being the last call, so that the caller's address is in this module.
    asm volatile("" : : "r"(array));
}

EXPORT void module_ask() {
    uint32_t version = 0;
    uint32_t size = 0;
    virgl_renderer_get_cap_set(2, &version, &size);
    asm volatile("" : : "r"(size));
#ifdef UNHEARD_OF
    virgl_renderer_unheard_of();
#endif
}
