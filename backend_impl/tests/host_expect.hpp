// Expectations of the tests of host library and component, and the running of a test's cases.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace apir::test {

inline int failures = 0;
inline std::string among; // which case it is, where several run side by side

inline void expect(bool holds, const std::string &what) {
    if (holds) return;
    std::fprintf(stderr, "FAILED: %s%s\n", among.c_str(), what.c_str());
    ++failures;
}

template <typename A, typename B> void expect_equal(const A &got, const B &wanted, const std::string &what) {
    if (got == wanted) return;
    std::fprintf(stderr, "FAILED: %s%s: %s, expected %s\n", among.c_str(), what.c_str(), std::to_string(got).c_str(),
                 std::to_string(wanted).c_str());
    ++failures;
}

struct Case {
    const char *name;
    std::function<void()> run;
    bool sleeps = false; // nearly all the time: it is run beside those next to it that do, too
};

inline pid_t begin_case(const Case &each) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    if (each.sleeps) among = std::string(each.name) + ": ";
    each.run();
    std::exit(failures == 0 ? 0 : 1);
}

inline bool end_case(const Case &each, pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    const bool held = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::printf("%-28s %s\n", each.name, held ? "ok" : "FAILED");
    if (WIFSIGNALED(status)) std::printf("    killed by signal %d\n", WTERMSIG(status));
    return held;
}

// Each case in a process of its own, for state and environment are the process's; or the one that is named. 0 when all held, 2 when
// none has that name.
inline int run_cases(const std::vector<Case> &cases, const char *only) {
    int failed = 0;
    std::vector<const Case *> chosen;
    for (const Case &each : cases) {
        if (only == nullptr || std::string(only) == each.name) chosen.push_back(&each);
    }
    if (chosen.empty()) return std::fprintf(stderr, "there is no case %s\n", only == nullptr ? "at all" : only), 2;
    for (auto first = chosen.begin(); first != chosen.end();) {
        std::vector<pid_t> begun;
        do begun.push_back(begin_case(*first[begun.size()]));
        while (first[0]->sleeps && first + begun.size() != chosen.end() && first[begun.size()]->sleeps);
        for (pid_t child : begun) failed += end_case(**first++, child) ? 0 : 1;
    }
    return failed == 0 ? 0 : 1;
}

} // namespace apir::test
