// What AddressSanitizer does not have to tell of a program with ggml-cpu in it.

// Tensors of a guest may overlap as it likes: then ggml copies within its buffer from where it is writing, and the numbers are its own fault.
extern "C" __attribute__((visibility("default"))) const char *__asan_default_suppressions();
extern "C" const char *__asan_default_suppressions() { return "interceptor_via_lib:libggml-cpu\n"; }
