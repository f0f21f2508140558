#include "random_program.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace apir::fuzz {

using namespace guest::test;

namespace {

constexpr uint8_t most_of_a_byte = 0x3f; // four of them are a number that sums of stay finite

} // namespace

bool RandomProgram::Graph::uses(size_t memory) const {
    return std::any_of(steps.begin(), steps.end(), [&](const Step &step) {
        return step.a / tensors_of_one == memory || step.b / tensors_of_one == memory || step.d / tensors_of_one == memory;
    });
}

bool Memory::allocate(guest::Registry &registry, int64_t elements) {
    const size_t each = (static_cast<size_t>(elements) * sizeof(float) + 4095) / 4096 * 4096;
    buffer.reset(ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(registry.device()), tensors_of_one * each));
    context = guest::test::context();
    tensors = {};
    if (buffer == nullptr) return false;
    auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer.get()));
    for (size_t i = 0; i < tensors_of_one; ++i) {
        tensors[i] = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, elements);
        ggml_backend_tensor_alloc(buffer.get(), tensors[i], base + i * each);
        held[i].resize(static_cast<size_t>(elements));
    }
    return true;
}

std::unique_ptr<Memory> weights(guest::Registry &registry, MeddlingHost &host, uint64_t seed, int64_t elements) {
    MeddlingHost::Peace peace(host);
    auto made = std::make_unique<Memory>();
    if (!made->allocate(registry, elements)) return nullptr;
    for (ggml_tensor *tensor : made->tensors) ggml_set_name(tensor, "weight"); // for a graph names those that have none
    Random random(seed);
    for (std::vector<float> &held : made->held)
        for (float &each : held) each = static_cast<float>(random.below(1000));
    constexpr int most = 5;
    for (int i = 0; i < most; ++i)
        if (made->write()) return made;
    return nullptr;
}

bool Memory::write() {
    bool right = true;
    for (size_t i = 0; i < tensors_of_one; ++i) {
        std::vector<float> got(held[i].size());
        ggml_backend_tensor_set(tensors[i], held[i].data(), 0, got.size() * sizeof(float));
        ggml_backend_tensor_get(tensors[i], got.data(), 0, got.size() * sizeof(float));
        right = right && got == held[i];
    }
    return right;
}

RandomProgram::RandomProgram(const Setting &setting, uint64_t seed) : setting_(setting), seed_(seed), random_(seed) {
    MeddlingHost::Peace peace(setting_.host);
    if (open_all()) begin_anew();
    else say("lost before it began");
}

RandomProgram::~RandomProgram() {
    MeddlingHost::Peace peace(setting_.host);
    free_all();
}

void RandomProgram::say(const char *form, ...) {
    char line[256];
    const int start = setting_.alone ? 0 : std::snprintf(line, sizeof line, "[%lu] ", seed_ % 100);
    va_list words;
    va_start(words, form);
    std::vsnprintf(line + start, sizeof line - static_cast<size_t>(start), form, words);
    va_end(words);
    setting_.story.add(line);
    setting_.story.add("\n");
}

void RandomProgram::violate(const std::string &what) {
    say("NOT SO: %s", what.c_str());
    violations_.push_back(what);
}

bool RandomProgram::any(size_t &number) {
    number = random_.below(buffers * tensors_of_one);
    return is_there(number);
}

bool RandomProgram::any_readable(size_t &number) {
    number = random_.below(readable());
    return is_there(number);
}

RandomProgram::Range RandomProgram::range() {
    if (random_.one_in(2)) return {0, size()};
    const size_t offset = random_.below(size());
    const size_t most = random_.one_in(2) ? std::min<size_t>(size() - offset, 600) : size() - offset;
    return {offset, 1 + random_.below(most)};
}

RandomProgram::Bytes RandomProgram::numbers(size_t size) {
    Bytes bytes(size);
    for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(random_.below(most_of_a_byte));
    return bytes;
}

void RandomProgram::hold(size_t number, const Range &range, const uint8_t *bytes) {
    std::memcpy(reinterpret_cast<uint8_t *>(held(number).data()) + range.offset, bytes, range.size);
}

RandomProgram::Bytes RandomProgram::right(size_t number, const Range &range) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(held(number).data()) + range.offset;
    return {bytes, bytes + range.size};
}

void RandomProgram::run(int steps) {
    if (streams_[0].backend == nullptr) return setting_.host.meddles() ? void() : violate("there are no streams");
    for (int i = 0; i < steps && violations_.empty() && (setting_.comes_back || !is_lost()); ++i) {
        step();
        demand();
    }
    synchronize_all();
    for (size_t number = 0; number < readable() && violations_.empty(); ++number)
        if (is_there(number)) get(number);
    demand();
    MeddlingHost::Peace peace(setting_.host);
    if (violations_.empty()) begin_anew();
    free_all(); // others wait for a lost device that somebody still has
}

// Where its worker has ended, or after too many calls without a reply: every graph fails from then on. Only for whoever has something of it.
bool RandomProgram::is_lost() const { return setting_.registry.session().channel().lost(); }

void RandomProgram::step() {
    size_t one = 0, other = 0;
    const bool is_one = any(one), is_other = any_readable(other), are_two = is_one && is_other && one != other;
    switch (random_.below(20)) {
    case 0:
    case 1:
    case 2: return is_one ? set(one) : void();
    case 3: return is_one ? set_rows(one) : void();
    case 4:
    case 5: return is_other ? get(other) : void();
    case 6: return is_other ? get_rows(other) : void();
    case 7: return is_one ? fill(one) : void();
    case 8: return is_one ? clear(one) : void();
    case 9: return are_two ? copy(other, one) : void();
    case 10: return is_one ? set_ahead(one) : void();
    case 11: return is_other ? get_ahead(other) : void();
    case 12: return are_two ? copy_ahead(other, one) : void();
    case 13: return compute(false);
    case 14:
    case 15:
    case 16: return compute(true);
    case 17: return synchronize(random_.pick(streams_));
    case 18:
        if (random_.one_in(4)) return renew(random_.below(buffers));
        return random_.one_in(4) ? renew_stream(random_.below(streams)) : ask();
    default: std::this_thread::sleep_for(std::chrono::microseconds(random_.below(2000)));
    }
}

void RandomProgram::set(size_t number) {
    synchronize_all();
    const Range at = range();
    const Bytes bytes = numbers(at.size);
    say("set %zu: %zu bytes at %zu", number, at.size, at.offset);
    if (random_.one_in(4)) {
        Context context = guest::test::context();
        ggml_tensor *view = ggml_view_1d(context.get(), tensor(number), setting_.elements, 0);
        ggml_backend_view_init(view);
        ggml_backend_tensor_set(view, bytes.data(), at.offset, at.size);
    } else {
        ggml_backend_tensor_set(tensor(number), bytes.data(), at.offset, at.size);
    }
    hold(number, at, bytes.data());
}

void RandomProgram::set_rows(size_t number) {
    synchronize_all();
    const size_t pitch = size() / 4, width = 1 + random_.below(pitch);
    const Bytes bytes = numbers(4 * pitch);
    say("set rows of %zu: four times %zu bytes", number, width);
    ggml_backend_tensor_set_2d(tensor(number), bytes.data(), 0, width, 4, pitch, pitch);
    for (size_t row = 0; row < 4; ++row) hold(number, {row * pitch, width}, bytes.data() + row * pitch);
}

void RandomProgram::get(size_t number) {
    synchronize_all();
    const Range at = range();
    Bytes got(at.size, 0xee);
    say("get %zu: %zu bytes at %zu", number, at.size, at.offset);
    ggml_backend_tensor_get(tensor(number), got.data(), at.offset, at.size);
    check(got, right(number, at), "tensor " + std::to_string(number));
}

void RandomProgram::get_rows(size_t number) {
    synchronize_all();
    const size_t pitch = size() / 4, width = 1 + random_.below(pitch);
    Bytes got(4 * pitch, 0xee), expected(4 * pitch, 0xee);
    say("get rows of %zu: four times %zu bytes", number, width);
    ggml_backend_tensor_get_2d(tensor(number), got.data(), 0, width, 4, pitch, pitch);
    for (size_t row = 0; row < 4; ++row) {
        const Bytes part = right(number, {row * pitch, width});
        std::copy(part.begin(), part.end(), expected.begin() + static_cast<ptrdiff_t>(row * pitch));
    }
    check(got, expected, "rows of tensor " + std::to_string(number));
}

void RandomProgram::fill(size_t number) {
    synchronize_all();
    const Range at = range();
    const Bytes bytes(at.size, static_cast<uint8_t>(random_.below(most_of_a_byte)));
    say("fill %zu: %zu bytes at %zu", number, at.size, at.offset);
    ggml_backend_tensor_memset(tensor(number), bytes[0], at.offset, at.size);
    hold(number, at, bytes.data());
}

void RandomProgram::clear(size_t number) {
    synchronize_all();
    const Bytes bytes(size(), static_cast<uint8_t>(random_.below(most_of_a_byte)));
    say("clear the buffer of %zu", number);
    ggml_backend_buffer_clear(memory(number).buffer.get(), bytes[0]);
    for (size_t i = 0; i < tensors_of_one; ++i) hold(number / tensors_of_one * tensors_of_one + i, {0, size()}, bytes.data());
}

void RandomProgram::copy(size_t from, size_t to) {
    synchronize_all();
    say("copy %zu to %zu", from, to);
    ggml_backend_tensor_copy(tensor(from), tensor(to));
    held(to) = held(from);
}

// What is used next of two streams waits for what the other one is at.
RandomProgram::Stream &RandomProgram::use(size_t number) {
    Stream &stream = streams_[number], &other = streams_[1 - number];
    if (other.is_busy) {
        Event event(random_.one_in(2) ? ggml_backend_event_new(setting_.registry.device()) : nullptr, ggml_backend_event_free);
        if (event == nullptr) {
            synchronize(other);
        } else {
            say("stream %zu waits for an event of the other one", number);
            ggml_backend_event_record(event.get(), other.backend.get());
            ggml_backend_event_wait(stream.backend.get(), event.get());
        }
    }
    stream.is_busy = true;
    return stream;
}

void RandomProgram::set_ahead(size_t number) {
    const size_t by = random_.below(streams);
    Stream &stream = use(by);
    const Range at = range();
    stream.sent.push_back(numbers(at.size));
    say("set %zu by stream %zu: %zu bytes at %zu", number, by, at.size, at.offset);
    ggml_backend_tensor_set_async(stream.backend.get(), tensor(number), stream.sent.back().data(), at.offset, at.size);
    hold(number, at, stream.sent.back().data());
}

void RandomProgram::get_ahead(size_t number) {
    const size_t by = random_.below(streams);
    Stream &stream = use(by);
    const Range at = range();
    stream.readings.push_back({Bytes(at.size, 0xee), right(number, at), "tensor " + std::to_string(number) + ", not awaited"});
    say("get %zu by stream %zu: %zu bytes at %zu", number, by, at.size, at.offset);
    ggml_backend_tensor_get_async(stream.backend.get(), tensor(number), stream.readings.back().got.data(), at.offset, at.size);
}

void RandomProgram::copy_ahead(size_t from, size_t to) {
    const size_t by = random_.below(streams);
    Stream &other = use(1 - by);
    Stream &stream = use(by);
    other.is_busy = true;
    say("copy %zu to %zu by stream %zu", from, to, by);
    ggml_backend_tensor_copy_async(other.backend.get(), stream.backend.get(), tensor(from), tensor(to));
    held(to) = held(from);
}

void RandomProgram::build(Graph &graph, size_t steps) {
    graph.context = guest::test::context();
    graph.graph = ggml_new_graph(graph.context.get());
    graph.steps.clear();
    std::vector<ggml_tensor *> now(readable());
    for (size_t i = 0; i < now.size(); ++i) now[i] = tensor(i);
    for (size_t i = 0; i < steps; ++i) {
        Step step{};
        if (!any_readable(step.a) || !any_readable(step.b) || !any(step.d)) continue;
        ggml_tensor *sum = ggml_add(graph.context.get(), now[step.a], now[step.b]);
        ggml_tensor *half = ggml_scale(graph.context.get(), sum, 0.5F);
        for (ggml_tensor *node : {sum, half})
            ggml_backend_tensor_alloc(memory(step.d).buffer.get(), node, tensor(step.d)->data);
        ggml_build_forward_expand(graph.graph, half);
        now[step.d] = half;
        graph.steps.push_back(step);
    }
}

RandomProgram::Graph *RandomProgram::any_graph() {
    if (graphs_.size() >= 4 && random_.one_in(4)) graphs_.pop_front();
    if (graphs_.size() < 2 || (graphs_.size() < 6 && random_.one_in(4))) {
        build(graphs_.emplace_back(), 1 + random_.below(5));
        if (graphs_.back().steps.empty()) return graphs_.pop_back(), nullptr;
    }
    auto graph = std::next(graphs_.begin(), static_cast<ptrdiff_t>(random_.below(graphs_.size())));
    if (random_.one_in(5)) build(*graph, graph->steps.size()); // in another place, much like it
    if (!graph->steps.empty()) return &*graph;
    graphs_.erase(graph);
    return nullptr;
}

void RandomProgram::compute(bool ahead) {
    Graph *graph = any_graph();
    if (graph == nullptr) return;
    const size_t by = random_.below(streams);
    Stream &stream = use(by);
    std::string what;
    for (const Step &step : graph->steps) what += " " + std::to_string(step.a) + "," + std::to_string(step.b) + ">" + std::to_string(step.d);
    const ggml_status status = ahead ? ggml_backend_graph_compute_async(stream.backend.get(), graph->graph) :
                                       ggml_backend_graph_compute(stream.backend.get(), graph->graph);
    say("compute%s by stream %zu: %d, of%s", ahead ? " ahead" : "", by, static_cast<int>(status), what.c_str());
    if (status != GGML_STATUS_SUCCESS) {
        is_told_ = true;
        return;
    }
    for (const Step &step : graph->steps) {
        std::vector<float> result(held(step.a).size());
        for (size_t i = 0; i < result.size(); ++i) result[i] = (held(step.a)[i] + held(step.b)[i]) * 0.5F;
        held(step.d) = std::move(result);
    }
    if (!ahead) synchronize(stream);
}

void RandomProgram::renew(size_t number) {
    synchronize_all();
    say("free buffer %zu", number);
    graphs_.remove_if([number](const Graph &graph) { return graph.uses(number); });
    Memory &memory = memories_[number];
    memory.buffer.reset();
    if (!memory.allocate(setting_.registry, setting_.elements)) return;
    for (size_t i = 0; i < tensors_of_one; ++i) {
        const Bytes bytes = numbers(size());
        ggml_backend_tensor_set(memory.tensors[i], bytes.data(), 0, size());
        hold(number * tensors_of_one + i, {0, size()}, bytes.data());
    }
}

// Which of the two tells of what has failed before is not laid down then.
void RandomProgram::renew_stream(size_t number) {
    Backend another(ggml_backend_dev_init(setting_.registry.device(), nullptr), ggml_backend_free);
    if (another == nullptr) return say("there is no other stream"); // of a lost device
    say("free stream %zu", number);
    synchronize(streams_[number]);
    streams_[number].backend = std::move(another);
}

void RandomProgram::ask() {
    size_t free_bytes = 0, total = 0;
    ggml_backend_dev_memory(setting_.registry.device(), &free_bytes, &total);
}

void RandomProgram::synchronize(Stream &stream) {
    if (stream.is_busy) say("synchronize stream %d", static_cast<int>(&stream - streams_.data()));
    ggml_backend_synchronize(stream.backend.get());
    stream.is_busy = false;
    stream.sent.clear();
    for (const Reading &reading : stream.readings) check(reading.got, reading.right, reading.what);
    stream.readings.clear();
}

void RandomProgram::synchronize_all() {
    for (Stream &stream : streams_)
        if (stream.is_busy) synchronize(stream);
}

void RandomProgram::check(const Bytes &got, const Bytes &right, const std::string &what) {
    ++checked_;
    if (got == right || is_told_) return;
    const auto at = std::mismatch(got.begin(), got.end(), right.begin()).first - got.begin();
    size_t differing = 0;
    for (size_t i = 0; i < got.size(); ++i) differing += got[i] != right[i];
    say("wrong from byte %td on, %zu of %zu bytes, %#x for %#x: %s", at, differing, got.size(), got[static_cast<size_t>(at)],
        right[static_cast<size_t>(at)], what.c_str());
    if (wrong_.empty()) wrong_ = what;
}

bool RandomProgram::open(Stream &stream) {
    ggml_backend_dev_t device = setting_.registry.device();
    stream.backend.reset(ggml_backend_dev_init(device, nullptr));
    stream.buffer.reset(ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device), 8192));
    if (stream.backend == nullptr || stream.buffer == nullptr) return false;
    stream.context = guest::test::context();
    ggml_tensor *input = ggml_new_tensor_1d(stream.context.get(), GGML_TYPE_F32, 8);
    ggml_tensor *output = ggml_scale(stream.context.get(), input, 2.0F);
    auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(stream.buffer.get()));
    ggml_backend_tensor_alloc(stream.buffer.get(), input, base);
    ggml_backend_tensor_alloc(stream.buffer.get(), output, base + 4096);
    stream.telling = ggml_new_graph(stream.context.get());
    ggml_build_forward_expand(stream.telling, output);
    return true;
}

bool RandomProgram::open_all() {
    if (std::all_of(streams_.begin(), streams_.end(), [this](Stream &stream) { return open(stream); })) return true;
    free_all();
    return false;
}

void RandomProgram::free_all() {
    graphs_.clear();
    for (Memory &memory : memories_) memory.buffer.reset();
    for (Stream &stream : streams_) {
        stream.backend.reset();
        stream.buffer.reset();
        stream.is_busy = false;
        stream.sent.clear();
        stream.readings.clear();
    }
}

// Once nobody has anything of the lost one.
bool RandomProgram::has_device() {
    if (!is_lost()) return true;
    if (!setting_.comes_back) return false;
    say("lost: all is freed");
    free_all();
    constexpr std::chrono::seconds most{60};
    for (const auto until = guest::Clock::now() + most; !open_all(); std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
        if (guest::Clock::now() < until) continue;
        violate("the lost device does not come back");
        return false;
    }
    say("it is back");
    return true;
}

bool RandomProgram::tells() {
    bool is_told = false;
    for (Stream &stream : streams_)
        if (told_by(stream) != GGML_STATUS_SUCCESS) is_told = true;
    return is_told;
}

ggml_status RandomProgram::told_by(Stream &stream) { return ggml_backend_graph_compute(stream.backend.get(), stream.telling); }

// Whoever has read what is wrong without having been told is told now. After that, or when the program was told, all begins anew.
void RandomProgram::demand() {
    if (wrong_.empty() && !is_told_) return;
    MeddlingHost::Peace peace(setting_.host);
    if (!setting_.host.meddles()) violate(is_told_ ? "a graph was refused for nothing" : wrong_ + " was wrong for nothing");
    else if (!is_told_ && !tells()) violate(wrong_ + " was wrong, and no graph behind it was refused");
    ++told_;
    begin_anew();
}

// A machine that is too busy for a deadline is a host that fails: then it is told, and tried again.
void RandomProgram::begin_anew() {
    is_told_ = true; // of all that is behind
    constexpr int most = 5;
    for (int i = 0; i < most && has_device(); ++i) {
        settle();
        if (!write_all()) continue;
        wrong_ = wrong_now();
        if (wrong_.empty()) {
            is_told_ = false;
            return say("begun anew");
        }
        if (!tells()) return violate(wrong_ + " was wrong behind a new start, and no graph behind it was refused");
    }
    if (has_device()) violate("there is no new start");
}

// Until no stream has more to tell: what others lose meanwhile is told, too.
void RandomProgram::settle() {
    constexpr int most = 400;
    int tries = 0;
    for (Stream &stream : streams_) {
        synchronize(stream);
        while (told_by(stream) != GGML_STATUS_SUCCESS && ++tries < most && !is_lost())
            if (tries > 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (tries == most || (setting_.alone && tries > 20)) violate("graphs are refused again and again");
}

bool RandomProgram::write_all() {
    for (size_t i = 0; i < buffers; ++i) {
        if (memories_[i].buffer == nullptr && !memories_[i].allocate(setting_.registry, setting_.elements)) return false;
        for (size_t j = 0; j < tensors_of_one; ++j) {
            const Bytes bytes = numbers(size());
            ggml_backend_tensor_set(memories_[i].tensors[j], bytes.data(), 0, size());
            hold(i * tensors_of_one + j, {0, size()}, bytes.data());
        }
    }
    return true;
}

std::string RandomProgram::wrong_now() {
    for (size_t number = 0; number < readable(); ++number) {
        Bytes got(size(), 0xee);
        ggml_backend_tensor_get(tensor(number), got.data(), 0, size());
        if (got != right(number, {0, size()})) return "tensor " + std::to_string(number);
    }
    return "";
}

} // namespace apir::fuzz
