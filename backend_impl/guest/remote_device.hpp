// A device of the host as the guest knows it: what is asked once at start, and what is asked anew.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "abi/backend_interface.hpp"
#include "answer_cache.hpp"
#include "buffer_reserve.hpp"

namespace apir::guest {

class RemoteDevice {
  public:
    // Devices that can be asked for: all of the host's with the extension devices, else the first. 0, with the cause in
    // `error`, when the host has none.
    static size_t count(Session &session, std::string &error);
    // Asks the host about one of them. nullptr, with the cause in `error`, when it answers nonsense. The session outlives it.
    static std::unique_ptr<RemoteDevice> ask(Session &session, uint32_t index, std::string &error);

    const std::string &name() const { return name_; }
    const std::string &description() const { return description_; }
    const std::string &buffer_type_name() const { return buffer_type_name_; }
    // As ggml programs are told: what calls itself CPU or ACCEL is a GPU here, for it is not the guest's processor, and
    // programs would take it for their own.
    enum ggml_backend_dev_type type() const { return type_; }
    bool computes_on_gpu() const { return host_type_ == DeviceType::gpu || host_type_ == DeviceType::igpu; }
    bool mmap_support() const { return mmap_support_; }
    // Graphs and transfers may be sent without waiting for them.
    bool asynchronous() const { return session_.has(Extension::asynchronous); }
    size_t alignment() const { return alignment_; }
    size_t max_size() const { return max_size_; }

    // Read fresh; 0 and 0 when the host does not answer.
    void memory(size_t &free, size_t &total);
    bool supports_op(const ggml_tensor *op);
    // At least `bytes`, the tensor's ggml_nbytes; those when the host refuses to tell, and, unasked, when libggml takes no more. More than there can be, when it
    // does not answer.
    size_t alloc_size(const ggml_tensor *tensor, size_t bytes);
    // Its content is undefined: it may have been another buffer of this program's before.
    std::unique_ptr<RemoteBuffer> allocate(size_t size);
    // A buffer that the program has freed: freed on the host, or kept for the next one.
    void release(std::unique_ptr<RemoteBuffer> buffer);

    Session &session() const { return session_; }
    // A call that means this device.
    template <typename Request, typename Reply>
    CallResult call(Call number, const Request &request, Reply &reply, CallTraits traits = {}) {
        traits.device = index_;
        return session_.channel().call(number, request, reply, traits);
    }

    // The same, sent and not awaited.
    template <typename Reply, typename Request>
    Channel::Pending<Reply> begin(Call number, const Request &request, CallTraits traits = {}) {
        traits.device = index_;
        return session_.channel().begin<Reply>(number, request, traits);
    }

    // Streams that there are, which share the room that the host has for graphs.
    size_t streams() const { return streams_.load(std::memory_order_relaxed); }
    void add_stream() { ++streams_; }
    void remove_stream() { --streams_; }

    // Kept graphs that no stream has a use for any more: the host is told with the next graph that it is to keep.
    void drop_graphs(const std::vector<uint64_t> &numbers);
    std::vector<uint64_t> take_dropped_graphs();

  private:
    RemoteDevice(Session &session, uint32_t index)
        : session_(session), index_(index), reserve_(session.config().buffer_pool_bytes) {}

    Status ask_device(DeviceSummaryReply &answer);
    Status ask_buffer_type(DeviceSummaryReply &answer);
    Status take(const DeviceSummaryReply &answer);
    template <typename Request, typename Reply>
    Status ask_for(Call number, const Request &request, Reply &reply, size_t reply_limit = CallTraits{}.reply_limit);
    std::unique_ptr<RemoteBuffer> allocate_anew(size_t size);
    template <typename Reply, typename Request> CallResult ask_support(Call number, const Request &request, bool &supported);
    // What the host says, or `otherwise` when it says nothing that can be. Nothing without an answer, and as long as one may come to a later call.
    std::optional<uint64_t> ask_alloc_size(const ggml_tensor *tensor, uint64_t otherwise);

    Session &session_;
    const uint32_t index_;
    std::string name_;
    std::string description_;
    std::string buffer_type_name_;
    DeviceType host_type_ = DeviceType::gpu;
    enum ggml_backend_dev_type type_ = GGML_BACKEND_DEVICE_TYPE_GPU;
    bool takes_pointers_ = false;
    bool mmap_support_ = false;
    uint64_t buft_ = 0;
    size_t alignment_ = 0;
    size_t max_size_ = 0;
    BufferReserve reserve_;
    AnswerCache<bool> supported_;
    AnswerCache<uint64_t> alloc_sizes_;
    std::atomic<size_t> streams_{0};
    std::mutex dropped_mutex_;
    std::vector<uint64_t> dropped_graphs_;
};

} // namespace apir::guest
