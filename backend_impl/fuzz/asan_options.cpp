// What AddressSanitizer does not have to tell of a target with the host library in it.

// A guest may ask for all memory that the device has; here there is no more than this.
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options();
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1:max_allocation_size_mb=64"; }
