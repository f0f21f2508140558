#include "host_world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>

#include <apir_gen.hpp>
#include <ggml.h>


namespace apir::fuzz {
namespace {

constexpr uint32_t context = 1;
constexpr size_t page = 4096;
constexpr size_t guard = size_t{2} << 30; // no memory: addresses

[[noreturn]] void give_up(const std::string &text, int status = unable_status) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(status);
}

HostWorld *the_world = nullptr; // the callbacks of the C ABI know a context by its number only

TensorRecord f32_tensor(uint64_t id, uint64_t buffer, uint64_t data, uint32_t n0, uint32_t n1) {
    TensorRecord tensor;
    tensor.id = id, tensor.type = GGML_TYPE_F32, tensor.buffer = buffer, tensor.data = data;
    uint32_t ne[4] = {n0, n1, 1, 1}, nb[4] = {4, 4 * n0, 4 * n0 * n1, 4 * n0 * n1};
    std::memcpy(tensor.ne, ne, sizeof ne);
    std::memcpy(tensor.nb, nb, sizeof nb);
    return tensor;
}

// The product of a (5 rows of 8) and b (3 rows of 8), plus itself.
Graph known_graph(uint64_t buffer) {
    Graph graph;
    graph.tensors = {f32_tensor(1, buffer, 0, 8, 5), f32_tensor(2, buffer, 256, 8, 3), f32_tensor(3, buffer, 512, 5, 3),
                     f32_tensor(4, buffer, 768, 5, 3)};
    graph.tensors[2].op = GGML_OP_MUL_MAT, graph.tensors[3].op = GGML_OP_ADD;
    graph.tensors[2].src[0] = 1, graph.tensors[2].src[1] = 2, graph.tensors[3].src[0] = graph.tensors[3].src[1] = 3;
    graph.tensors[2].flags = graph.tensors[3].flags = static_cast<int32_t>(tensor_flag_compute);
    graph.nodes = {3, 4};
    return graph;
}

template <typename Request> Bytes bytes_of(const Request &request) {
    Bytes bytes(8192);
    Writer writer(bytes.data(), bytes.size());
    write(writer, request);
    bytes.resize(writer.size());
    return bytes;
}

uint32_t number(Call call) { return static_cast<uint32_t>(call); }

bool makes_buffers(uint32_t call) {
    return call == number(Call::device_buffer_from_ptr) || call == number(Call::buffer_type_alloc_buffer) || call == number(Call::alloc_with_base);
}

// Whether a batch may make or free buffers: its replies but the last one's are not told.
bool changes_buffers(Reader &batch) {
    BatchRequest head;
    if (!read(batch, head)) return false;
    for (uint32_t i = 0; i < head.count; ++i) {
        BatchedCall item;
        if (!read(batch, item) || batch.bytes(item.size) == nullptr) return false;
        if (makes_buffers(item.call) || item.call == number(Call::buffer_free_buffer)) return true;
    }
    return false;
}

} // namespace

// Memory between addresses that nobody may touch, two GiB on either side: what steps by a wrong stride is seen as well.
struct HostWorld::Guarded {
    explicit Guarded(size_t wanted) : size(wanted), mapped((wanted + page - 1) / page * page + 2 * guard) {
        void *at = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) give_up("no memory");
        start = static_cast<uint8_t *>(at);
        mprotect(start + guard, mapped - 2 * guard, PROT_READ | PROT_WRITE);
    }
    ~Guarded() { munmap(start, mapped); }
    uint8_t *data() const { return start + guard; }

    size_t size, mapped;
    uint8_t *start;
};

HostWorld::HostWorld(const std::string &host_library, std::map<std::string, std::string> config) : config_(std::move(config)) {
    the_world = this;
    void *library = dlopen(host_library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) give_up(dlerror());
    initialize_ = reinterpret_cast<decltype(initialize_)>(dlsym(library, "apir_backend_initialize"));
    deinit_ = reinterpret_cast<decltype(deinit_)>(dlsym(library, "apir_backend_deinit"));
    dispatcher_ = reinterpret_cast<decltype(dispatcher_)>(dlsym(library, "apir_backend_dispatcher"));
    progress_ = reinterpret_cast<decltype(progress_)>(dlsym(library, "apir_backend_progress"));
    ending_ = reinterpret_cast<decltype(ending_)>(dlsym(library, "apir_backend_ending"));
    // Nobody is at the other end of a pipe here.
    config_.emplace("ggml.pipe_wait_ms", "1");
    if (initialize_ == nullptr || deinit_ == nullptr || dispatcher_ == nullptr) give_up(host_library + " is no host library");
    const std::pair<uint32_t, size_t> sizes[] = {
        {reply_resource, 16384}, {data_resource, data_bytes}, {memory_resource, memory_bytes}, {small_resource, 64}};
    for (auto [resource, size] : sizes) resources_[resource] = std::make_unique<Guarded>(size);
    start();
}

HostWorld::~HostWorld() {
    deinit_(context);
    the_world = nullptr;
}

void HostWorld::renew() {
    deinit_(context);
    start();
}

void HostWorld::start() {
    if (uint32_t code = initialize_(context, &callbacks_); code != static_cast<uint32_t>(InitCode::success))
        give_up("the host library cannot be initialised: " + std::to_string(code), failed_status_);
    // Else it has no pipes.
    if (progress_ != nullptr) progress_(context, &beats_), ending_(context, &never_ends_);
    make_buffers();
    std::vector<float> result;
    if (!compute_known(result)) give_up("the known graph cannot be computed", failed_status_);
    if (known_result_.empty()) known_result_ = result;
    if (result != known_result_) give_up("a fresh host library computes other numbers", failed_status_);
    failed_status_ = wrong_status;
}

void HostWorld::make_buffers() {
    handles_ = Handles{};
    handles_.type = ask<DeviceGetBufferTypeReply>(number(Call::device_get_buffer_type), DeviceGetBufferTypeRequest{}).buft;
    memory_is_shared_ = ask<DeviceGetPropsReply>(number(Call::device_get_props), DeviceGetPropsRequest{}).buffer_from_host_ptr;
    auto allocated = [&](uint64_t size) {
        BufferTypeAllocBufferRequest request{handles_.type, size};
        return ask<BufferTypeAllocBufferReply>(number(Call::buffer_type_alloc_buffer), request).buffer;
    };
    DeviceBufferFromPtrRequest shared{memory_resource, memory_bytes, memory_bytes};
    if (memory_is_shared_) handles_.home = ask<DeviceBufferFromPtrReply>(number(Call::device_buffer_from_ptr), shared).buffer;
    if (handles_.home == 0) memory_is_shared_ = false, handles_.home = allocated(memory_bytes);
    handles_.pool = allocated(memory_bytes);
    handles_.known = allocated(page);
    handles_.stale = allocated(page);
    if (handles_.home == 0 || handles_.pool == 0 || handles_.known == 0 || handles_.stale == 0)
        give_up("no buffers", failed_status_);
    dispatch(number(Call::buffer_free_buffer), bytes_of(BufferFreeBufferRequest{handles_.stale}));
}

uint32_t HostWorld::dispatch(uint32_t call, const Bytes &payload) {
    Guarded &reply = *resources_.at(reply_resource);
    char *enc = reinterpret_cast<char *>(reply.data()) + 4;
    const char *enc_end = enc + reply.size - 4;
    char *after = nullptr;
    // Just behind its allocation: a sanitizer sees every byte too many.
    std::unique_ptr<char[]> exact(new char[payload.size()]);
    if (!payload.empty()) std::memcpy(exact.get(), payload.data(), payload.size());
    uint32_t code = dispatcher_(context, &callbacks_, call, exact.get(), exact.get() + payload.size(), enc, enc_end, &after);
    if (after < enc || after > enc_end) std::abort();
    reply_.assign(enc, after);
    return code;
}

template <typename Reply, typename Request> Reply HostWorld::ask(uint32_t call, const Request &request) {
    Reply reply;
    if (dispatch(call, bytes_of(request)) != 0) return reply;
    Reader reader(reply_.data(), reply_.size());
    read(reader, reply);
    return reply;
}

// At the end, where what comes behind it may not be touched. Where the memory is not shared it is sent.
void HostWorld::fill_memory(const Bytes &content) {
    if (content.empty() || content.size() > memory_bytes) return;
    uint64_t start = memory_bytes - content.size();
    if (memory_is_shared_) {
        std::memcpy(resources_.at(memory_resource)->data() + start, content.data(), content.size());
        return;
    }
    std::memcpy(resources_.at(data_resource)->data(), content.data(), content.size());
    TensorRecord bytes = f32_tensor(1, handles_.home, start, static_cast<uint32_t>(content.size()), 1);
    bytes.type = GGML_TYPE_I8, bytes.nb[0] = 1;
    bytes.nb[1] = bytes.nb[2] = bytes.nb[3] = static_cast<uint32_t>(content.size());
    dispatch(number(Call::buffer_set_tensor), bytes_of(BufferSetTensorRequest{handles_.home, bytes, data_resource, 0, content.size()}));
}

Outcome HostWorld::run(const Message &message) {
    fill_memory(message.memory);
    size_t size = std::min<size_t>(message.data.size(), data_bytes);
    if (size != 0) std::memcpy(resources_.at(data_resource)->data(), message.data.data(), size);
    Outcome outcome = dispatch(message.call, message.payload) == 0 ? Outcome::done : Outcome::refused;
    undo(message, outcome);
    return outcome;
}

// Buffers come and go by four calls, which may be wrapped; a batch that fails has carried out what stands before.
void HostWorld::undo(const Message &message, Outcome outcome) {
    uint32_t call = message.call;
    Reader payload(message.payload.data(), message.payload.size());
    OnDeviceRequest address;
    if (call == number(Call::on_device) && read(payload, address)) call = address.call;
    if (call == number(Call::batch) && changes_buffers(payload)) return renew();
    if (outcome == Outcome::refused) return;
    bool makes = makes_buffers(call);
    uint64_t made = 0;
    if (makes && reply_.size() >= sizeof made) std::memcpy(&made, reply_.data(), sizeof made);
    if (made != 0 && dispatch(number(Call::buffer_free_buffer), bytes_of(BufferFreeBufferRequest{made})) != 0) std::abort();
    if (call == number(Call::buffer_free_buffer)) renew();
}

bool HostWorld::compute_known(std::vector<float> &result) {
    Graph graph = known_graph(handles_.known);
    uint8_t *data = resources_.at(data_resource)->data();
    for (int i : {0, 1}) {
        float values[40];
        for (int k = 0; k < 40; ++k) values[k] = static_cast<float>(k * (i + 2) % 17) - 7.5f;
        uint64_t size = i == 0 ? 160 : 96;
        std::memcpy(data, values, size);
        BufferSetTensorRequest set{handles_.known, graph.tensors[i], data_resource, 0, size};
        if (dispatch(number(Call::buffer_set_tensor), bytes_of(set)) != 0) return false;
    }
    Bytes bytes = bytes_of(graph);
    std::memcpy(data, bytes.data(), bytes.size());
    BackendGraphComputeRequest compute{data_resource, bytes.size()};
    if (dispatch(number(Call::backend_graph_compute), bytes_of(compute)) != 0 || reply_.size() < 4 || reply_[0] != 0) return false;
    BufferGetTensorRequest get{handles_.known, graph.tensors[3], data_resource, 0, 60};
    if (dispatch(number(Call::buffer_get_tensor), bytes_of(get)) != 0) return false;
    result.resize(15);
    std::memcpy(result.data(), data, 60);
    return true;
}

bool HostWorld::known_graph_works() {
    std::vector<float> result;
    return compute_known(result) && result == known_result_;
}

const char *HostWorld::get_config(uint32_t, const char *key) {
    static std::string size_text;
    constexpr char prefix[] = "apir.resource.size.";
    if (std::strncmp(key, prefix, sizeof prefix - 1) == 0) {
        auto at = the_world->resources_.find(static_cast<uint32_t>(std::strtoul(key + sizeof prefix - 1, nullptr, 10)));
        if (at == the_world->resources_.end()) return nullptr;
        size_text = std::to_string(at->second->size);
        return size_text.c_str();
    }
    auto at = the_world->config_.find(key);
    return at == the_world->config_.end() ? nullptr : at->second.c_str();
}

void *HostWorld::get_shmem_ptr(uint32_t, uint32_t resource) {
    auto at = the_world->resources_.find(resource);
    return at == the_world->resources_.end() ? nullptr : at->second->data();
}

} // namespace apir::fuzz
