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

inline void expect(bool holds, const std::string &what) {
    if (holds) return;
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    ++failures;
}

template <typename A, typename B> void expect_equal(const A &got, const B &wanted, const std::string &what) {
    if (got == wanted) return;
    std::fprintf(stderr, "FAILED: %s: %s, expected %s\n", what.c_str(), std::to_string(got).c_str(),
                 std::to_string(wanted).c_str());
    ++failures;
}

struct Case {
    const char *name;
    std::function<void()> run;
};

// Each case in a process of its own, for state and environment are the process's; or the one that is named. 0 when all held, 2 when
// none has that name.
inline int run_cases(const std::vector<Case> &cases, const char *only) {
    int failed = 0;
    bool any = false;
    for (const Case &each : cases) {
        if (only != nullptr && std::string(only) != each.name) continue;
        any = true;
        std::fflush(nullptr);
        pid_t child = fork();
        if (child == 0) {
            each.run();
            std::exit(failures == 0 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        bool held = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        std::printf("%-28s %s\n", each.name, held ? "ok" : "FAILED");
        if (WIFSIGNALED(status)) std::printf("    killed by signal %d\n", WTERMSIG(status));
        failed += held ? 0 : 1;
    }
    if (!any) return std::fprintf(stderr, "there is no case %s\n", only == nullptr ? "at all" : only), 2;
    return failed == 0 ? 0 : 1;
}

} // namespace apir::test
