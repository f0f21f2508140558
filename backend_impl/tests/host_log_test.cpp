// What a host library logs where it shares a budget of lines with those in other processes.
#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include <call_log.hpp>
#include <log_budget.hpp>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

void shared_log() {
    std::string path = "host-log-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    using PaidUntil = LogBudget::PaidUntil;
    auto *share = reinterpret_cast<void (*)(PaidUntil *)>(dlsym(dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_LOCAL), "apir_backend_share_log"));
    if (share == nullptr) return expect(false, "apir_backend_share_log");
    // Of three failures; each is a line and truncates the file.
    auto lines_of = [&](uint64_t paid_until_ns) {
        static PaidUntil word;
        word = paid_until_ns;
        share(&word);
        Loopback host(1, {{"ggml.library.path", "/no/such/library.so"}});
        for (int i = 0; i < 3; ++i) host.initialize();
        std::ifstream log(path);
        const auto lines = std::count(std::istreambuf_iterator<char>(log), {}, '\n');
        return std::to_string(lines) + (word == paid_until_ns ? ", not counted" : ", counted");
    };
    expect(lines_of(0) == "1, counted", "what may be said");
    const uint64_t day_ns = uint64_t{24} * 3600 * 1'000'000'000;
    expect(lines_of(monotonic_ns() + day_ns) == "0, not counted", "what others have said is not said again");
    expect(lines_of(UINT64_MAX) == "0, not counted", "a word that somebody has spoilt");
    expect(lines_of(0) == "1, counted", "later it may be said again");
    unlink(path.c_str());
}

// Whoever reads the standard error of this process does not, for now: what is also said there is not waited for.
void nobody_reads_the_echo() {
    std::string path = "host-log-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    int ends[2];
    expect_equal(pipe2(ends, O_NONBLOCK), 0, "pipe");
    while (write(ends[1], path.data(), 1) == 1) {}
    fcntl(ends[1], F_SETFL, 0);
    const int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    alarm(10);
    const auto say = [] {
        Loopback host(1, {{"ggml.library.path", "/no/such/library.so"}});
        host.initialize();
    };
    say();
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", "/dev/stderr", 1);
    say();
    dup2(before, STDERR_FILENO);
    std::string line;
    std::getline(std::ifstream(path), line);
    expect(line.find("/no/such/library.so") != std::string::npos, "the file has it: " + line);
    unlink(path.c_str());
}

// Nor is it waited for that somebody opens a named pipe to read there; the lines go where they go without a log, then.
void nobody_opens_the_other_end() {
    const std::string path = "host-log-test-" + std::to_string(getpid()) + ".pipe";
    expect_equal(mkfifo(path.c_str(), 0600), 0, "mkfifo");
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    alarm(10);
    const auto say = [] {
        Loopback host(1, {{"ggml.library.path", "/no/such/library.so"}});
        host.initialize();
    };
    say();
    const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    say();
    char line[4096];
    const ssize_t size = read(reader, line, sizeof line);
    expect(size > 0 && std::string(line, static_cast<size_t>(size)).find("/no/such/library.so") != std::string::npos, "what a reader is told");
    close(reader);
    unlink(path.c_str());
}

std::string content(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A guest that is always refused does not fill the log, and what it did before is still there for a library that is to append.
void refusals() {
    std::string path = "host-log-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    auto lines_of = [&](const std::string &what) {
        const std::string text = content(path);
        size_t count = 0;
        for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
        return count;
    };
    {
        auto host = cpu_loopback();
        for (int i = 0; i < 5; ++i) host->code(Call::buffer_get_base, BufferGetBaseRequest{1});
        expect_equal(lines_of("is no handle of a buffer"), size_t{1}, "lines about the same thing");
        for (uint64_t handle = 2; handle < 400; ++handle) host->code(Call::buffer_get_base, BufferGetBaseRequest{handle});
        expect_equal(lines_of("is no handle of a buffer"), size_t{200}, "lines about refusals");
    }
    Loopback next(1, {{"ggml.library.path", "/no/such\n[error] line\x1b[2J"}, {"apir.log.append", "1"}});
    next.initialize();
    expect_equal(lines_of("is no handle of a buffer"), size_t{200}, "what was said before");
    expect(lines_of("/no/such?[error] line?[2J") != 0, "a path in one line: " + content(path));
    unlink(path.c_str());
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"shared_log", shared_log}, {"refusals", refusals},
                      {"nobody_reads_the_echo", nobody_reads_the_echo},
                      {"nobody_opens_the_other_end", nobody_opens_the_other_end}},
                     count > 1 ? values[1] : nullptr);
}
