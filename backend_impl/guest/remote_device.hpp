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

// What is told of a device once, and the program counts on.
struct DeviceFacts {
    uint32_t index = 0; // among the host's
    uint64_t extensions = 0; // of the session, but for the way of its commands
    std::string name;
    std::string description;
    std::string buffer_type_name;
    DeviceType host_type = DeviceType::gpu;
    // As ggml programs are told: what calls itself CPU or ACCEL is a GPU here, for it is not the guest's processor, and
    // programs would take it for their own.
    enum ggml_backend_dev_type type = GGML_BACKEND_DEVICE_TYPE_GPU;
    bool takes_pointers = false;
    bool mmap_support = false;
    // Graphs and transfers may be sent without waiting for them.
    bool asynchronous = false;
    size_t alignment = 0;
    size_t max_size = 0;

    bool computes_on_gpu() const { return host_type == DeviceType::gpu || host_type == DeviceType::igpu; }
    bool operator==(const DeviceFacts &other) const;
};

class RemoteDevice {
  public:
    // Devices that can be asked for: all of the host's with the extension devices, else the first. 0, with the cause in
    // `error`, when the host has none.
    static size_t count(Session &session, std::string &error);
    // Asks the host about one of them. nullptr, with the cause in `error`, when it answers nonsense. The session outlives it.
    static std::unique_ptr<RemoteDevice> ask(Session &session, uint32_t index, std::string &error);

    const DeviceFacts &facts() const { return facts_; }
    const std::string &name() const { return facts_.name; }
    bool asynchronous() const { return session_.has(Extension::asynchronous); }
    bool lost() const { return session_.channel().lost(); }

    // Read fresh; 0 and 0 when the host does not answer.
    void memory(size_t &free, size_t &total);
    bool supports_op(const ggml_tensor *op);
    // Whether libggml-base takes an alloc size above ggml_nbytes for this tensor.
    static bool may_need_more(const ggml_tensor *tensor);
    // Of one that may need more: at least `bytes`, its ggml_nbytes; those when the host refuses to tell. More than there can be, when it does not
    // answer, or is lost and may come back with another answer.
    size_t alloc_size(const ggml_tensor *tensor, size_t bytes);
    // Its content is undefined: it may have been another buffer of this program's before. None on a lost device.
    std::unique_ptr<RemoteBuffer> allocate(size_t size);
    // A buffer that the program has freed: freed on the host, or kept for the next one.
    void release(std::unique_ptr<RemoteBuffer> buffer);
    // Frees what is kept of freed buffers.
    void give_up_kept() { reserve_.give_up_all(); }

    // Buffers and streams that the program has of it, and those that it is about to have (Hold in registry.hpp).
    void hold() { ++held_; }
    void let_go() { --held_; }
    bool is_held() const { return held_.load() != 0; }
    // The program has one more, or one less.
    void keep() { ++kept_; }
    void take_back() { --kept_; }
    // Takes the place of one that is lost: alloc sizes that the program was told stay, for libggml aborts when the next answer is a larger one.
    void follow(const RemoteDevice &lost) { alloc_sizes_ = lost.alloc_sizes_; }

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
    DeviceFacts facts_;
    uint64_t buft_ = 0;
    BufferReserve reserve_;
    AnswerCache<bool> supported_;
    std::shared_ptr<AnswerCache<uint64_t>> alloc_sizes_ = std::make_shared<AnswerCache<uint64_t>>();
    std::atomic<size_t> held_{0};
    std::atomic<size_t> kept_{0}; // of those
    std::atomic<size_t> streams_{0};
    std::mutex dropped_mutex_;
    std::vector<uint64_t> dropped_graphs_;
};

} // namespace apir::guest
