// The mutation driver: messages of a hostile guest to the host library, in-process, thousands a second; README.md tells the options.
//
// Every message is made from the seed and its number alone. They are run in a child that starts anew every `--renew` messages;
// a death, a hang, or a wrong answer of the known graph afterwards is counted, the messages that do it are looked for and saved.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

#include <unistd.h>

#include <apir_gen.hpp>
#include <ggml.h>

#include "cpu_variant.hpp"
#include "generate.hpp"
#include "host_world.hpp"
#include "supervise.hpp"
#include "trace_seed.hpp"

using namespace apir;
using namespace apir::fuzz;

namespace {

struct Options {
    std::string host_library, ggml_library, seeds, traces, family, out = ".", replay, show, minimise;
    std::map<std::string, std::string> config{{"ggml.threads", "1"}, {"ggml.graph_work", "3e8"}};
    uint64_t count = 10000, first = 0, seed = 1, strides = 0, most_findings = 100, renew = 256;
    double hang_s = 10;
};

[[noreturn]] void usage(const std::string &why) {
    std::cerr << why << "\nusage: host-mutations --host-library FILE --ggml-library FILE|FOLDER --seeds FILE [--traces FOLDER] [--count N] [--first N] "
                 "[--seed N] [--family OP] [--strides 1] [--out FOLDER] [--hang-s N] [--most-findings N] [--renew N] [--config KEY=VALUE]… [--replay FILE | --minimise FILE | --show FILE]\n";
    std::exit(2);
}

Options options_of(int count, char **values) {
    Options options;
    std::map<std::string, std::string *> texts{
        {"--host-library", &options.host_library}, {"--ggml-library", &options.ggml_library}, {"--seeds", &options.seeds},
        {"--traces", &options.traces},             {"--family", &options.family},             {"--out", &options.out},
        {"--replay", &options.replay},             {"--show", &options.show},                 {"--minimise", &options.minimise}};
    std::map<std::string, uint64_t *> numbers{
        {"--count", &options.count}, {"--first", &options.first}, {"--seed", &options.seed}, {"--strides", &options.strides}, {"--most-findings", &options.most_findings}, {"--renew", &options.renew}};
    for (int i = 1; i < count; ++i) {
        std::string name = values[i];
        if (i + 1 == count) usage(name + " lacks its value");
        std::string value = values[++i];
        if (auto text = texts.find(name); text != texts.end()) *text->second = value;
        else if (auto number = numbers.find(name); number != numbers.end()) *number->second = std::stoull(value);
        else if (name == "--hang-s") options.hang_s = std::stod(value);
        else if (size_t equals = value.find('='); name == "--config" && equals != std::string::npos)
            options.config[value.substr(0, equals)] = value.substr(equals + 1);
        else usage("unknown: " + name);
    }
    if (options.show.empty() && (options.host_library.empty() || options.ggml_library.empty())) usage("which libraries?");
    if (options.renew == 0) usage("--renew 0");
    if (std::filesystem::is_directory(options.ggml_library)) {
        const std::string best = best_cpu_variant(options.ggml_library);
        if (best.empty()) usage("no libggml-cpu*.so in " + options.ggml_library + " runs on this processor");
        options.ggml_library = best;
    }
    options.config["ggml.library.path"] = options.ggml_library;
    return options;
}

// Ends the process when the known graph does not work any more.
void check(HostWorld &world) {
    if (!world.known_graph_works()) _exit(wrong_status);
}

class Driver {
  public:
    explicit Driver(const Options &options) : options_(options), supervisor_(options.hang_s) {}

    int run();
    int replay(const std::string &path);
    int minimise(const std::string &path);

  private:
    Generator generator(const Handles &handles) const {
        auto recorded = options_.traces.empty() ? std::vector<Message>{} : recorded_messages(options_.traces, handles);
        if (recorded.empty() && !options_.traces.empty()) {
            std::cerr << "no recorded message in " << options_.traces << "\n";
            _exit(unable_status);
        }
        auto seeds = options_.seeds.empty() ? std::vector<OpSeed>{} : read_op_seeds(options_.seeds);
        return Generator(std::move(seeds), std::move(recorded), options_.family, options_.seed, options_.strides != 0);
    }
    void run_numbers(uint64_t begin, uint64_t end, Progress &progress) const;
    bool dies(const std::vector<Message> &messages, const std::string &log = "/dev/null");
    std::vector<Message> messages(uint64_t begin, uint64_t end) const;
    std::string keep_finding(const Ended &ended, uint64_t begin);

    const Options &options_;
    Supervisor supervisor_;
};

void Driver::run_numbers(uint64_t begin, uint64_t end, Progress &progress) const {
    HostWorld world(options_.host_library, options_.config);
    Generator generate = generator(world.handles());
    for (uint64_t number = begin; number < end; ++number) {
        if (number % options_.renew == 0 && number != begin) world.renew();
        progress.number = number;
        Message message = generate.message(number, world.handles());
        size_t kind = std::min<size_t>(message.call, Progress::kinds - 1);
        ++progress.tried_of_kind[kind];
        bool done = world.run(message) == Outcome::done;
        ++(done ? progress.done : progress.refused);
        if (done) ++progress.done_of_kind[kind];
        check(world);
    }
}

// Whether a fresh world does not survive them, or ends before it is through. The log tells what became of each.
bool Driver::dies(const std::vector<Message> &messages, const std::string &log) {
    auto work = [&](Progress &progress) {
        HostWorld world(options_.host_library, options_.config);
        progress.number = 0;
        for (const Message &message : messages) {
            ++progress.number;
            const bool done = world.run(message) == Outcome::done;
            std::fprintf(stderr, "%s: %s\n", call_name(message.call), done ? "carried out" : "refused");
            check(world);
        }
        ++progress.number;
    };
    return supervisor_.run(work, log).ending != Ending::finished || supervisor_.progress().number != messages.size() + 1;
}

// Made by a child as well: the parent has no world, and with it no handles.
std::vector<Message> Driver::messages(uint64_t begin, uint64_t end) const {
    std::string path = options_.out + "/messages." + std::to_string(getpid());
    Supervisor maker(options_.hang_s);
    maker.run([&](Progress &) {
        HostWorld world(options_.host_library, options_.config);
        Generator generate = generator(world.handles());
        std::vector<Message> made;
        for (uint64_t number = begin; number < end; ++number) made.push_back(generate.message(number, world.handles()));
        save(path, encoded(made));
    }, "/dev/null");
    Bytes bytes = load(path);
    std::filesystem::remove(path);
    return decoded(bytes.data(), bytes.size());
}

// The fewest of the last messages that do it again in a fresh world; told as the file's name.
std::string Driver::keep_finding(const Ended &ended, uint64_t begin) {
    std::vector<Message> all = messages(begin, ended.number + 1);
    std::vector<Message> last;
    size_t count = 1;
    for (;; count *= 2) {
        last.assign(all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end());
        if (dies(last) || count >= all.size()) break;
    }
    std::string path = options_.out + "/" + name_of(ended.ending) + "-" + std::to_string(options_.seed) + "-" + std::to_string(ended.number) + ".msg";
    save(path, encoded(last));
    return path + " (" + std::to_string(last.size()) + " messages)";
}

// What a child said, where its log could be written.
std::string said(const std::string &log) {
    Bytes bytes = std::filesystem::exists(log) ? load(log) : Bytes{};
    return {bytes.begin(), bytes.end()};
}

// A line of what the child said before it ended, to sort findings by.
std::string last_words(const std::string &text) {
    size_t at = std::string::npos;
    for (const char *cause : {"GGML_ASSERT", "CUDA error", "libggml"})
        if (at == std::string::npos) at = text.find(cause);
    if (at == std::string::npos) at = 0;
    at = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    return text.substr(at, text.find('\n', at) - at);
}

// By call: how many were sent, and how many of them carried out.
void tell_calls(const Progress &progress) {
    std::string missing;
    std::printf("calls sent/carried out:");
    for (Call call : all_calls) {
        auto number = static_cast<uint32_t>(call);
        uint64_t tried = progress.tried_of_kind[number];
        if (tried == 0) missing += std::string(missing.empty() ? "" : ", ") + call_name(number);
        else std::printf(" %u %llu/%llu", number, static_cast<unsigned long long>(tried), static_cast<unsigned long long>(progress.done_of_kind[number]));
    }
    std::printf("; not sent: %s\n", missing.empty() ? "none" : missing.c_str());
}

int Driver::run() {
    std::filesystem::create_directories(options_.out);
    std::string log = options_.out + "/child." + std::to_string(getpid()) + ".log";
    std::map<Ending, uint64_t> counts;
    uint64_t end = options_.first + options_.count;
    auto start = std::chrono::steady_clock::now();
    for (uint64_t begin = options_.first; begin < end;) {
        Ended ended = supervisor_.run([&](Progress &progress) { run_numbers(begin, end, progress); }, log);
        if (ended.ending == Ending::finished) break;
        if (ended.ending == Ending::unable) {
            std::cerr << said(log);
            return unable_status;
        }
        ++counts[ended.ending];
        std::string words = last_words(said(log));
        uint64_t renewed = std::max(begin, ended.number / options_.renew * options_.renew);
        std::printf("%s at %llu by signal %d: %s\n    %s\n", name_of(ended.ending), static_cast<unsigned long long>(ended.number), ended.signal,
                    keep_finding(ended, renewed).c_str(), words.c_str());
        begin = ended.number + 1;
        if (counts[Ending::killed] + counts[Ending::hung] + counts[Ending::wrong] >= options_.most_findings) end = begin;
    }
    std::filesystem::remove(log);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Progress &progress = supervisor_.progress();
    tell_calls(progress);
    uint64_t run = progress.done + progress.refused + counts[Ending::killed] + counts[Ending::hung];
    std::printf("messages %llu: carried out %llu, refused %llu, killed %llu, hung %llu, wrong %llu, in %.1f s\n",
                static_cast<unsigned long long>(run), static_cast<unsigned long long>(progress.done), static_cast<unsigned long long>(progress.refused),
                static_cast<unsigned long long>(counts[Ending::killed]), static_cast<unsigned long long>(counts[Ending::hung]),
                static_cast<unsigned long long>(counts[Ending::wrong]), seconds);
    if (counts[Ending::killed] + counts[Ending::hung] + counts[Ending::wrong] != 0) return 1;
    if (run == options_.count) return 0;
    std::fprintf(stderr, "a child has ended well, and not all of %llu messages were sent\n", static_cast<unsigned long long>(options_.count));
    return 1;
}

int Driver::replay(const std::string &path) {
    Bytes bytes = load(path);
    std::vector<Message> messages = decoded(bytes.data(), bytes.size());
    if (messages.empty() || encoded(messages) != bytes) {
        std::cerr << path << " does not hold messages, and nothing else\n";
        return unable_status;
    }
    std::string log = options_.out + "/replay." + std::to_string(getpid()) + ".log";
    bool dead = dies(messages, log);
    std::printf("%s%s: %s\n", said(log).c_str(), path.c_str(), dead ? "does not survive" : "ok");
    std::error_code nothing_there;
    std::filesystem::remove(log, nothing_there);
    return dead ? 1 : 0;
}

// Words that are not needed become 0.
int Driver::minimise(const std::string &path) {
    Bytes bytes = load(path);
    std::vector<Message> messages = decoded(bytes.data(), bytes.size());
    if (!dies(messages)) return std::printf("%s does no harm\n", path.c_str()), 1;
    auto zeroed = [&](Bytes &part) {
        for (size_t step = std::max<size_t>(part.size() / 8 * 4, 4);; step = std::max<size_t>(step / 8 * 4, 4)) {
            for (size_t at = 0; at < part.size(); at += step) {
                Bytes before = part;
                std::fill(part.begin() + static_cast<std::ptrdiff_t>(at), part.begin() + static_cast<std::ptrdiff_t>(std::min(at + step, part.size())), uint8_t{0});
                if (part != before && !dies(messages)) part = before;
            }
            if (step == 4 || (&part == &messages.back().memory && step < 256)) break;
        }
    };
    for (size_t i = 0; i + 1 < messages.size();) {
        std::vector<Message> fewer = messages;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (dies(fewer)) messages = fewer;
        else ++i;
    }
    for (Message &message : messages) {
        for (Bytes *part : {&message.memory, &message.data, &message.payload}) zeroed(*part);
        // Memory ends where the buffer does, and is zero in a fresh world: what is zero at its beginning is not needed.
        auto used = std::find_if(message.memory.begin(), message.memory.end(), [](uint8_t byte) { return byte != 0; });
        message.memory.erase(message.memory.begin(), used);
    }
    save(path + ".min", encoded(messages));
    std::printf("%s.min\n", path.c_str());
    return 0;
}

template <typename GraphType> void show_graph(const Bytes &data) {
    GraphType graph;
    Reader reader(data.data(), data.size());
    if (!read(reader, graph)) return void(std::puts("  no graph"));
    for (const auto &t : graph.tensors) {
        bool node = std::find(graph.nodes.begin(), graph.nodes.end(), t.id) != graph.nodes.end();
        std::printf("  %s%llu %s %s ne", node ? "node " : "", static_cast<unsigned long long>(t.id),
                    t.op < GGML_OP_COUNT ? ggml_op_name(static_cast<ggml_op>(t.op)) : "?", t.type < GGML_TYPE_COUNT ? ggml_type_name(static_cast<ggml_type>(t.type)) : "?");
        for (auto n : t.ne) std::printf(" %lld", static_cast<long long>(n));
        std::printf(" nb");
        for (auto n : t.nb) std::printf(" %llu", static_cast<unsigned long long>(n));
        std::printf(" params");
        for (auto n : t.op_params) std::printf(" %d", n);
        std::printf(" src");
        for (auto n : t.src) std::printf(" %llu", static_cast<unsigned long long>(n));
        std::printf(" data %llu buffer %#llx flags %d view %llu+%llu\n", static_cast<unsigned long long>(t.data), static_cast<unsigned long long>(t.buffer),
                    t.flags, static_cast<unsigned long long>(t.view_src), static_cast<unsigned long long>(t.view_offs));
    }
}

int show(const std::string &path) {
    Bytes bytes = load(path);
    for (const Message &message : decoded(bytes.data(), bytes.size())) {
        std::printf("%s: payload %zu, data %zu, memory %zu bytes\n", call_name(message.call), message.payload.size(), message.data.size(), message.memory.size());
        if (message.call == static_cast<uint32_t>(Call::backend_graph_compute)) show_graph<Graph>(message.data);
        if (message.call == static_cast<uint32_t>(Call::wide_graph_compute)) show_graph<WideGraph>(message.data);
    }
    return 0;
}

} // namespace

int main(int count, char **values) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Options options = options_of(count, values);
    if (!options.show.empty()) return show(options.show);
    Driver driver(options);
    if (!options.replay.empty()) return driver.replay(options.replay);
    if (!options.minimise.empty()) return driver.minimise(options.minimise);
    return driver.run();
}
