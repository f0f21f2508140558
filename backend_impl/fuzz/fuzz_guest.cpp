// Target: the guest library against a hostile host. Input: a byte per command says how it is answered (as a good host does, with bytes of
// the input and any code, twice, late, or never), and where those bytes are. A program then does what programs do with a device.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "random.hpp"
#include "target.hpp"
#include "tests/guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

enum class Answer { good, garbled, twice, late, never };

class HostileHost : public ScriptedHost {
  public:
    HostileHost(const uint8_t *data, size_t size) : data_(data, data + size) { takes_pointers = size > 1 && data[1] % 2 == 0; }

    void on_blob(uint32_t resource, const Blob &blob) override {
        std::lock_guard lock(mutex_);
        pages_[resource] = blob;
        ScriptedHost::on_blob(resource, blob);
    }
    void on_blob_closed(uint32_t resource) override {
        std::lock_guard lock(mutex_);
        pages_.erase(resource);
        ScriptedHost::on_blob_closed(resource);
    }

    void on_command(const std::vector<uint8_t> &command) override {
        std::vector<uint8_t> late;
        late.swap(late_);
        CommandHeader header;
        Reader reader(command.data(), command.size());
        read(reader, header);
        switch (answer_of(header)) {
        case Answer::good: ScriptedHost::on_command(command); break;
        case Answer::garbled: garble(header.reply_resource); break;
        case Answer::twice: ScriptedHost::on_command(command), garble(header.reply_resource); break;
        case Answer::late: late_ = command; break;
        case Answer::never: break;
        }
        if (!late.empty()) ScriptedHost::on_command(late);
    }

  private:
    uint8_t byte() { return at_ < data_.size() ? data_[at_++] : uint8_t{0}; }

    // Only Forward is left without an answer: the waits for the others are constants of seconds.
    Answer answer_of(const CommandHeader &header) {
        uint8_t chosen = byte();
        bool forward = header.type % venus_command_offset == static_cast<uint32_t>(CommandType::forward);
        if (chosen < 160) return Answer::good;
        if (chosen < 230 || !forward) return Answer::garbled;
        return chosen < 245 ? Answer::twice : chosen < 252 ? Answer::late : Answer::never;
    }

    void garble(uint32_t resource) {
        uint32_t code = byte() % 12;
        size_t length = byte();
        std::lock_guard lock(mutex_);
        auto page = pages_.find(resource);
        if (page == pages_.end()) return;
        size_t count = std::min({length, data_.size() - std::min(at_, data_.size()), size_t{reply_page_size - 4}});
        if (count != 0) std::memcpy(page->second.memory + 4, data_.data() + at_, count);
        at_ += count;
        reinterpret_cast<std::atomic<uint32_t> *>(page->second.memory)->store(code + 1, std::memory_order_release);
    }

    std::mutex mutex_;
    std::map<uint32_t, Blob> pages_;
    std::vector<uint8_t> data_;
    size_t at_ = 2;
    std::vector<uint8_t> late_;
};

void use(ggml_backend_dev_t device) {
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device);
    if (type == nullptr) return;
    size_t free_bytes = 0, total_bytes = 0;
    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
    Context memory = context();
    ggml_tensor *a = ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 16);
    ggml_tensor *sum = ggml_add(memory.get(), a, a);
    (void)ggml_backend_dev_supports_op(device, sum);
    (void)ggml_backend_buft_get_alloc_size(type, sum);
    Buffer buffer{ggml_backend_buft_alloc_buffer(type, 4096), ggml_backend_buffer_free};
    if (buffer == nullptr) return;
    auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer.get()));
    if (ggml_backend_tensor_alloc(buffer.get(), a, base) != GGML_STATUS_SUCCESS) return;
    if (ggml_backend_tensor_alloc(buffer.get(), sum, base + 64) != GGML_STATUS_SUCCESS) return;
    float numbers[16] = {1, 2, 3};
    ggml_backend_tensor_set(a, numbers, 0, sizeof numbers);
    ggml_cgraph *graph = ggml_new_graph(memory.get());
    ggml_build_forward_expand(graph, sum);
    Backend backend{ggml_backend_dev_init(device, nullptr), ggml_backend_free};
    if (backend == nullptr) return;
    for (int i = 0; i < 3; ++i) (void)ggml_backend_graph_compute(backend.get(), graph);
    ggml_backend_tensor_get(sum, numbers, 0, sizeof numbers);
    ggml_backend_buffer_clear(buffer.get(), 1);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "20"), graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "20");
    CapturedLog log;
    HostileHost host(data, size);
    std::unique_ptr<Registry> registry = set_up(host);
    if (registry != nullptr && !registry->devices.empty()) use(registry->device());
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    // Long enough for a session, mostly of good answers.
    apir::fuzz::Random random(seed);
    for (; size < 64; ++size) data[size] = 0;
    for (uint64_t i = random.below(4); i > 0; --i) data[2 + random.below(size - 2)] = static_cast<uint8_t>(160 + random.below(96));
    return random.one_in(2) ? size : std::max<size_t>(2, apir::fuzz::mutate_plainly(data, size, most, seed));
}
