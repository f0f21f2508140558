// What one ggml backend of ours is: graphs on their way to a device, and those that the host keeps for it.
#pragma once

#include <memory>
#include <mutex>

#include "graph_cache.hpp"
#include "in_flight.hpp"
#include "remote_device.hpp"

namespace apir::guest {

class Stream {
  public:
    // The device outlives it.
    explicit Stream(RemoteDevice &device)
        : device_(device), in_flight_(std::make_shared<InFlight>(device.session().calls_in_flight())),
          told_lost_transfers_(device.session().channel().told_lost_transfers()) {
        device_.add_stream();
        device_.session().know(in_flight_);
    }
    ~Stream();
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    RemoteDevice &device() { return device_; }
    // Waits, but for a graph that the host keeps where calls may be asynchronous: it was computed before, and a failure now is
    // told with the next graph, which may have been computed on what the failed one has left.
    ggml_status compute(ggml_cgraph *graph);

    // Bytes of a tensor in a buffer of ours, in order with the stream's graphs. `data` is read at once, and written to by the time
    // that synchronize() has returned.
    void set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size);
    void get(const ggml_tensor *tensor, void *data, size_t offset, size_t size);
    void synchronize() {
        in_flight_->await_all();
        device_.session().channel().look_at_batches();
        device_.session().write_behind().look();
    }
    const std::shared_ptr<InFlight> &in_flight() const { return in_flight_; }

  private:
    enum class Run { done, unknown };

    // A kept graph that another one differs from, what encoding that one gives, and the records that differ.
    struct Likeness {
        KeptGraph *graph = nullptr;
        EncodedGraph now;
        std::vector<uint32_t> differing;
    };

    // Whether something that was sent before has failed, as far as is known. What is kept is in doubt then and forgotten.
    bool told_of_failure();
    // Whether it is to compute with what another stream's graph has not written.
    bool reads_doubtful(ggml_cgraph *graph);
    void forget(KeptGraph *kept);
    // Graphs that are awaited; `kept` is nullptr for one that is not known, which may be like another one.
    ggml_status compute_now(ggml_cgraph *graph, KeptGraph *kept, Likeness &likeness);
    bool keeps_graphs() const;
    bool encode(ggml_cgraph *graph, EncodedGraph &encoded);
    // A graph that the host has, as it is or with changes; `unknown` when it has it no more.
    Run run_kept(const KeptGraph &kept, ggml_status &status);
    // The same without waiting; false when it could not be sent so.
    bool begin_kept(const KeptGraph &kept);
    Run run_changed(const KeptGraph &kept, const EncodedGraph &graph, const std::vector<uint32_t> &positions, ggml_status &status);
    // One that is new to the stream, and that the host may keep.
    ggml_status send_whole(ggml_cgraph *graph, EncodedGraph &&encoded);
    // The same where the host keeps none: what it was encoded to is kept, unless that is too large.
    ggml_status compute_new(ggml_cgraph *graph, EncodedGraph &&encoded);
    // One that is like a kept one takes its place: of graphs that change from token to token one is kept, not dozens to look through.
    ggml_status compute_like(ggml_cgraph *graph, Likeness &likeness);
    // By the calls of protocol 0.2, after which the host has nothing of it.
    ggml_status compute_whole(const EncodedGraph &encoded);
    template <typename Request, typename Reply>
    CallResult send(Call call, Request request, Reply &reply, const EncodedGraph &graph);

    RemoteDevice &device_;
    std::mutex mutex_; // ggml uses a backend from one thread at a time; a program that does not gets one graph after the other
    GraphCache kept_;
    std::shared_ptr<InFlight> in_flight_; // also of events, which may outlive the stream
    uint64_t told_lost_transfers_; // of the channel's count
};

} // namespace apir::guest
