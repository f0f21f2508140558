// All that the host library holds for one context: backend, buffers, handles. Nothing is shared between contexts but ggml
// itself and the log.
//
// A call goes decode (apir_gen.hpp) → validate (tensor_check, op_rules, compute_graph) → act (calls_*.cpp). A Refusal in any of
// them leaves the session as it was, but for what refusal.hpp names.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <apir_gen.hpp>
#include <ggml-backend.h>

#include "callbacks.hpp"
#include "compute_graph.hpp"
#include "ggml_library.hpp"
#include "guarded_compute.hpp"
#include "handles.hpp"
#include "kept_graphs.hpp"
#include "log.hpp"
#include "pipe_work.hpp"
#include "shared_memory.hpp"
#include "supports_op.hpp"

namespace apir::host {

// More buffers than a guest has any use for; bounds what it can make the host remember.
inline constexpr size_t max_buffers = size_t{1} << 20;
// Refusals that are logged per session: a hostile guest must not fill the disk.
inline constexpr int max_logged_refusals = 200;

class Session {
  public:
    // Throws InitFailure.
    Session(uint32_t context, const apir_callbacks &callbacks);

    // Reads the request, acts, writes the reply. A call that is refused, or for which there is no memory, has failed: its reason is in
    // the log, and `reply` means nothing.
    DispatchCode dispatch(const apir_callbacks &callbacks, uint32_t call, Reader &request, Writer &reply);

    void beat(std::atomic<uint64_t> *beats) { library_.beat(beats); }
    // Where it is told that the context is to end. From now on calls may wait for the guest.
    void end_with(const std::atomic<uint32_t> *ending) { ending_ = ending; }
    // Ends the graph under way, from any thread; its call is answered "aborted".
    void cancel() { library_.cancel(); }
    // Where the name of the op that a graph ends with is written before it is computed; `size` bytes with the NUL.
    void note_ops_at(char *note, size_t size) { op_note_ = note, op_note_size_ = size; }

    // calls_device.cpp
    DeviceGetDeviceCountReply on_device_get_device_count(const DeviceGetDeviceCountRequest &request);
    DeviceGetCountReply on_device_get_count(const DeviceGetCountRequest &request);
    DeviceGetNameReply on_device_get_name(const DeviceGetNameRequest &request);
    DeviceGetDescriptionReply on_device_get_description(const DeviceGetDescriptionRequest &request);
    DeviceGetTypeReply on_device_get_type(const DeviceGetTypeRequest &request);
    DeviceGetMemoryReply on_device_get_memory(const DeviceGetMemoryRequest &request);
    DeviceSupportsOpReply on_device_supports_op(const DeviceSupportsOpRequest &request);
    DeviceGetBufferTypeReply on_device_get_buffer_type(const DeviceGetBufferTypeRequest &request);
    DeviceGetPropsReply on_device_get_props(const DeviceGetPropsRequest &request);
    WideSupportsOpReply on_wide_supports_op(const WideSupportsOpRequest &request);
    DeviceSummaryReply on_device_summary(const DeviceSummaryRequest &request);
    NegotiateReply on_negotiate(const NegotiateRequest &request);

    // calls_buffer_type.cpp
    DeviceBufferFromPtrReply on_device_buffer_from_ptr(const DeviceBufferFromPtrRequest &request);
    BufferTypeGetNameReply on_buffer_type_get_name(const BufferTypeGetNameRequest &request);
    BufferTypeGetAlignmentReply on_buffer_type_get_alignment(const BufferTypeGetAlignmentRequest &request);
    BufferTypeGetMaxSizeReply on_buffer_type_get_max_size(const BufferTypeGetMaxSizeRequest &request);
    BufferTypeIsHostReply on_buffer_type_is_host(const BufferTypeIsHostRequest &request);
    BufferTypeAllocBufferReply on_buffer_type_alloc_buffer(const BufferTypeAllocBufferRequest &request);
    AllocWithBaseReply on_alloc_with_base(const AllocWithBaseRequest &request);
    BufferTypeGetAllocSizeReply on_buffer_type_get_alloc_size(const BufferTypeGetAllocSizeRequest &request);
    WideGetAllocSizeReply on_wide_get_alloc_size(const WideGetAllocSizeRequest &request);

    // calls_buffer.cpp
    BufferGetBaseReply on_buffer_get_base(const BufferGetBaseRequest &request);
    BufferSetTensorReply on_buffer_set_tensor(const BufferSetTensorRequest &request);
    BufferGetTensorReply on_buffer_get_tensor(const BufferGetTensorRequest &request);
    BufferCpyTensorReply on_buffer_cpy_tensor(const BufferCpyTensorRequest &request);
    BufferClearReply on_buffer_clear(const BufferClearRequest &request);
    BufferFreeBufferReply on_buffer_free_buffer(const BufferFreeBufferRequest &request);
    WideSetTensorReply on_wide_set_tensor(const WideSetTensorRequest &request);
    WideGetTensorReply on_wide_get_tensor(const WideGetTensorRequest &request);
    WideCpyTensorReply on_wide_cpy_tensor(const WideCpyTensorRequest &request);
    PipeSetTensorReply on_pipe_set_tensor(const PipeSetTensorRequest &request);
    PipeGetTensorReply on_pipe_get_tensor(const PipeGetTensorRequest &request);

    // calls_graph.cpp
    BackendGraphComputeReply on_backend_graph_compute(const BackendGraphComputeRequest &request);
    WideGraphComputeReply on_wide_graph_compute(const WideGraphComputeRequest &request);
    GraphKeepReply on_graph_keep(const GraphKeepRequest &request);
    GraphRunReply on_graph_run(const GraphRunRequest &request);
    GraphPatchReply on_graph_patch(const GraphPatchRequest &request);

  private:
    DispatchCode refused(uint32_t call, const char *text);
    DispatchCode dispatch_on(HostDevice &device, uint32_t call, Reader &request, Writer &reply);
    DispatchCode on_on_device(Reader &request, Writer &reply);
    DispatchCode on_batch(Reader &request, Writer &reply);
    DispatchCode on_set_tensor_inline(Reader &request);
    // Throws Refusal for one that cannot be used.
    HostDevice &opened(uint32_t index);
    HostDevice &device() { return *device_; }
    // Throws Refusal for a handle that is none.
    ggml_backend_buffer_type_t buffer_type(uint64_t handle);
    Buffer &buffer(uint64_t handle);
    SharedRange shared(uint32_t resource, uint64_t size) { return memory_.range(*callbacks_, resource, size); }
    // Of the device's default buffer type.
    uint64_t handle_of(HostDevice &device);
    uint64_t alloc_size(ggml_backend_buffer_type_t type, OpTensors &op);
    template <typename Request> void set_tensor(const Request &request);
    template <typename Request> void get_tensor(const Request &request);
    template <typename Request> bool copy_tensor(const Request &request);
    // Whether a call may wait for the guest.
    bool may_wait() const { return library_.beats() != nullptr && ending_ != nullptr; }
    // Throws Refusal for one that cannot be.
    template <typename Request> PipeWork pipe_work(const Request &request, const ggml_tensor &tensor, PipeEnd::Role role);
    SharedRange graph_data(uint32_t resource, uint64_t size);
    int32_t compute(ggml_cgraph *graph);
    template <typename Record> int32_t compute_whole(const SharedRange &bytes);
    KeptGraph *kept_graph(uint64_t number);
    template <typename Record, typename Changes> void change(KeptGraph &kept, const SharedRange &range);
    uint64_t keep(ggml_backend_buffer_t made, uint64_t size, uint64_t allocated);
    uint64_t made_up_base(const void *base, uint64_t size, uint64_t alignment);

    LogHold log_{true}; // who makes a session holds it, too, and has opened it
    std::mutex mutex_; // one call at a time: backends are not safe for more
    const apir_callbacks *callbacks_ = nullptr; // of the call under way
    int refusals_ = 0;
    std::string last_refusal_;
    SharedMemory memory_;
    GgmlLibrary library_;
    HostDevice *device_ = nullptr; // that the call under way addresses
    HandleTable<ggml_backend_buffer_type_t, HandleKind::buffer_type> buffer_types_;
    BufferTable buffers_;
    uint64_t memory_limit_; // bytes of a device's memory that buffers may have; 0: as much as it says that it has
    std::unordered_map<ggml_backend_buffer_type_t, uint64_t> allocated_; // what they have
    const std::atomic<uint32_t> *ending_ = nullptr;
    std::chrono::milliseconds pipe_patience_; // with a guest that leaves the host with nothing to do
    uint64_t next_base_;
    char *op_note_ = nullptr;
    size_t op_note_size_ = 0;
    GraphBuilder graphs_; // of graphs that are not kept
    KeptGraphs kept_graphs_;
    GuardedCompute guarded_;
};

} // namespace apir::host
