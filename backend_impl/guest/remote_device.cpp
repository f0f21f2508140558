#include "remote_device.hpp"

#include <algorithm>
#include <tuple>

#include "log.hpp"
#include "tensor_encoding.hpp"

// Since API version 3 libggml-base aborts when an op's tensor needs more than ggml_nbytes, unless this says it may. Not in
// the public headers; absent from older libraries.
extern "C" __attribute__((weak)) bool ggml_op_alloc_size_may_expand(enum ggml_op op);

namespace apir::guest {

namespace {

constexpr const char *name_prefix = "[virtgpu] ";
constexpr size_t alignment_limit = size_t{1} << 30;
// What no tensor needs, and what sums of which still count in 64 bits.
constexpr uint64_t largest_need = uint64_t{1} << 46;
constexpr size_t text_reply = 8 + max_string + 1;

// Bytes of the character that UTF-8 has at this place; 0 where there is none, or one that steers a terminal: of C0, or of C1 (0x80 to 0x9f).
size_t printable_at(const std::string &text, size_t at) {
    const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    if (first < 0xc2 || first > 0xf4) return 0;
    constexpr unsigned least[] = {0, 0, 0xa0, 0x800, 0x10000}; // by bytes
    const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned code = first & (0x7fU >> size);
    for (size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    const bool half = code >= 0xd800 && code <= 0xdfff; // of a pair, which UTF-8 has no use for
    return code >= least[size] && code <= 0x10ffff && !half ? size : 0;
}

// Device names come from the other side and go to terminals, and to programs that take them for text.
std::string printable(const std::string &text) {
    std::string shown;
    for (size_t at = 0; at < text.size();) {
        const size_t size = printable_at(text, at);
        if (size == 0) shown += '?';
        else shown.append(text, at, size);
        at += std::max<size_t>(size, 1);
    }
    return shown;
}

Status failed(Call call, const CallResult &result) {
    return Status::failure(std::string(call_name(static_cast<uint32_t>(call))) + ": " + result.text());
}

const char *kind_text(DeviceType type) {
    switch (type) {
    case DeviceType::cpu: return "the host's CPU";
    case DeviceType::gpu: return "the host's GPU";
    case DeviceType::igpu: return "the host's integrated GPU";
    case DeviceType::accel: return "the host's accelerator";
    case DeviceType::meta: return "several devices of the host";
    }
    return "a device of the host";
}

} // namespace

bool RemoteDevice::may_need_more(const ggml_tensor *tensor) {
    switch (tensor->op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE: return true;
    default: break;
    }
    if (ggml_is_quantized(tensor->type)) return true;
    return APIR_GGML_API < 3 || ggml_op_alloc_size_may_expand == nullptr || ggml_op_alloc_size_may_expand(tensor->op);
}

bool DeviceFacts::operator==(const DeviceFacts &other) const {
    auto all = [](const DeviceFacts &each) {
        return std::tie(each.index, each.extensions, each.name, each.description, each.buffer_type_name, each.host_type, each.type, each.takes_pointers,
                        each.mmap_support, each.asynchronous, each.alignment, each.max_size);
    };
    return all(*this) == all(other);
}

size_t RemoteDevice::count(Session &session, std::string &error) {
    DeviceGetCountReply reply;
    CallResult result = session.channel().call(Call::device_get_count, DeviceGetCountRequest{}, reply);
    if (!result.ok()) {
        error = failed(Call::device_get_count, result).text();
        return 0;
    }
    if (reply.count <= 0) {
        error = "the host offers no device";
        return 0;
    }
    return session.has(Extension::devices) ? std::min<size_t>(static_cast<size_t>(reply.count), max_devices) : 1;
}

std::unique_ptr<RemoteDevice> RemoteDevice::ask(Session &session, uint32_t index, std::string &error) {
    std::unique_ptr<RemoteDevice> device(new RemoteDevice(session, index));
    DeviceSummaryReply answer;
    Status status;
    if (session.has(Extension::device_summary)) {
        status = device->ask_for(Call::device_summary, DeviceSummaryRequest{}, answer, 4 * text_reply);
    } else {
        status = device->ask_device(answer);
        if (status.ok()) status = device->ask_buffer_type(answer);
    }
    if (status.ok()) status = device->take(answer);
    if (status.ok()) return device;
    error = status.text();
    return nullptr;
}

template <typename Request, typename Reply>
Status RemoteDevice::ask_for(Call number, const Request &request, Reply &reply, size_t reply_limit) {
    CallTraits traits;
    traits.reply_limit = reply_limit;
    CallResult result = call(number, request, reply, traits);
    return result.ok() ? Status() : failed(number, result);
}

// One by one, as 0.2 has it.
Status RemoteDevice::ask_device(DeviceSummaryReply &answer) {
    DeviceGetNameReply name;
    Status status = ask_for(Call::device_get_name, DeviceGetNameRequest{}, name, text_reply);
    DeviceGetDescriptionReply description;
    if (status.ok()) status = ask_for(Call::device_get_description, DeviceGetDescriptionRequest{}, description, text_reply);
    DeviceGetTypeReply type;
    if (status.ok()) status = ask_for(Call::device_get_type, DeviceGetTypeRequest{}, type);
    DeviceGetPropsReply props;
    if (status.ok()) status = ask_for(Call::device_get_props, DeviceGetPropsRequest{}, props);
    answer.name = name.name;
    answer.description = description.description;
    answer.type = type.type;
    answer.buffer_from_host_ptr = props.buffer_from_host_ptr;
    answer.mmap_support = props.mmap_support;
    return status;
}

Status RemoteDevice::ask_buffer_type(DeviceSummaryReply &answer) {
    DeviceGetBufferTypeReply buft;
    Status status = ask_for(Call::device_get_buffer_type, DeviceGetBufferTypeRequest{}, buft);
    BufferTypeGetNameReply name;
    if (status.ok()) status = ask_for(Call::buffer_type_get_name, BufferTypeGetNameRequest{buft.buft}, name, text_reply);
    BufferTypeGetAlignmentReply alignment;
    if (status.ok()) status = ask_for(Call::buffer_type_get_alignment, BufferTypeGetAlignmentRequest{buft.buft}, alignment);
    BufferTypeGetMaxSizeReply max_size;
    if (status.ok()) status = ask_for(Call::buffer_type_get_max_size, BufferTypeGetMaxSizeRequest{buft.buft}, max_size);
    answer.buft = buft.buft;
    answer.buft_name = name.name;
    answer.alignment = alignment.alignment;
    answer.max_size = max_size.max_size;
    return status;
}

Status RemoteDevice::take(const DeviceSummaryReply &answer) {
    uint64_t bytes = answer.alignment;
    if (bytes == 0 || (bytes & (bytes - 1)) != 0 || bytes > alignment_limit) {
        return Status::failure("the host's buffer type has an alignment of " + std::to_string(bytes));
    }
    if (session_.config().data_path == DataPath::shared && !answer.buffer_from_host_ptr) {
        log(LogLevel::warn, "GGML_VIRTGPU_DATA_PATH is shared, but the host's device takes no pointers: copied");
    }
    facts_.index = index_;
    facts_.extensions = session_.extensions() & ~static_cast<uint64_t>(Extension::ring);
    facts_.host_type = static_cast<DeviceType>(answer.type);
    if (facts_.host_type == DeviceType::igpu) facts_.type = GGML_BACKEND_DEVICE_TYPE_IGPU;
    facts_.name = name_prefix + printable(answer.name);
    facts_.description = printable(answer.description) + " (" + kind_text(facts_.host_type) + ", over virtio-gpu)";
    facts_.buffer_type_name = name_prefix + printable(answer.buft_name);
    facts_.takes_pointers = answer.buffer_from_host_ptr;
    facts_.mmap_support = answer.mmap_support;
    facts_.asynchronous = asynchronous();
    facts_.alignment = bytes;
    facts_.max_size = answer.max_size;
    buft_ = answer.buft;
    return {};
}

void RemoteDevice::memory(size_t &free, size_t &total) {
    DeviceGetMemoryReply reply;
    CallResult result = call(Call::device_get_memory, DeviceGetMemoryRequest{}, reply);
    result.report("get_memory");
    free = result.ok() ? reply.free : 0;
    total = result.ok() ? reply.total : 0;
}

template <typename Reply, typename Request>
CallResult RemoteDevice::ask_support(Call number, const Request &request, bool &supported) {
    Reply reply;
    CallResult result = call(number, request, reply);
    supported = result.ok() && reply.supported;
    return result;
}

bool RemoteDevice::supports_op(const ggml_tensor *op) {
    if (calls_program(op)) return false; // whatever a host may say
    const bool wide = session_.has(Extension::wide_shapes);
    if (!wide && !op_fits_records(op)) {
        log(LogLevel::debug, "%s: a shape or stride beyond 32 bits", ggml_op_name(op->op));
        return false;
    }
    SignatureParts parts;
    parts.leaf_names = true;
    // Views of what grows lie elsewhere in each graph, and mostly as well aligned.
    parts.offset_bits = wide ? facts_.alignment - 1 : UINT64_MAX;
    const OpSignature signature = signature_of(op, parts);
    bool supported = false;
    if (supported_.find(signature, supported)) return supported;
    CallResult result =
        wide ? ask_support<WideSupportsOpReply>(Call::wide_supports_op, WideSupportsOpRequest{op_records_of(op, parts.offset_bits)}, supported)
             : ask_support<DeviceSupportsOpReply>(Call::device_supports_op, DeviceSupportsOpRequest{op_record_of(op)}, supported);
    if (result.ok()) supported_.keep(signature, supported);
    else result.report((std::string("supports_op of ") + ggml_op_name(op->op)).c_str());
    // Without an answer libggml aborts where the op's tensors are in a buffer of the device, and elsewhere copies, of a lost device, zeros to another
    // backend, of which nobody is told. While the program has a buffer there, it is this one's, where the graph fails.
    return supported || (result.unanswered() && kept_.load() > streams());
}

std::optional<uint64_t> RemoteDevice::ask_alloc_size(const ggml_tensor *tensor, uint64_t otherwise) {
    BufferTypeGetAllocSizeReply reply;
    WideGetAllocSizeReply wide_reply;
    const bool wide = session_.has(Extension::wide_shapes);
    CallResult result =
        wide ? call(Call::wide_get_alloc_size, WideGetAllocSizeRequest{buft_, op_records_of(tensor, 0)}, wide_reply)
             : call(Call::buffer_type_get_alloc_size, BufferTypeGetAllocSizeRequest{buft_, op_record_of(tensor)}, reply);
    const uint64_t size = wide ? wide_reply.size : reply.size;
    if (!result.ok()) {
        result.report("get_alloc_size");
        if (result.unanswered()) return std::nullopt;
        return otherwise;
    }
    if (size <= largest_need) return size;
    log(LogLevel::error, "get_alloc_size: no tensor needs %llu bytes", static_cast<unsigned long long>(size));
    return otherwise;
}

size_t RemoteDevice::alloc_size(const ggml_tensor *tensor, size_t bytes) {
    // A model's weights differ by name only, layer by layer: their sizes do not.
    SignatureParts parts;
    parts.offset_bits = session_.has(Extension::wide_shapes) ? 0 : UINT64_MAX;
    const OpSignature signature = signature_of(tensor, parts);
    uint64_t size = 0;
    // libggml asks twice, once for the buffer and once for the tensor in it, and aborts when the second answer is more than the
    // first: whatever the first was, a refusal too, stands. Without an answer there is to be no such buffer: the next one may ask again.
    if (!alloc_sizes_->find(signature, size)) {
        const std::optional<uint64_t> answer = ask_alloc_size(tensor, bytes);
        // While the program has something of a lost device it gets no buffer there, but may place a tensor in one that it has.
        if (!answer) return lost() && kept_.load() != 0 ? bytes : largest_need;
        size = alloc_sizes_->keep(signature, *answer);
    }
    return std::max<size_t>(size, bytes);
}

std::unique_ptr<RemoteBuffer> RemoteDevice::allocate_anew(size_t size) {
    if (session_.config().data_path != DataPath::copied && facts_.takes_pointers) {
        if (auto buffer = allocate_shared(session_, index_, size, facts_.alignment)) return buffer;
        // What is kept takes room in the host-visible window.
        if (reserve_.give_up_all()) {
            if (auto buffer = allocate_shared(session_, index_, size, facts_.alignment)) return buffer;
        }
    }
    const Whereabouts whereabouts = facts_.host_type == DeviceType::cpu ? Whereabouts::host_memory : Whereabouts::device;
    auto buffer = allocate_copied(session_, buft_, size, facts_.alignment, whereabouts);
    if (buffer == nullptr && reserve_.give_up_all()) buffer = allocate_copied(session_, buft_, size, facts_.alignment, whereabouts);
    return buffer;
}

std::unique_ptr<RemoteBuffer> RemoteDevice::allocate(size_t size) {
    if (size >= largest_need || !session_.channel().may_call()) return nullptr;
    auto buffer = reserve_.take(size);
    if (buffer == nullptr) buffer = allocate_anew(size);
    if (buffer == nullptr) return nullptr;
    buffer->lent_by(*this);
    session_.channel().doubtful().forget(buffer->handle()); // of a graph that ended when it had been freed
    return buffer;
}

void RemoteDevice::release(std::unique_ptr<RemoteBuffer> buffer) { reserve_.give_back(std::move(buffer)); }

void RemoteDevice::drop_graphs(const std::vector<uint64_t> &numbers) {
    std::lock_guard lock(dropped_mutex_);
    dropped_graphs_.insert(dropped_graphs_.end(), numbers.begin(), numbers.end());
}

std::vector<uint64_t> RemoteDevice::take_dropped_graphs() {
    constexpr size_t in_one_call = 128;
    std::lock_guard lock(dropped_mutex_);
    size_t n = std::min(dropped_graphs_.size(), in_one_call);
    std::vector<uint64_t> taken(dropped_graphs_.end() - static_cast<ptrdiff_t>(n), dropped_graphs_.end());
    dropped_graphs_.resize(dropped_graphs_.size() - n);
    return taken;
}

} // namespace apir::guest
