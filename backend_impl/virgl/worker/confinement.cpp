#include "confinement.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace apir::virgl {
namespace {

// GPU drivers open many files; a runaway opens more.
constexpr rlim_t max_open_files = 4096;

void limit(int resource, rlim_t most) {
    rlimit now{};
    if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0 || now.rlim_max <= most) return;
    now.rlim_cur = now.rlim_cur < most ? now.rlim_cur : most;
    now.rlim_max = most;
    setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

// Rather this process than the virtual machine.
void prefer_for_oom() {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, "500", 3) < 0) errno = 0; // without /proc it is as the parent is
    close(fd);
}

bool parse_cpus(const std::string &text, cpu_set_t &set) {
    CPU_ZERO(&set);
    const char *at = text.c_str();
    while (*at != '\0') {
        char *end = nullptr;
        long first = std::strtol(at, &end, 10);
        if (end == at) return false;
        long last = first;
        if (*end == '-') {
            at = end + 1;
            last = std::strtol(at, &end, 10);
            if (end == at) return false;
        }
        if (first < 0 || last < first || last >= CPU_SETSIZE) return false;
        for (long cpu = first; cpu <= last; ++cpu) CPU_SET(static_cast<size_t>(cpu), &set);
        if (*end != ',' && *end != '\0') return false;
        at = *end == ',' ? end + 1 : end;
    }
    return true;
}

} // namespace

bool confine(pid_t parent, const std::string &cpus, std::string &warning) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have ended before the line above.
    if (getppid() != parent) return false;
    prctl(PR_SET_NAME, "apir-worker");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, max_open_files);
    prefer_for_oom();
    if (cpus.empty()) return true;
    cpu_set_t set;
    if (!parse_cpus(cpus, set))
        warning = "VIRGL_APIR_WORKER_CPUS is '" + cpus + "', which is no list of CPUs like 0-3,6";
    else if (sched_setaffinity(0, sizeof set, &set) != 0)
        warning = "cannot pin to the CPUs " + cpus + ": " + std::strerror(errno);
    return true;
}

} // namespace apir::virgl
