// Fills a fake struct with distinct functions, calls each public accessor of libggml-base and looks which was called.
#include "backend_interface.hpp"
#include "probe.hpp"

#include <array>
#include <functional>
#include <new>
#include <utility>

namespace apir::abi {

namespace {

constexpr size_t word_count = 32;
constexpr size_t nothing = word_count;
size_t called = nothing;

// What every fake function returns: a valid address, true as bool (its lowest byte is 1), large as a size.
alignas(256) char scratch[512];
uintptr_t answer() { return reinterpret_cast<uintptr_t>(scratch) | 1; }

template <size_t Word> uintptr_t fake() {
    called = Word;
    return answer();
}

// A struct whose words are all functions, each remembering its own place. Data members are read back as addresses.
using Words = std::array<void *, word_count>;

template <size_t... Word> Words make_words(std::index_sequence<Word...>) {
    return {reinterpret_cast<void *>(&fake<Word>)...};
}
Words fake_words() { return make_words(std::make_index_sequence<word_count>{}); }

size_t place_of(const void *value, const Words &words) {
    for (size_t i = 0; i < word_count; ++i) {
        if (words[i] == value) return i;
    }
    return nothing;
}

std::string described(size_t expected, size_t found) {
    char text[96];
    if (found == nothing) {
        std::snprintf(text, sizeof text, "expected at 0x%02zx, the library reached no slot", expected);
    } else {
        std::snprintf(text, sizeof text, "expected at 0x%02zx, the library uses 0x%02zx", expected, found * 8);
    }
    return text;
}

class Prober {
  public:
    explicit Prober(Findings &findings) : findings_(findings) {}

    // `access` calls one public function; it has to reach the word at `offset`.
    void function(const char *name, size_t offset, const std::function<void()> &access) {
        set_current(name);
        called = nothing;
        access();
        judge(name, offset, called);
    }

    // `read` returns a data member of a struct made of `words`.
    void member(const char *name, size_t offset, const Words &words, const std::function<const void *()> &read) {
        set_current(name);
        judge(name, offset, place_of(read(), words));
    }

    void judge(const char *name, size_t offset, size_t found) {
        if (found * 8 == offset) {
            findings_.proved(name, offset);
        } else {
            findings_.moved(name, described(offset, found));
        }
    }

    Findings &findings() { return findings_; }

  private:
    Findings &findings_;
};

// A tensor that passes the accessors' own checks.
ggml_tensor fake_tensor(void *buffer) {
    ggml_tensor tensor = {};
    tensor.type = GGML_TYPE_F32;
    tensor.buffer = static_cast<ggml_backend_buffer_t>(buffer);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        tensor.ne[i] = i == 0 ? 4 : 1;
        tensor.nb[i] = i == 0 ? 4 : 16;
    }
    tensor.data = scratch;
    return tensor;
}

// Name and offset of a function and of a data member, for short: SLOT(buffer, clear) is "buffer.clear", 0x48.
#define SLOT(type, slot) #type "." #slot, offsetof(type##_struct, iface.slot)
#define MEMBER(type, member) #type "." #member, offsetof(type##_struct, member)
using buffer_type_struct = ggml_backend_buffer_type;
using buffer_struct = ggml_backend_buffer;
using backend_struct = ggml_backend;
using device_struct = ggml_backend_device;
using registry_struct = ggml_backend_reg;

void probe_buffer_type(Prober &prober) {
    Words words = fake_words();
    auto *buft = reinterpret_cast<ggml_backend_buffer_type_t>(words.data());
    ggml_tensor tensor = fake_tensor(nullptr);
    ggml_tensor *tensors[] = {&tensor};
    prober.function(SLOT(buffer_type, get_name), [&] { ggml_backend_buft_name(buft); });
    prober.function(SLOT(buffer_type, alloc_buffer), [&] { ggml_backend_buft_alloc_buffer(buft, 64); });
    prober.function(SLOT(buffer_type, get_alignment), [&] { ggml_backend_buft_get_alignment(buft); });
    prober.function(SLOT(buffer_type, get_max_size), [&] { ggml_backend_buft_get_max_size(buft); });
    prober.function(SLOT(buffer_type, get_alloc_size), [&] { ggml_backend_buft_get_alloc_size(buft, &tensor); });
    prober.function(SLOT(buffer_type, is_host), [&] { ggml_backend_buft_is_host(buft); });
#if APIR_GGML_API >= 3
    prober.function(SLOT(buffer_type, alloc_buffer_n), [&] { ggml_backend_buft_alloc_buffer_n(buft, tensors, 1); });
    prober.function(SLOT(buffer_type, get_alloc_size_n),
                    [&] { ggml_backend_buft_get_alloc_size_n(buft, tensors, 1); });
#else
    static_cast<void>(tensors);
#endif
    prober.member(MEMBER(buffer_type, device), words, [&] { return ggml_backend_buft_get_device(buft); });
    prober.findings().between(MEMBER(buffer_type, context));
}

void probe_buffer_data(Prober &prober) {
    Words words = fake_words();
    auto *buffer = reinterpret_cast<ggml_backend_buffer_t>(words.data());
    ggml_tensor tensor = fake_tensor(buffer);
    ggml_tensor other = fake_tensor(buffer);
    char bytes[64] = {};
    prober.function(SLOT(buffer, get_base), [&] { ggml_backend_buffer_get_base(buffer); });
    prober.function(SLOT(buffer, init_tensor), [&] { ggml_backend_buffer_init_tensor(buffer, &tensor); });
    prober.function(SLOT(buffer, memset_tensor), [&] { ggml_backend_tensor_memset(&tensor, 0, 0, 4); });
    prober.function(SLOT(buffer, set_tensor), [&] { ggml_backend_tensor_set(&tensor, bytes, 0, 4); });
    prober.function(SLOT(buffer, get_tensor), [&] { ggml_backend_tensor_get(&tensor, bytes, 0, 4); });
    prober.function(SLOT(buffer, set_tensor_2d), [&] { ggml_backend_tensor_set_2d(&tensor, bytes, 0, 4, 2, 8, 4); });
    prober.function(SLOT(buffer, get_tensor_2d), [&] { ggml_backend_tensor_get_2d(&tensor, bytes, 0, 4, 2, 8, 4); });
    prober.function(SLOT(buffer, clear), [&] { ggml_backend_buffer_clear(buffer, 0); });
    prober.function(SLOT(buffer, reset), [&] { ggml_backend_buffer_reset(buffer); });
#if APIR_GGML_GENERATION > 0
    const size_t nothing = 0, four = 4;
    ggml_tensor *targets[] = {&tensor};
    const ggml_tensor *sources[] = {&other};
    prober.function(SLOT(buffer, set_tensor_n), [&] { ggml_backend_tensor_set_n(targets, bytes, &nothing, &four, &nothing, 1); });
    prober.function(SLOT(buffer, get_tensor_n), [&] { ggml_backend_tensor_get_n(sources, bytes, &nothing, &four, &nothing, 1); });
#endif
    prober.member(MEMBER(buffer, buft), words, [&] { return ggml_backend_buffer_get_type(buffer); });
    prober.member(MEMBER(buffer, size), words,
                  [&] { return reinterpret_cast<const void *>(ggml_backend_buffer_get_size(buffer)); });

    // A copy asks both buffer types first whether they are the host's memory: those have to say no.
    Words type_words{};
    type_words[offsetof(ggml_backend_buffer_type, iface.is_host) / 8] =
        reinterpret_cast<void *>(+[](ggml_backend_buffer_type_t) { return false; });
    words[offsetof(ggml_backend_buffer, buft) / 8] = type_words.data();
    prober.function(SLOT(buffer, cpy_tensor), [&] { ggml_backend_tensor_copy(&other, &tensor); });
#if APIR_GGML_GENERATION > 0
    prober.function(SLOT(buffer, cpy_tensor_n), [&] { ggml_backend_tensor_copy_n(sources, targets, 1); });
#endif

    // usage is an enum of 4 bytes: a value of its own shows where it is read.
    words[offsetof(ggml_backend_buffer, usage) / 8] = reinterpret_cast<void *>(uintptr_t{GGML_BACKEND_BUFFER_USAGE_COMPUTE});
    set_current("buffer.usage");
    bool found = ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_COMPUTE;
    prober.judge(MEMBER(buffer, usage), found ? offsetof(ggml_backend_buffer, usage) / 8 : nothing);
}

// The library's own constructor takes the interface by value: it shows the struct's size and where the context lands.
void probe_buffer_life(Prober &prober) {
    set_current("buffer.context");
    BufferInterface iface = {};
    iface.free_buffer = [](ggml_backend_buffer_t) { called = 0; };
    auto *buft = reinterpret_cast<ggml_backend_buffer_type_t>(scratch);
    ggml_backend_buffer_t buffer = ggml_backend_buffer_init(buft, iface, scratch + 64, 77);
    bool same = buffer->context == scratch + 64 && buffer->buft == buft && buffer->size == 77;
    prober.judge(MEMBER(buffer, context), same ? offsetof(ggml_backend_buffer, context) / 8 : nothing);
    prober.function(SLOT(buffer, free_buffer), [&] { ggml_backend_buffer_free(buffer); });
}

void probe_backend_transfers(Prober &prober) {
    Words words = fake_words();
    auto *backend = reinterpret_cast<ggml_backend_t>(words.data());
    Words buffer_words = fake_words();
    ggml_tensor tensor = fake_tensor(buffer_words.data());
    ggml_tensor other = fake_tensor(buffer_words.data());
    char bytes[64] = {};
    prober.member(MEMBER(backend, guid), words, [&] { return ggml_backend_guid(backend); });
    prober.function(SLOT(backend, get_name), [&] { ggml_backend_name(backend); });
    prober.function(SLOT(backend, free), [&] { ggml_backend_free(backend); });
    prober.function(SLOT(backend, set_tensor_async),
                    [&] { ggml_backend_tensor_set_async(backend, &tensor, bytes, 0, 4); });
    prober.function(SLOT(backend, get_tensor_async),
                    [&] { ggml_backend_tensor_get_async(backend, &tensor, bytes, 0, 4); });
    prober.function(SLOT(backend, set_tensor_2d_async),
                    [&] { ggml_backend_tensor_set_2d_async(backend, &tensor, bytes, 0, 4, 2, 8, 4); });
    prober.function(SLOT(backend, get_tensor_2d_async),
                    [&] { ggml_backend_tensor_get_2d_async(backend, &tensor, bytes, 0, 4, 2, 8, 4); });
    prober.function(SLOT(backend, cpy_tensor_async),
                    [&] { ggml_backend_tensor_copy_async(backend, backend, &other, &tensor); });
    prober.function(SLOT(backend, synchronize), [&] { ggml_backend_synchronize(backend); });
    prober.member(MEMBER(backend, device), words, [&] { return ggml_backend_get_device(backend); });
    prober.findings().between(MEMBER(backend, context));
}

void probe_backend_graphs(Prober &prober) {
    Words words = fake_words();
    auto *backend = reinterpret_cast<ggml_backend_t>(words.data());
    auto *graph = reinterpret_cast<ggml_cgraph *>(scratch);
    auto *event = reinterpret_cast<ggml_backend_event_t>(scratch);
    prober.function(SLOT(backend, graph_plan_create), [&] { ggml_backend_graph_plan_create(backend, graph); });
    prober.function(SLOT(backend, graph_plan_free), [&] { ggml_backend_graph_plan_free(backend, scratch); });
    prober.findings().between(SLOT(backend, graph_plan_update));
    prober.function(SLOT(backend, graph_plan_compute), [&] { ggml_backend_graph_plan_compute(backend, scratch); });
    prober.function(SLOT(backend, graph_compute), [&] { ggml_backend_graph_compute_async(backend, graph); });
    prober.function(SLOT(backend, event_record), [&] { ggml_backend_event_record(event, backend); });
    prober.function(SLOT(backend, event_wait), [&] { ggml_backend_event_wait(backend, event); });
    prober.findings().between(SLOT(backend, graph_optimize));
}

void probe_device(Prober &prober) {
    Words words = fake_words();
    auto *device = reinterpret_cast<ggml_backend_dev_t>(words.data());
    auto *buft = reinterpret_cast<ggml_backend_buffer_type_t>(scratch);
    ggml_tensor tensor = fake_tensor(nullptr);
    ggml_backend_dev_props props;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    prober.function(SLOT(device, get_name), [&] { ggml_backend_dev_name(device); });
    prober.function(SLOT(device, get_description), [&] { ggml_backend_dev_description(device); });
    prober.function(SLOT(device, get_memory), [&] { ggml_backend_dev_memory(device, &free_bytes, &total_bytes); });
    prober.function(SLOT(device, get_type), [&] { ggml_backend_dev_type(device); });
    prober.function(SLOT(device, get_props), [&] { ggml_backend_dev_get_props(device, &props); });
    prober.function(SLOT(device, init_backend), [&] { ggml_backend_dev_init(device, nullptr); });
    prober.function(SLOT(device, get_buffer_type), [&] { ggml_backend_dev_buffer_type(device); });
    prober.function(SLOT(device, get_host_buffer_type), [&] { ggml_backend_dev_host_buffer_type(device); });
    prober.function(SLOT(device, buffer_from_host_ptr),
                    [&] { ggml_backend_dev_buffer_from_host_ptr(device, scratch, 64, 64); });
    prober.function(SLOT(device, supports_op), [&] { ggml_backend_dev_supports_op(device, &tensor); });
    prober.function(SLOT(device, supports_buft), [&] { ggml_backend_dev_supports_buft(device, buft); });
    prober.function(SLOT(device, offload_op), [&] { ggml_backend_dev_offload_op(device, &tensor); });
    prober.function(SLOT(device, event_new), [&] { ggml_backend_event_new(device); });
    ggml_backend_event event = {device, nullptr};
    prober.function(SLOT(device, event_free), [&] { ggml_backend_event_free(&event); });
    prober.function(SLOT(device, event_synchronize), [&] { ggml_backend_event_synchronize(&event); });
    prober.member(MEMBER(device, reg), words, [&] { return ggml_backend_dev_backend_reg(device); });
    prober.findings().between(MEMBER(device, context));
}

void probe_registry(Prober &prober) {
    Words words = fake_words();
    auto *registry = reinterpret_cast<ggml_backend_reg_t>(words.data());
    prober.function(SLOT(registry, get_name), [&] { ggml_backend_reg_name(registry); });
    prober.function(SLOT(registry, get_device_count), [&] { ggml_backend_reg_dev_count(registry); });
    prober.function(SLOT(registry, get_device), [&] { ggml_backend_reg_dev_get(registry, 0); });
    prober.function(SLOT(registry, get_proc_address), [&] { ggml_backend_reg_get_proc_address(registry, "x"); });
    prober.findings().between(MEMBER(registry, context));
}

} // namespace

void probe_slots(Findings &findings) {
    Prober prober(findings);
    probe_buffer_type(prober);
    probe_buffer_data(prober);
    probe_buffer_life(prober);
    probe_backend_transfers(prober);
    probe_backend_graphs(prober);
    probe_device(prober);
    probe_registry(prober);
}

} // namespace apir::abi
