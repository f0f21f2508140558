// Graphs and transfers without waiting, events, and what becomes of failures that come late.
//
// Usage: test-guest-asynchronous HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <numeric>

#include "gated_run.hpp"
#include "model_graph.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

constexpr int64_t count = 4096;

void in_order_without_waiting(const char *path) {
    GatedRun run("all", path);
    ggml_backend_t backend = run.backend.get();
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(run.registry->device(), &props);
    expect(props.caps.async && props.caps.events, "the device says what it can");
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(backend, doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    ggml_backend_event_t event = ggml_backend_event_new(run.registry->device());
    expect(event != nullptr, "an event");

    bool copied = std::string(path) == "copied";
    run.host.close();
    std::vector<float> result(count, -1.0F);
    std::vector<float> second(count, -1.0F);
    expect(ggml_backend_graph_compute_async(backend, doubled.graph) == GGML_STATUS_SUCCESS, "sent");
    if (!copied) run.host.open(); // transfers wait for the graph there
    ggml_backend_tensor_get_async(backend, doubled.output, result.data(), 0, count * 4);
    ggml_backend_event_record(event, backend);
    std::fill(numbers.begin(), numbers.end(), 5.0F);
    ggml_backend_tensor_set_async(backend, doubled.input, numbers.data(), 0, count * 4);
    std::fill(numbers.begin(), numbers.end(), 9.0F); // was read at once
    ggml_backend_event_wait(backend, event);
    expect(ggml_backend_graph_compute_async(backend, doubled.graph) == GGML_STATUS_SUCCESS, "sent again");
    ggml_backend_tensor_get_async(backend, doubled.output, second.data(), 0, count * 4);
    if (copied) expect(result[0] == -1 && second[0] == -1, "all of it behind a closed gate");
    run.host.open();
    ggml_backend_event_synchronize(event);
    expect(result == std::vector<float>(count, 2.0F), "what the event stands for");
    ggml_backend_synchronize(backend);
    expect(second == std::vector<float>(count, 10.0F), "what came behind it");
    ggml_backend_event_free(event);
}

// Opens the gate after a while, so that who does not wait is seen to be too early.
class LateOpening {
  public:
    explicit LateOpening(GatedLibrary &host)
        : thread_([&host] {
              std::this_thread::sleep_for(std::chrono::milliseconds(100));
              host.open();
          }) {}
    ~LateOpening() { thread_.join(); }

  private:
    std::thread thread_;
};

void events_of_other_streams(const char *path) {
    GatedRun run("all", path);
    Backend other{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    numbers.assign(count, 5.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    ggml_backend_event_t event = ggml_backend_event_new(run.registry->device());
    ggml_backend_event_wait(other.get(), event); // never recorded
    run.host.close();
    LateOpening opening(run.host);
    ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
    ggml_backend_event_record(event, run.backend.get());
    ggml_backend_event_wait(other.get(), event);
    ggml_backend_tensor_get_async(other.get(), doubled.output, numbers.data(), 0, count * 4);
    ggml_backend_synchronize(other.get());
    expect(numbers == std::vector<float>(count, 10.0F), std::string("what another stream has computed, ") + path);
    ggml_backend_event_free(event);
}

void events_outlive_streams() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 4.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    ggml_backend_event_t event = ggml_backend_event_new(run.registry->device());
    ggml_backend_event_synchronize(event); // never recorded
    ggml_backend_t own = ggml_backend_dev_init(run.registry->device(), nullptr);
    for (int i = 0; i < 40; ++i) ggml_backend_graph_compute_async(own, doubled.graph);
    ggml_backend_event_record(event, own);
    ggml_backend_free(own);
    ggml_backend_event_synchronize(event);
    ggml_backend_event_free(event);
    ggml_backend_tensor_get(doubled.output, numbers.data(), 0, count * 4);
    expect(numbers == std::vector<float>(count, 8.0F), "computed by a stream that is gone");
}

// More streams than there are reply slots, each with calls that nobody awaits yet.
void many_streams() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 6.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    std::vector<Backend> streams;
    for (int i = 0; i < 24; ++i) streams.emplace_back(ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free);
    auto start = Clock::now();
    for (int round = 0; round < 6; ++round)
        for (Backend &stream : streams)
            expect(ggml_backend_graph_compute_async(stream.get(), doubled.graph) == GGML_STATUS_SUCCESS, "one stream of many");
    ggml_backend_tensor_get(doubled.output, numbers.data(), 0, count * 4);
    expect(numbers == std::vector<float>(count, 12.0F) && Clock::now() - start < std::chrono::seconds(30), "none waits for what no one awaits");
}

// Without the extension a graph that the host has lost is sent whole; with it, the loss is told with the next graph.
void lost_graphs() {
    for (const char *extensions : {"-asynchronous", "all"}) {
        GatedRun run(extensions);
        bool asynchronous = run.registry->session().has(Extension::asynchronous);
        Doubled doubled(run.buft(), count);
        std::vector<float> numbers(count, 3.0F);
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
        ggml_backend_graph_compute(run.backend.get(), doubled.graph);
        numbers.assign(count, 7.0F);
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
        run.registry->session().write_behind().settle(); // it goes along with no graph
        run.host.forgets = true;
        CapturedLog log;
        ggml_backend_graph_compute(run.backend.get(), doubled.graph);
        run.host.forgets = false;
        std::vector<float> at_once(count);
        if (!asynchronous) ggml_backend_tensor_get(doubled.output, at_once.data(), 0, count * 4);
        expect(asynchronous || at_once == std::vector<float>(count, 14.0F), "what is awaited was computed all the same");
        ggml_status next = ggml_backend_graph_compute(run.backend.get(), doubled.graph);
        expect((next == GGML_STATUS_FAILED) == asynchronous, std::string("a lost graph, extensions ") + extensions);
        if (asynchronous) expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "and then again");
        ggml_backend_tensor_get(doubled.output, numbers.data(), 0, count * 4);
        expect(numbers == std::vector<float>(count, 14.0F), "the graph was sent anew");
    }
}

// Nor is one lost that changes from token to token.
void lost_changes() {
    std::vector<float> logits[2];
    for (const bool forgets : {false, true}) {
        GatedRun run("-asynchronous,-batch"); // what is written goes by itself
        apir::test::ModelGraph model(run.backend.get(), apir::test::CacheWrite::view);
        for (int position = 0; position < 3; ++position) {
            run.host.forgets = forgets && position == 2;
            logits[forgets ? 1 : 0] = model.next(7 + position, position);
        }
        expect(run.host.calls()[static_cast<uint32_t>(Call::graph_patch)] != 0, "a graph that is told by what has changed");
    }
    expect(!logits[0].empty() && logits[0] == logits[1], "of a host that has lost it, the same comes");
}

// However often graphs are lost: the host has room for some number of them only.
void lost_graphs_make_room() {
    for (const char *extensions : {"-asynchronous", "all"}) {
        GatedRun run(extensions);
        Doubled doubled(run.buft(), count);
        CapturedLog log;
        for (int i = 0; i < 80; ++i) {
            ggml_backend_graph_compute(run.backend.get(), doubled.graph);
            run.host.forgets = true;
            ggml_backend_graph_compute(run.backend.get(), doubled.graph);
            run.host.forgets = false;
            ggml_backend_graph_compute(run.backend.get(), doubled.graph); // told of a loss, or once more
        }
        ggml_backend_graph_compute(run.backend.get(), doubled.graph);
        run.records.fresh();
        ggml_backend_graph_compute(run.backend.get(), doubled.graph);
        expect_calls(run, {{Call::graph_run, 1}, {Call::graph_keep, 0}}, std::string("a graph is kept, extensions ") + extensions);
    }
}

void numbers_of_a_refused_graph() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    RemoteDevice &device = *run.registry->devices.at(0)->remote;
    const std::vector<uint64_t> numbers{1001, 1002, 1003};
    device.drop_graphs(numbers);
    run.host.refused = static_cast<uint32_t>(Call::graph_keep);
    CapturedLog log;
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "a refused graph");
    run.host.refused = 0;
    expect(device.take_dropped_graphs() == numbers, "what the host may not have dropped is told again");
}

void late_failures() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    ggml_backend_graph_compute(run.backend.get(), doubled.graph);
    run.host.close();
    ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
    ggml_backend_tensor_get_async(run.backend.get(), doubled.output, numbers.data(), 0, count * 4);
    run.channel().lose("the test says so");
    {
        CapturedLog log;
        ggml_backend_synchronize(run.backend.get());
        const std::string text = log.text();
        const size_t told = text.find("sent ahead has failed");
        expect(told != std::string::npos && text.find("sent ahead has failed", told + 1) == std::string::npos,
               "waiting tells of the failure, once: " + text);
    }
    expect(numbers == std::vector<float>(count, 0.0F), "what could not be read is zeros");
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "the next graph tells");
    // The pages that it still answers in go with the session.
    run.host.let_all_through(Call::buffer_get_tensor);
}

// A graph that is awaited comes behind one that failed and that nobody has awaited.
void late_failures_are_told_with_an_awaited_graph() {
    GatedRun run("all");
    Doubled first(run.buft(), count);
    Doubled second(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    for (Doubled *each : {&first, &second}) ggml_backend_tensor_set(each->input, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(run.backend.get(), first.graph) == GGML_STATUS_SUCCESS, "the first time");
    CapturedLog log;
    run.host.forgets = true;
    expect(ggml_backend_graph_compute_async(run.backend.get(), first.graph) == GGML_STATUS_SUCCESS, "sent, and nobody looks");
    expect(ggml_backend_graph_compute_async(run.backend.get(), second.graph) == GGML_STATUS_FAILED, "the next one tells");
    run.host.forgets = false;
    expect(ggml_backend_graph_compute(run.backend.get(), second.graph) == GGML_STATUS_SUCCESS, "once");
}

// One that got no reply in time may yet be computed. What the program writes then is written behind it, in memory that both sides share, too.
void late_graphs(const char *path) {
    Variable deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "500");
    GatedRun run("all", path);
    Context context = guest::test::context();
    ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, count);
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, ggml_scale_inplace(context.get(), tensor, 2.0F));
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(tensor, numbers.data(), 0, count * 4);
    CapturedLog log;
    run.host.close();
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_FAILED, "no reply");
    LateOpening opening(run.host);
    numbers.assign(count, 5.0F);
    ggml_backend_tensor_set(tensor, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "the next one");
    ggml_backend_tensor_get(tensor, numbers.data(), 0, count * 4);
    expect(numbers == std::vector<float>(count, 10.0F), std::string(path) + ": 5 * 2, not " + std::to_string(numbers[0]));
}

// Too large to be sent ahead: carried over at once, and told of like what was sent ahead.
void transfers_that_go_at_once() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    constexpr size_t bytes = size_t{6} << 20;
    Context context = guest::test::context();
    ggml_tensor *large = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, bytes);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
    std::vector<uint8_t> data(bytes, 1);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    for (Call call : {Call::pipe_set_tensor, Call::pipe_get_tensor}) {
        CapturedLog log;
        run.host.refused = static_cast<uint32_t>(call);
        if (call == Call::pipe_set_tensor) ggml_backend_tensor_set_async(run.backend.get(), large, data.data(), 0, bytes);
        else ggml_backend_tensor_get_async(run.backend.get(), large, data.data(), 0, bytes);
        run.host.refused = 0;
        expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, std::string("the next graph tells of ") + call_name(static_cast<uint32_t>(call)));
        expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "once");
    }
    expect(data == std::vector<uint8_t>(bytes, 0), "what could not be read is zeros");
}

// One of several pieces, the first or the last: all of it.
void a_piece_that_is_refused() {
    Variable awaited("GGML_VIRTGPU_WRITE_BEHIND", "off");
    constexpr int64_t many = int64_t{9} << 18; // of 4 bytes: two pieces and a part of a third
    for (const int before : {0, 2}) {
        for (const Call call : {Call::buffer_set_tensor, Call::buffer_get_tensor}) {
            GatedRun run("-pipes,-batch");
            Doubled doubled(run.buft(), many);
            std::vector<float> numbers(many, 3.0F);
            CapturedLog log;
            run.host.before_that = before;
            run.host.refuses_next = static_cast<uint32_t>(call);
            ggml_backend_tensor_set(doubled.input, numbers.data(), 0, numbers.size() * 4);
            ggml_backend_tensor_get(doubled.input, numbers.data(), 0, numbers.size() * 4);
            expect(run.host.refuses_next == 0, "a piece is refused");
            if (call == Call::buffer_get_tensor) expect(numbers == std::vector<float>(many, 0.0F), "what could not all be read is zeros");
            for (const ggml_status status : {GGML_STATUS_FAILED, GGML_STATUS_SUCCESS})
                expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == status, "which the next graph tells: " + log.text());
        }
    }
}

// What a stream reads behind a write of its own that has failed is not what it wrote, however much it is.
void a_read_behind_a_write_that_fails() {
    for (const int64_t much : {count, int64_t{5} << 18}) {
        GatedRun run("all");
        Doubled doubled(run.buft(), much);
        std::vector<float> numbers(static_cast<size_t>(much), 3.0F);
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, numbers.size() * 4);
        run.registry->session().write_behind().settle();
        CapturedLog log;
        run.host.refuses_next = static_cast<uint32_t>(Call::buffer_set_tensor);
        ggml_backend_tensor_set_async(run.backend.get(), doubled.input, numbers.data(), 0, count * 4);
        ggml_backend_tensor_get_async(run.backend.get(), doubled.input, numbers.data(), 0, numbers.size() * 4);
        ggml_backend_synchronize(run.backend.get());
        expect(run.host.refuses_next == 0 && numbers == std::vector<float>(numbers.size(), 0.0F), "nothing is read");
    }
}

// In memory that the host computes in there is no order but to wait.
void writes_to_shared_memory_wait() {
    GatedRun run("all", "shared");
    Doubled doubled(run.buft(), count);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(doubled.input, numbers.data(), 0, count * 4);
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
    run.host.close();
    LateOpening opening(run.host);
    ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
    numbers.assign(count, 5.0F);
    ggml_backend_tensor_set_async(run.backend.get(), doubled.input, numbers.data(), 0, count * 4);
    ggml_backend_synchronize(run.backend.get());
    ggml_backend_tensor_get(doubled.output, numbers.data(), 0, count * 4);
    expect(numbers == std::vector<float>(count, 2.0F), "a graph of what stood there before");
}

// What is in no buffer of the device cannot be carried over, and is told of like any other transfer.
void transfers_of_what_is_elsewhere() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    Context context = guest::test::context();
    ggml_tensor *elsewhere = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, count);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), ggml_backend_cpu_buffer_type()), ggml_backend_buffer_free};
    std::vector<float> numbers(count, 1.0F);
    CapturedLog log;
    for (const char *what : {"a write", "a read"}) {
        if (what[2] == 'r') ggml_backend_tensor_get_async(run.backend.get(), elsewhere, numbers.data(), 0, count * 4);
        else ggml_backend_tensor_set_async(run.backend.get(), elsewhere, numbers.data(), 0, count * 4);
        for (const ggml_status status : {GGML_STATUS_FAILED, GGML_STATUS_SUCCESS})
            expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == status, std::string("a graph behind ") + what);
    }
    expect(numbers == std::vector<float>(count, 0.0F), "what could not be read is zeros");
}

// A sanitizer looks at each byte, and its memory is not there yet: with one half as many threads are enough, but where everything is agreed on.
#ifdef APIR_SANITIZED
constexpr int fewer_threads = 2;
#else
constexpr int fewer_threads = 4;
#endif

// Large transfers go in pieces, several threads at once, with transfers of their own in flight.
void many_transfers(const char *extensions, int thread_count) {
    Run run(extensions);
    constexpr int64_t large = int64_t{10} << 20; // what is not sent ahead goes in two lanes
    std::vector<std::thread> threads;
    for (int thread = 0; thread < thread_count; ++thread) {
        threads.emplace_back([&, thread] {
            Backend own{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
            Context context = guest::test::context();
            ggml_tensor *tensor = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, large);
            Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
            std::vector<int32_t> numbers(large);
            std::iota(numbers.begin(), numbers.end(), thread * 1000);
            size_t bytes = numbers.size() * 4;
            size_t piece = size_t{2} << 20;
            for (size_t at = 0; at < 3 * piece; at += piece)
                ggml_backend_tensor_set_async(own.get(), tensor, reinterpret_cast<uint8_t *>(numbers.data()) + at, at, piece);
            ggml_backend_tensor_set(tensor, reinterpret_cast<uint8_t *>(numbers.data()) + 3 * piece, 3 * piece, bytes - 3 * piece);
            std::vector<int32_t> back(large);
            for (size_t at = 0; at < 3 * piece; at += piece)
                ggml_backend_tensor_get_async(own.get(), tensor, reinterpret_cast<uint8_t *>(back.data()) + at, at, piece);
            ggml_backend_tensor_get(tensor, reinterpret_cast<uint8_t *>(back.data()) + 3 * piece, 3 * piece, bytes - 3 * piece);
            ggml_backend_synchronize(own.get());
            expect(back == numbers, "bytes there and back");
        });
    }
    for (std::thread &thread : threads) thread.join();
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    in_order_without_waiting("copied");
    in_order_without_waiting("shared");
    events_of_other_streams("copied");
    events_of_other_streams("shared");
    events_outlive_streams();
    many_streams();
    lost_graphs();
    lost_changes();
    lost_graphs_make_room();
    numbers_of_a_refused_graph();
    late_failures();
    late_failures_are_told_with_an_awaited_graph();
    for (const char *path : {"copied", "shared"}) late_graphs(path);
    transfers_that_go_at_once();
    a_piece_that_is_refused();
    a_read_behind_a_write_that_fails();
    writes_to_shared_memory_wait();
    transfers_of_what_is_elsewhere();
    many_transfers("all", 4);
    for (const char *extensions : {"-batch", "-pipes", "none"}) many_transfers(extensions, fewer_threads);
    return failures();
}
