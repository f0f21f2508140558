#include "stream.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "bulk_copy.hpp"
#include "forked.hpp"
#include "ggml_slots.hpp"
#include "log.hpp"
#include "tensor_encoding.hpp"

namespace apir::guest {

namespace {

ggml_status ggml_status_of(int32_t status) {
    switch (static_cast<GraphStatus>(status)) {
    case GraphStatus::ok: return GGML_STATUS_SUCCESS;
    case GraphStatus::aborted: return GGML_STATUS_ABORTED;
    case GraphStatus::alloc_failed: return GGML_STATUS_ALLOC_FAILED;
    case GraphStatus::failed: break;
    }
    return GGML_STATUS_FAILED;
}

ggml_status status_of(const CallResult &result, int32_t status) {
    result.report("graph_compute");
    return result.ok() ? ggml_status_of(status) : GGML_STATUS_FAILED;
}

CallTraits graph_traits(size_t data_out = 0) {
    CallTraits traits;
    traits.patience = Patience::graph;
    traits.data_out = data_out;
    return traits;
}

// A graph that the host keeps and computes.
class GraphAhead : public CallAhead {
  public:
    // `stream` is whom its failure is told by, and `written` what it has not written then, or with what one before it has not. `told` is how many transfers
    // of the channel's were lost when it was sent.
    GraphAhead(Session &session, const void *stream, const InFlight &in_flight, std::shared_ptr<const DoubtfulBuffers::Handles> written, uint64_t told)
        : session_(session), stream_(stream), in_flight_(in_flight), written_(std::move(written)), told_lost_transfers_(told),
          before_(session.write_behind().sent()) {}
    bool answered() const override { return pending.answered(); }
    bool end() override {
        Unwritten unwritten{*this};
        GraphRunReply reply;
        const CallResult result = pending.end(reply);
        // The host keeps a graph until we let go of it: it has broken its word.
        if (result.ok() && !reply.known) log(LogLevel::error, "graph_compute: the host has lost a graph that it was to keep");
        const bool well = status_of(result, reply.status) == GGML_STATUS_SUCCESS && reply.known && had_all();
        if (well && !in_flight_.failed()) unwritten.is_so = false;
        return well;
    }

    Channel::Pending<GraphRunReply> pending;

  private:
    // However the call ends: without memory to tell what has failed, too.
    struct Unwritten {
        ~Unwritten() {
            if (is_so) graph.session_.channel().doubtful().add(*graph.written_, graph.stream_);
        }

        GraphAhead &graph;
        bool is_so = true;
    };

    // Whether nothing that was written before it was lost, as far as is known: the replies to that are there by now.
    bool had_all() const {
        session_.write_behind().look_behind_a_call(before_);
        return session_.channel().lost_transfers() == told_lost_transfers_;
    }

    Session &session_;
    const void *const stream_;
    const InFlight &in_flight_;
    const std::shared_ptr<const DoubtfulBuffers::Handles> written_;
    const uint64_t told_lost_transfers_;
    const SentBefore before_;
};

} // namespace

Stream::~Stream() {
    auto synchronized = [this] {
        synchronize();
        device_.session().write_behind().settle();
        return true;
    };
    // A call that throws has ended; those behind it are awaited, too.
    while (!guarded("free", false, synchronized)) {}
    device_.session().channel().doubtful().abandon(this);
    guarded("free", 0, [this] {
        device_.drop_graphs(kept_.numbers());
        return 0;
    });
    device_.remove_stream();
}

bool Stream::keeps_graphs() const { return device_.session().has(Extension::graph_ids); }

ggml_status Stream::compute(ggml_cgraph *graph) {
    if (ggml_graph_n_nodes(graph) == 0) return GGML_STATUS_SUCCESS;
    // There the lock may be that of a thread which is not.
    if (in_forked_child()) {
        device_.session().channel().may_call(); // which says why
        return GGML_STATUS_FAILED;
    }
    std::lock_guard lock(mutex_);
    device_.session().write_behind().look();
    device_.session().channel().look_at_carried();
    device_.session().channel().await_batches(); // a graph that goes ahead of their replies would be computed with what may not be there
    const bool ahead = device_.asynchronous() && in_flight_->has_room();
    if (told_of_failure() || reads_doubtful(graph)) return GGML_STATUS_FAILED;
    Likeness likeness;
    KeptGraph *kept = kept_.same(graph);
    if (kept == nullptr) {
        likeness.graph = kept_.elsewhere(graph, likeness.now, likeness.differing);
        if (likeness.differing.empty()) kept = std::exchange(likeness.graph, nullptr);
    }
    if (kept != nullptr && kept->on_host() && ahead) {
        if (begin_kept(*kept)) return GGML_STATUS_SUCCESS;
        // One that is awaited needs a reply slot, too.
        in_flight_->await_all();
    }
    const SentBefore before = device_.session().write_behind().sent();
    const ggml_status status = compute_now(graph, kept, likeness);
    // Replies to all that was sent before it are there by now, if it was answered.
    in_flight_->await_all();
    device_.session().write_behind().look_behind_a_call(status == GGML_STATUS_SUCCESS ? before : SentBefore{});
    return told_of_failure() ? GGML_STATUS_FAILED : status;
}

bool Stream::told_of_failure() {
    Channel &channel = device_.session().channel();
    if (!in_flight_->failed() && channel.lost_transfers() == told_lost_transfers_) return false;
    // What is on its way behind the failure ends with it: afterwards it would seem to have gone well.
    in_flight_->await_all();
    in_flight_->take_failure();
    channel.tell_lost_transfers(told_lost_transfers_ = channel.lost_transfers());
    channel.doubtful().told_by(this);
    log(LogLevel::error, "graph refused: what was computed or carried over before it has failed");
    device_.drop_graphs(kept_.numbers());
    kept_ = {};
    return true;
}

// Another stream's graph has failed since it was sent ahead, and this one was to go on from there.
bool Stream::reads_doubtful(ggml_cgraph *graph) {
    DoubtfulBuffers &doubtful = device_.session().channel().doubtful();
    if (!doubtful.any()) return false;
    bool found = false;
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        for (const ggml_tensor *source : ggml_graph_node(graph, i)->src) {
            ggml_backend_buffer_t buffer = source == nullptr ? nullptr : own_buffer(source);
            if (buffer == nullptr || &remote_buffer(buffer).session() != &device_.session()) continue;
            const uint64_t handle = remote_buffer(buffer).handle();
            if (!doubtful.has(handle)) continue;
            if (!found) log(LogLevel::error, "graph refused: another graph that was to compute '%s' before it has failed", source->name);
            found = true;
            doubtful.told_of(handle);
        }
    }
    return found;
}

// On the host too, whatever it has of it: there is room for a number of graphs only.
void Stream::forget(KeptGraph *kept) {
    device_.drop_graphs({kept->number()});
    kept_.forget(kept);
}

ggml_status Stream::compute_now(ggml_cgraph *graph, KeptGraph *kept, Likeness &likeness) {
    ggml_status status = GGML_STATUS_FAILED;
    if (kept != nullptr && !kept->on_host()) return compute_whole(kept->encoded());
    if (kept != nullptr) {
        if (run_kept(*kept, status) == Run::done) return status;
        forget(kept);
    }
    EncodedGraph &encoded = likeness.now;
    if (likeness.graph == nullptr && !encode(graph, encoded)) return GGML_STATUS_FAILED;
    if (!keeps_graphs()) return likeness.graph == nullptr ? compute_new(graph, std::move(encoded)) : compute_like(graph, likeness);
    if (likeness.graph == nullptr) likeness.graph = kept_.similar(encoded, likeness.differing);
    if (KeptGraph *similar = likeness.graph) {
        const std::vector<uint32_t> &positions = likeness.differing;
        Run run = positions.empty() ? run_kept(*similar, status) : run_changed(*similar, encoded, positions, status);
        // A change that was refused or did not get through leaves the host's graph in doubt.
        if (run == Run::done && status == GGML_STATUS_SUCCESS) similar->become(graph, std::move(encoded));
        else forget(similar);
        if (run == Run::done) return status;
    }
    return send_whole(graph, std::move(encoded));
}

bool Stream::encode(ggml_cgraph *graph, EncodedGraph &encoded) {
    std::string error;
    if (encode_graph(graph, device_.session().has(Extension::wide_shapes), encoded, error)) return true;
    log(LogLevel::error, "graph refused: %s", error.c_str());
    return false;
}

Stream::Run Stream::run_kept(const KeptGraph &kept, ggml_status &status) {
    GraphRunReply reply;
    CallResult result = device_.call(Call::graph_run, GraphRunRequest{kept.number()}, reply, graph_traits());
    if (result.ok() && !reply.known) return Run::unknown;
    status = status_of(result, reply.status);
    return Run::done;
}

bool Stream::begin_kept(const KeptGraph &kept) {
    // All that takes memory before it is sent.
    auto ahead = std::make_unique<GraphAhead>(device_.session(), this, *in_flight_, kept.written(), told_lost_transfers_);
    ahead->pending = device_.begin<GraphRunReply>(Call::graph_run, GraphRunRequest{kept.number()}, graph_traits());
    if (!ahead->pending.sent()) return false;
    in_flight_->add(std::move(ahead));
    return true;
}

void Stream::set(const ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    ggml_backend_buffer_t buffer = own_buffer(tensor);
    if (buffer != nullptr) return remote_buffer(buffer).set_async(tensor, data, offset, size, *in_flight_);
    log(LogLevel::error, "set_tensor_async: tensor '%s' is in no buffer of this device", tensor->name);
    in_flight_->fail();
}

void Stream::get(const ggml_tensor *tensor, void *data, size_t offset, size_t size) {
    ggml_backend_buffer_t buffer = own_buffer(tensor);
    if (buffer != nullptr) return remote_buffer(buffer).get_async(tensor, data, offset, size, *in_flight_);
    log(LogLevel::error, "get_tensor_async: tensor '%s' is in no buffer of this device", tensor->name);
    std::memset(data, 0, size);
    in_flight_->fail();
}

Stream::Run Stream::run_changed(const KeptGraph &kept, const EncodedGraph &graph, const std::vector<uint32_t> &positions,
                                ggml_status &status) {
    // As `graph_changes` has it: places, then records, which are bytes already.
    EncodedGraph changes;
    changes.bytes.resize(2 * sizeof(uint32_t) + positions.size() * (sizeof(uint32_t) + graph.record_size));
    Writer writer(changes.bytes.data(), changes.bytes.size());
    writer.u32(static_cast<uint32_t>(positions.size()));
    for (uint32_t position : positions) writer.u32(position);
    writer.u32(static_cast<uint32_t>(positions.size()));
    for (uint32_t position : positions) writer.bytes(graph.record(position), graph.record_size);
    GraphPatchReply reply;
    CallResult result = send(Call::graph_patch, GraphPatchRequest{kept.number(), 0, 0}, reply, changes);
    if (result.ok() && !reply.known) return Run::unknown;
    status = status_of(result, reply.status);
    return Run::done;
}

ggml_status Stream::send_whole(ggml_cgraph *graph, EncodedGraph &&encoded) {
    if (encoded.bytes.size() > GraphCache::max_graph_bytes) return compute_whole(encoded);
    GraphKeepReply reply;
    GraphKeepRequest request{0, 0, encoded.wide, device_.take_dropped_graphs()};
    CallResult result = send(Call::graph_keep, request, reply, encoded);
    // Whether the host has got as far as dropping them is not known; to hear of them again does no harm.
    if (!result.ok()) device_.drop_graphs(request.dropped);
    const ggml_status status = status_of(result, reply.status);
    if (result.ok() && reply.graph != 0) {
        device_.drop_graphs(kept_.add(KeptGraph(graph, std::move(encoded), reply.graph), device_.streams()));
    } else if (status == GGML_STATUS_SUCCESS) {
        device_.drop_graphs(kept_.drop_oldest()); // the host has no room: for the next one
    }
    return status;
}

ggml_status Stream::compute_new(ggml_cgraph *graph, EncodedGraph &&encoded) {
    const ggml_status status = compute_whole(encoded);
    if (encoded.bytes.size() > GraphCache::max_graph_bytes) return status;
    try {
        kept_.add(KeptGraph(graph, std::move(encoded), KeptGraph::not_on_host), device_.streams());
    } catch (const std::bad_alloc &) { // it is encoded again the next time
    }
    return status;
}

ggml_status Stream::compute_like(ggml_cgraph *graph, Likeness &likeness) {
    const ggml_status status = compute_whole(likeness.now);
    try {
        likeness.graph->become(graph, std::move(likeness.now));
    } catch (const std::bad_alloc &) { // it is half the one and half the other
        kept_.forget(likeness.graph);
    }
    return status;
}

ggml_status Stream::compute_whole(const EncodedGraph &encoded) {
    if (encoded.wide) {
        WideGraphComputeReply reply;
        CallResult result = send(Call::wide_graph_compute, WideGraphComputeRequest{}, reply, encoded);
        return status_of(result, reply.status);
    }
    BackendGraphComputeReply reply;
    CallResult result = send(Call::backend_graph_compute, BackendGraphComputeRequest{}, reply, encoded);
    return status_of(result, reply.status);
}

template <typename Request, typename Reply>
CallResult Stream::send(Call call, Request request, Reply &reply, const EncodedGraph &graph) {
    size_t size = graph.bytes.size();
    Session &session = device_.session();
    BlobPool::Lease slot = session.data_slots().take_sized(size, Deadline(Clock::duration::zero()));
    if (!slot) slot = session.data_slot_in_time(size);
    if (!slot) {
        log(LogLevel::error, "graph of %zu bytes: no data slot", size);
        return {};
    }
    bulk_copy(slot->memory, graph.bytes.data(), size);
    request.resource = slot->resource;
    request.size = size;
    CallTraits traits = graph_traits(size);
    traits.data_slot = &slot;
    CallResult result = device_.call(call, request, reply, traits);
    if (!result.timed_out()) slot.spare();
    return result;
}

} // namespace apir::guest
