// Random programs against the guest library, with the host library and ggml-cpu behind it and a host that fails at random: what is read has to be right, or a
// graph is refused.
//
//   guest-programs HOST-LIBRARY GGML-LIBRARY PROGRAMS [FIRST [DEADLINE-MS]]
//
// Program n is the same each time but for what depends on the clock. What must not be is told with all that was done until then, no program follows, and the
// exit status is 1. A call may take DEADLINE-MS (150): what is never answered costs as much.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "random_program.hpp"
#include "tests/sent_bytes.hpp"

using namespace apir;
using namespace apir::fuzz;
using namespace apir::guest::test;

namespace {

constexpr unsigned longest_s = 120; // of one program
constexpr uint32_t resources_of_one = 1'000'000; // context
constexpr long enough = 40; // programs, that everything happens to one

char under_way[64];

void hung(int) {
    (void)!write(STDERR_FILENO, under_way, std::strlen(under_way));
    _exit(1);
}

struct Words {
    const char *host_library, *ggml_library;
    long programs, first = 0, deadline_ms = 150;
};

struct Sum {
    long begun = 0, checked = 0, told = 0, meddled = 0, followed = 0, wrong = 0;
};

// Names with commas between them, or all, or none.
std::string some_extensions(Random &random) {
    if (random.one_in(2)) return "all";
    std::string names;
    for (const NamedExtension &each : all_extensions)
        if (random.one_in(2)) names += (names.empty() ? "" : ",") + std::string(each.name);
    return names.empty() ? "none" : names;
}

// What is drawn of a run before it begins: how the guest library is set up, and how the host fails.
struct Drawn {
    Drawn(Random &random, long deadline_of_calls_ms)
        : fails(!random.one_in(4)), extensions(some_extensions(random)), path(random.pick(paths)), behind(random.pick(behinds)), pool(random.pick(pools)),
          elements(random.pick(sizes)), threads(random.one_in(4) ? 3 : 1), records(random.one_in(6)), window(fails ? windows[0] : random.pick(windows)),
          deadline_ms(fails ? deadline_of_calls_ms : 30'000),
          meddling{fails ? uint64_t{8} << random.below(4) : 0, std::chrono::milliseconds(deadline_ms / (random.one_in(2) ? 8 : 1)),
                   fails && random.one_in(4) ? most_deaths : 0} {}

    std::string text() const {
        return "data path " + std::string(path) + ", extensions " + extensions + ", write behind " + behind + ", pool " + pool + ", window " +
               std::to_string(window) + ", " + std::to_string(threads) + " threads, " + std::to_string(elements) + " elements, records " +
               (records ? "on" : "off") + ", one command in " + std::to_string(meddling.one_in) + ", late " + std::to_string(meddling.late.count()) + " ms, " +
               std::to_string(meddling.deaths) + " deaths";
    }

    static constexpr int most_deaths = 2;
    static constexpr std::array paths{"copied", "copied", "shared"}, behinds{"auto", "on", "off"}, pools{"0", "64", "64"};
    static constexpr std::array<int64_t, 6> sizes{16, 64, 300, 300, 5000, 300'000};
    // A small one is for hosts that answer: what a call without a reply takes away would be missed in it.
    static constexpr std::array<size_t, 4> windows{size_t{1} << 30, size_t{1} << 30, size_t{2} * data_page_size + size_t{8} * blob_granularity,
                                                   data_page_size + size_t{4} * blob_granularity};

    bool fails;
    std::string extensions;
    const char *path, *behind, *pool;
    int64_t elements;
    size_t threads;
    bool records;
    size_t window;
    long deadline_ms;
    Meddling meddling;
};

// Threads of one process, each with a program of its own.
void run(const Words &words, uint64_t number, Sum &sum) {
    Random random(number);
    const Drawn drawn(random, words.deadline_ms);
    const std::string deadline = std::to_string(drawn.deadline_ms);
    Variable path("GGML_VIRTGPU_DATA_PATH", drawn.path), extensions("GGML_VIRTGPU_EXTENSIONS", drawn.extensions.c_str()),
        behind("GGML_VIRTGPU_WRITE_BEHIND", drawn.behind), pool("GGML_VIRTGPU_BUFFER_POOL_MIB", drawn.pool),
        call_deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", deadline.c_str()), graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", deadline.c_str());
    const std::unique_ptr<CallRecords> records = drawn.records ? std::make_unique<CallRecords>() : nullptr;
    Story story;
    MeddlingHost host(words.host_library, words.ggml_library, story, random.next());
    DevicePlan plan;
    plan.window = drawn.window;
    const auto device = [&host, &plan] {
        auto made = std::make_unique<FakeDevice>(plan, host);
        plan.first_resource += resources_of_one;
        return made;
    };
    const auto another = [&host, &plan, &device] {
        host.begin_another(plan.first_resource);
        return device();
    };
    const bool dies = drawn.meddling.deaths != 0;
    std::unique_ptr<guest::Registry> registry = make_registry(device(), dies ? guest::Registry::DeviceMaker(another) : nullptr);
    if (registry->devices.size() != 1) return expect(drawn.fails, "no device"); // a machine may be too busy for the deadline of those that fail
    ++sum.begun;
    // After the host library, which is in this process too and takes ggml's log for itself.
    ggml_log_set([](ggml_log_level, const char *text, void *told) { static_cast<Story *>(told)->add(text); }, &story);
    {
        const uint64_t seed = random.next();
        const std::unique_ptr<Memory> common = dies ? nullptr : weights(*registry, host, seed, drawn.elements);
        if (!drawn.fails) expect(common != nullptr, "no weights");
        const Setting setting{*registry, host, story, drawn.elements, drawn.threads == 1, dies, common.get()};
        std::list<RandomProgram> programs;
        for (size_t i = 0; i < drawn.threads; ++i) programs.emplace_back(setting, seed + i);
        host.meddle(drawn.meddling);
        std::vector<std::thread> threads;
        for (RandomProgram &program : programs) threads.emplace_back([&program, &drawn] { program.run(drawn.threads == 1 ? 150 : 60); });
        for (std::thread &thread : threads) thread.join();
        for (const RandomProgram &program : programs) {
            sum.checked += program.checked();
            sum.told += program.told();
            sum.wrong += static_cast<long>(program.violations().size());
            for (const std::string &what : program.violations())
                std::printf("program %lu: %s\n  %s\n%s", number, what.c_str(), drawn.text().c_str(), story.text().c_str());
        }
    }
    registry.reset();
    ggml_log_set(nullptr, nullptr);
    sum.meddled += static_cast<long>(host.meddled());
    sum.followed += static_cast<long>(host.followed());
}

} // namespace

int main(int count, char **values) {
    if (count < 4 || count > 6) return std::fprintf(stderr, "usage: guest-programs HOST-LIBRARY GGML-LIBRARY PROGRAMS [FIRST [DEADLINE-MS]]\n"), 2;
    Words words{values[1], values[2], std::atol(values[3])};
    if (count > 4) words.first = std::atol(values[4]);
    if (count > 5) words.deadline_ms = std::atol(values[5]);
    Sum sum;
    std::signal(SIGALRM, hung);
    for (long i = words.first; i < words.first + words.programs && sum.wrong == 0; ++i) {
        std::snprintf(under_way, sizeof under_way, "program %ld takes longer than %u s\n", i, longest_s);
        alarm(longest_s);
        run(words, static_cast<uint64_t>(i), sum);
    }
    if (sum.wrong == 0) {
        expect(2 * sum.begun > words.programs, "most programs have a device");
        expect(words.programs < enough || sum.followed != 0, "of so many programs one's device is lost and comes back");
    }
    std::printf("%ld programs: something was done to %ld commands, programs were told %ld times, %ld contexts were lost and followed, %ld reads were looked at, "
                "%ld wrong\n",
                sum.begun, sum.meddled, sum.told, sum.followed, sum.checked, sum.wrong);
    return sum.wrong == 0 ? failures() : 1;
}
