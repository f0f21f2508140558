// What a graph that was sent ahead was to write, once it has failed: nobody gets what stood there before for its result.
//
// Usage: test-guest-doubtful HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <numeric>

#include "gated_run.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

constexpr int64_t count = 4096;
const std::vector<float> zeros(count, 0.0F);

// numbers of another tensor, tripled, in a buffer of its own.
struct Tripled {
    Tripled(ggml_backend_buffer_type_t buft, ggml_tensor *of)
        : context(guest::test::context()), output(ggml_scale(context.get(), of, 3.0F)), graph(ggml_new_graph(context.get())) {
        ggml_build_forward_expand(graph, output);
        buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(context.get(), buft));
    }

    Context context;
    ggml_tensor *output;
    ggml_cgraph *graph;
    Buffer buffer{nullptr, ggml_backend_buffer_free};
};

// A graph of one stream that is computed twice: 2 * 7 the first time, and the second time the host refuses it, of which the program is told that it went well.
struct FailedRun : GatedRun {
    explicit FailedRun(const char *path) : GatedRun("all", path), source(buft(), nothing()), failed(buft(), source.tensor) {
        write(7.0F);
        expect(compute() == GGML_STATUS_SUCCESS, "the first time");
        write(70.0F);
        fail();
    }

    // A tensor by itself.
    struct Source {
        Source(ggml_backend_buffer_type_t buft, Context &&own) : context(std::move(own)), tensor(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, count)) {
            buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(context.get(), buft));
        }
        Context context;
        ggml_tensor *tensor;
        Buffer buffer{nullptr, ggml_backend_buffer_free};
    };
    static Context nothing() { return guest::test::context(); }

    void write(float number) {
        const std::vector<float> numbers(count, number);
        ggml_backend_tensor_set(source.tensor, numbers.data(), 0, count * 4);
        registry->session().write_behind().settle(); // it goes along with no graph
    }
    ggml_status compute() { return ggml_backend_graph_compute(backend.get(), failed.graph); }
    void fail() {
        host.refused = static_cast<uint32_t>(Call::graph_run);
        expect(compute() == GGML_STATUS_SUCCESS, "sent ahead");
        host.refused = 0;
    }
    Backend another() { return {ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free}; }

    CapturedLog log;
    Source source;
    Tripled failed;
};

std::vector<float> numbers_in(const ggml_tensor *tensor) {
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_get(tensor, numbers.data(), 0, count * 4);
    return numbers;
}

// Each way to read it, until the next graph has told.
void reads(const char *path) {
    for (const bool waits : {true, false}) {
        const std::string what = std::string(path) + (waits ? ", a read that waits" : ", a read in order");
        FailedRun run(path);
        std::vector<float> numbers(count, 1.0F);
        if (waits) {
            numbers = numbers_in(run.failed.output);
        } else {
            ggml_backend_tensor_get_async(run.backend.get(), run.failed.output, numbers.data(), 0, count * 4);
            ggml_backend_synchronize(run.backend.get());
        }
        expect(numbers == zeros, what + ": not what stood there before");
        expect(run.compute() == GGML_STATUS_FAILED, what + ": the next graph tells");
        expect(run.compute() == GGML_STATUS_SUCCESS, what + ": once");
        expect(numbers_in(run.failed.output) == std::vector<float>(count, 210.0F), what + ": and then all is as ever");
    }
}

// Sent and read with nobody looking in between, as programs do that wait once.
void reads_in_a_row(const char *path) {
    for (const size_t bytes : {size_t{count} * 4, size_t{6} << 20}) { // the larger one is not sent ahead
        GatedRun run("all", path);
        Context context = guest::test::context();
        ggml_tensor *input = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, static_cast<int64_t>(bytes / 4));
        ggml_tensor *output = ggml_add(context.get(), input, input);
        ggml_cgraph *graph = ggml_new_graph(context.get());
        ggml_build_forward_expand(graph, output);
        Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
        std::vector<float> numbers(bytes / 4, 1.0F);
        ggml_backend_tensor_set(input, numbers.data(), 0, bytes);
        expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "the first time");
        CapturedLog log;
        run.host.refused = static_cast<uint32_t>(Call::graph_run);
        ggml_backend_graph_compute_async(run.backend.get(), graph);
        ggml_backend_tensor_get_async(run.backend.get(), output, numbers.data(), 0, bytes);
        ggml_backend_synchronize(run.backend.get());
        run.host.refused = 0;
        expect(numbers == std::vector<float>(bytes / 4, 0.0F), std::string(path) + ": not what stood there before");
        expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_FAILED, "the next graph tells");
        expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "once");
        run.channel().lose("the test says so");
        for (const bool waits : {false, true}) {
            numbers.assign(bytes / 4, 1.0F);
            if (waits) ggml_backend_tensor_get(output, numbers.data(), 0, bytes);
            else ggml_backend_tensor_get_async(run.backend.get(), output, numbers.data(), 0, bytes);
            expect(numbers == std::vector<float>(bytes / 4, 0.0F), "nor what a lost device has left");
        }
    }
}

// Another stream's reads, and a graph of the same stream that was on its way behind it.
void others_read(const char *path) {
    FailedRun run(path);
    Backend other = run.another();
    for (const bool freed : {false, true}) {
        if (freed) run.backend.reset();
        std::vector<float> numbers(count, 1.0F);
        ggml_backend_tensor_get_async(other.get(), run.failed.output, numbers.data(), 0, count * 4);
        ggml_backend_synchronize(other.get());
        expect(numbers == zeros, std::string(path) + (freed ? ", the stream freed" : "") + ": another stream's read");
    }
}

// The same where a graph, of the one stream or the other, tells of the failure before that read has ended.
void others_read_while_it_is_told(const char *path) {
    for (const bool by_reader : {false, true}) {
        FailedRun run(path);
        Tripled next(run.buft(), run.failed.output);
        Backend other = run.another();
        std::vector<float> numbers(count, 1.0F);
        ggml_backend_tensor_get_async(other.get(), run.failed.output, numbers.data(), 0, count * 4);
        const ggml_status told = by_reader ? ggml_backend_graph_compute_async(other.get(), next.graph) : run.compute();
        expect(told == GGML_STATUS_FAILED, "a graph tells");
        ggml_backend_synchronize(other.get());
        expect(numbers == zeros, std::string(path) + ": another stream's read, told by " + (by_reader ? "its own graph" : "the failed stream's"));
    }
}

void graphs_in_a_row(const char *path) {
    GatedRun run("all", path);
    Doubled first(run.buft(), count);
    Tripled second(run.buft(), first.output);
    const std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(first.input, numbers.data(), 0, count * 4);
    for (ggml_cgraph *graph : {first.graph, second.graph})
        expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "the first time");
    CapturedLog log;
    run.host.close();
    run.host.refuses_next = static_cast<uint32_t>(Call::graph_run);
    for (ggml_cgraph *graph : {first.graph, second.graph})
        expect(ggml_backend_graph_compute_async(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "sent ahead");
    run.host.open();
    ggml_backend_synchronize(run.backend.get());
    expect(numbers_in(second.output) == zeros, std::string(path) + ": what was computed from what was not");
}

// A graph that tells of it while a read behind it is still in flight, as where a scheduler waits for an event: that read is of before.
void told_while_more_is_in_flight(const char *path) {
    GatedRun run("all", path);
    Doubled first(run.buft(), count);
    Tripled second(run.buft(), first.output);
    std::vector<float> numbers(count, 1.0F);
    ggml_backend_tensor_set(first.input, numbers.data(), 0, count * 4);
    for (ggml_cgraph *graph : {first.graph, second.graph})
        expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "the first time");
    CapturedLog log;
    ggml_backend_event_t event = ggml_backend_event_new(run.registry->device());
    run.host.refuses_next = static_cast<uint32_t>(Call::graph_run);
    ggml_backend_graph_compute_async(run.backend.get(), first.graph);
    ggml_backend_event_record(event, run.backend.get());
    ggml_backend_graph_compute_async(run.backend.get(), second.graph);
    ggml_backend_tensor_get_async(run.backend.get(), second.output, numbers.data(), 0, count * 4);
    ggml_backend_event_synchronize(event);
    ggml_backend_event_free(event);
    expect(ggml_backend_graph_compute_async(run.backend.get(), first.graph) == GGML_STATUS_FAILED, "the next graph tells");
    ggml_backend_synchronize(run.backend.get());
    expect(numbers == zeros, std::string(path) + ": what was on its way when it was told");
    expect(ggml_backend_graph_compute(run.backend.get(), first.graph) == GGML_STATUS_SUCCESS, "once");
}

// Another stream's graph that goes on from there, whether the first one is still there or not.
void another_stream_computes_with_it(const char *path) {
    for (const bool freed : {false, true}) {
        const std::string what = std::string(path) + (freed ? ", the stream freed" : "");
        FailedRun run(path);
        Tripled next(run.buft(), run.failed.output);
        Backend other = run.another();
        if (freed) run.backend.reset();
        expect(ggml_backend_graph_compute(other.get(), next.graph) == GGML_STATUS_FAILED, what + ": it is refused");
        expect(run.log.text().find("another graph that was to compute") != std::string::npos, what + ": the log tells why");
        expect(ggml_backend_graph_compute(other.get(), next.graph) == GGML_STATUS_SUCCESS, what + ": once");
    }
}

// A stream that has ended tells nobody: the next graph that is refused does, for whatever cause, and then it is read as it stands.
void any_graph_tells_of_a_stream_that_has_ended(const char *path) {
    FailedRun run(path);
    Tripled unrelated(run.buft(), run.source.tensor);
    Backend other = run.another();
    run.backend.reset();
    expect(numbers_in(run.failed.output) == zeros, std::string(path) + ": nobody was told"); // which is told by the next graph, as is any read of zeros
    expect(ggml_backend_graph_compute(other.get(), unrelated.graph) == GGML_STATUS_FAILED, std::string(path) + ": a graph that does not read it");
    expect(numbers_in(run.failed.output) == std::vector<float>(count, 21.0F), std::string(path) + ": what stood there before");
}

// One refusal tells of all of its buffers.
void more_than_one_buffer(const char *path) {
    GatedRun run("all", path);
    FailedRun::Source source(run.buft(), FailedRun::nothing());
    Context context = guest::test::context();
    ggml_tensor *outputs[] = {ggml_scale(context.get(), source.tensor, 2.0F), ggml_scale(context.get(), source.tensor, 3.0F)};
    ggml_cgraph *graph = ggml_new_graph(context.get());
    Buffer buffers[] = {run.buffer(count * 4), run.buffer(count * 4)};
    for (int i = 0; i < 2; ++i) {
        ggml_build_forward_expand(graph, outputs[i]);
        ggml_backend_tensor_alloc(buffers[i].get(), outputs[i], ggml_backend_buffer_get_base(buffers[i].get()));
    }
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "the first time");
    CapturedLog log;
    run.host.refused = static_cast<uint32_t>(Call::graph_run);
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "sent ahead");
    run.host.refused = 0;
    Context own = guest::test::context();
    ggml_tensor *sum = ggml_add(own.get(), outputs[0], outputs[1]);
    ggml_cgraph *both = ggml_new_graph(own.get());
    ggml_set_output(sum);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(own.get(), run.buft()), ggml_backend_buffer_free};
    ggml_build_forward_expand(both, sum);
    Backend other{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
    for (ggml_status status : {GGML_STATUS_FAILED, GGML_STATUS_SUCCESS})
        expect(ggml_backend_graph_compute(other.get(), both) == status, std::string(path) + ": a graph that reads two of them is refused once");
}

// By way of another buffer, as a scheduler carries it from device to device.
void it_is_copied(const char *path) {
    FailedRun run(path);
    FailedRun::Source elsewhere(run.buft(), FailedRun::nothing());
    Tripled next(run.buft(), elsewhere.tensor);
    Backend other = run.another();
    ggml_backend_tensor_copy(run.failed.output, elsewhere.tensor);
    expect(ggml_backend_graph_compute(other.get(), next.graph) == GGML_STATUS_FAILED, std::string(path) + ": a graph with a copy of it");
    expect(ggml_backend_graph_compute(other.get(), next.graph) == GGML_STATUS_SUCCESS, std::string(path) + ": is refused once");
}

// What the graph only reads, and what has nothing to do with it, stays what it is.
void others_are_left_alone(const char *path) {
    FailedRun run(path);
    Tripled unrelated(run.buft(), run.source.tensor);
    Backend other = run.another();
    expect(numbers_in(run.source.tensor) == std::vector<float>(count, 70.0F), std::string(path) + ": what it was to read can be read");
    expect(ggml_backend_graph_compute(other.get(), unrelated.graph) == GGML_STATUS_SUCCESS, std::string(path) + ": another stream's graph");
    expect(numbers_in(unrelated.output) == std::vector<float>(count, 210.0F), std::string(path) + ": and its result");
}

// A freed buffer that is given anew, which the host calls by the same number, has nothing of it.
void buffer_is_given_anew(const char *path) {
    FailedRun run(path);
    run.failed.buffer.reset();
    FailedRun::Source anew(run.buft(), FailedRun::nothing());
    const std::vector<float> numbers(count, 5.0F);
    ggml_backend_tensor_set(anew.tensor, numbers.data(), 0, count * 4);
    expect(numbers_in(anew.tensor) == numbers, std::string(path) + ": a buffer that is given anew");
}

// A program may write by one stream and compute by another.
void another_streams_transfer() {
    GatedRun run("all");
    Doubled doubled(run.buft(), count);
    Backend upload{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
    const std::vector<float> numbers(count, 1.0F);
    CapturedLog log;
    run.host.refused = static_cast<uint32_t>(Call::buffer_set_tensor);
    ggml_backend_tensor_set_async(upload.get(), doubled.input, numbers.data(), 0, count * 4);
    ggml_backend_synchronize(upload.get());
    run.host.refused = 0;
    upload.reset();
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "a graph behind another stream's write that failed");
    expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "is refused once");
}

// A write that is not awaited fails, and a graph that was sent ahead behind it has computed without it.
void a_write_before_it_has_failed() {
    Variable left("GGML_VIRTGPU_WRITE_BEHIND", "on");
    constexpr int64_t many = 400000; // more than goes along with the graph
    for (const bool waits : {true, false}) {
        GatedRun run("all");
        Doubled doubled(run.buft(), many);
        std::vector<float> numbers(many, 1.0F);
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, many * 4);
        for (int i = 0; i < 2; ++i) expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "before");
        numbers.assign(many, 5.0F);
        CapturedLog log;
        run.host.close();
        run.host.refuses_next = static_cast<uint32_t>(Call::buffer_set_tensor);
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, many * 4);
        expect(ggml_backend_graph_compute_async(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "sent ahead");
        if (!waits) ggml_backend_tensor_get_async(run.backend.get(), doubled.output, numbers.data(), 0, many * 4);
        run.host.open();
        ggml_backend_synchronize(run.backend.get());
        if (waits) ggml_backend_tensor_get(doubled.output, numbers.data(), 0, many * 4);
        expect(numbers == std::vector<float>(many, 0.0F), std::string("not what was computed without it, a read that ") + (waits ? "waits" : "is in order"));
        expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "the next graph tells");
        expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "once");
    }
}

// A small write goes along with whatever is sent next, as with another stream's graph: nobody need have looked at that one's reply.
void a_write_that_went_along_has_failed() {
    constexpr int64_t few = 64;
    for (const bool ahead : {true, false}) {
        GatedRun run("all");
        Backend other{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
        Doubled doubled(run.buft(), few);
        Doubled others(run.buft(), few);
        std::vector<float> numbers(few, 1.0F);
        for (Doubled *each : {&doubled, &others}) ggml_backend_tensor_set(each->input, numbers.data(), 0, few * 4);
        if (ahead) expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "the first time");
        expect(ggml_backend_graph_compute(other.get(), others.graph) == GGML_STATUS_SUCCESS, "and another stream's");
        numbers.assign(few, 5.0F);
        CapturedLog log;
        run.host.close();
        ggml_backend_tensor_set(doubled.input, numbers.data(), 0, few * 4);
        run.host.refuses_next = static_cast<uint32_t>(Call::batch);
        expect(ggml_backend_graph_compute_async(other.get(), others.graph) == GGML_STATUS_SUCCESS, "takes it along");
        if (!ahead) run.host.open();
        const ggml_status status = ggml_backend_graph_compute_async(run.backend.get(), doubled.graph);
        expect(status == (ahead ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED), "a graph behind it");
        run.host.open();
        ggml_backend_synchronize(run.backend.get());
        ggml_backend_tensor_get(doubled.output, numbers.data(), 0, few * 4);
        if (ahead) expect(numbers == std::vector<float>(few, 0.0F), "not what was computed without it: " + std::to_string(numbers[0]));
        if (ahead) expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_FAILED, "the next graph tells");
        expect(ggml_backend_graph_compute(run.backend.get(), doubled.graph) == GGML_STATUS_SUCCESS, "once");
    }
}

// An optimizer's step writes two of its sources as well.
void sources_that_are_written(const char *path) {
    GatedRun run("all", path);
    FailedRun::Source weights(run.buft(), FailedRun::nothing());
    FailedRun::Source gradient(run.buft(), FailedRun::nothing());
    FailedRun::Source momenta[] = {{run.buft(), FailedRun::nothing()}, {run.buft(), FailedRun::nothing()}};
    Context context = guest::test::context();
    ggml_tensor *parameters = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 7);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
    Context own = guest::test::context();
    ggml_set_param(weights.tensor);
    ggml_tensor *step = ggml_opt_step_adamw(own.get(), weights.tensor, gradient.tensor, momenta[0].tensor, momenta[1].tensor, parameters);
    ggml_backend_view_init(step);
    ggml_cgraph *graph = ggml_new_graph(own.get());
    ggml_build_forward_expand(graph, step);
    const std::vector<float> ones(count, 1.0F);
    for (const ggml_tensor *each : {weights.tensor, gradient.tensor, momenta[0].tensor, momenta[1].tensor})
        ggml_backend_tensor_set(const_cast<ggml_tensor *>(each), ones.data(), 0, count * 4);
    const float values[] = {0.1F, 0.9F, 0.99F, 1e-8F, 0.1F, 1.0F, 1.0F};
    ggml_backend_tensor_set(parameters, values, 0, sizeof values);
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "the first time");
    expect(numbers_in(momenta[0].tensor) != zeros, "what is written");
    CapturedLog log;
    run.host.refused = static_cast<uint32_t>(Call::graph_run);
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "sent ahead");
    run.host.refused = 0;
    for (const FailedRun::Source &each : momenta) expect(numbers_in(each.tensor) == zeros, std::string(path) + ": a source that it was to write");
    expect(numbers_in(gradient.tensor) == ones, std::string(path) + ": one that it only reads");
}

} // namespace

int main(int arguments, char **values) {
    if (!use_libraries(arguments, values)) return 2;
    for (const char *path : {"copied", "shared"}) {
        reads(path);
        reads_in_a_row(path);
        others_read(path);
        others_read_while_it_is_told(path);
        graphs_in_a_row(path);
        told_while_more_is_in_flight(path);
        more_than_one_buffer(path);
        another_stream_computes_with_it(path);
        any_graph_tells_of_a_stream_that_has_ended(path);
        it_is_copied(path);
        others_are_left_alone(path);
        buffer_is_given_anew(path);
        sources_that_are_written(path);
    }
    another_streams_transfer();
    a_write_before_it_has_failed();
    a_write_that_went_along_has_failed();
    return failures();
}
