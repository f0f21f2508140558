#include "confinement.hpp"

#include <asm/termbits.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

// Without /proc all stays as the parent has it.
void tell_kernel(const char *path, const char *value) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (write(fd, value, std::strlen(value)) < 0) errno = 0;
    close(fd);
}

// A core that goes to a program (a pipe in core_pattern) is made whatever the limit is, but for 1; one that goes to a file is not made
// below a page. Who may not raise a limit of 0 dumps no memory at least.
void dump_no_core() {
    const rlimit none{1, 1};
    setrlimit(RLIMIT_CORE, &none);
    tell_kernel("/proc/self/coredump_filter", "0");
}

// Rather this process than the virtual machine.
void prefer_for_oom() { tell_kernel("/proc/self/oom_score_adj", "1000"); }

// Landlock (linux/landlock.h), which older C libraries' headers lack in part.
struct LandlockRules {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};
constexpr unsigned long landlock_version = 1; // flag: ask for the kernel's version of the interface
constexpr uint64_t make_block_device = 1 << 11;
constexpr uint64_t bind_tcp = 1 << 0;
constexpr uint64_t connect_tcp = 1 << 1;
constexpr uint64_t scope_abstract_unix_socket = 1 << 0;
constexpr uint64_t scope_signal = 1 << 1;
constexpr long first_with_network = 4;
constexpr long first_with_scopes = 6;

// Whoever takes this process over gets at no other one's memory, QEMU's and other workers' included, from Linux 6.7 on at no TCP port, and
// from 6.12 on signals none and reaches no abstract socket of theirs. What is forbidden in files is only there because something has to
// be: nobody makes block devices here. Drivers of GPUs need none of it. Returns what failed, and why (errno), or nothing.
const char *leave_others_alone() {
    const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, landlock_version);
    if (version < 1) return "the kernel has no Landlock";
    const LandlockRules rules{make_block_device, bind_tcp | connect_tcp, scope_signal | scope_abstract_unix_socket};
    // As much of them as the kernel knows.
    const size_t size = version >= first_with_scopes    ? sizeof rules
                        : version >= first_with_network ? offsetof(LandlockRules, scoped)
                                                        : offsetof(LandlockRules, handled_access_net);
    const int fd = static_cast<int>(syscall(SYS_landlock_create_ruleset, &rules, size, 0));
    if (fd < 0) return "landlock_create_ruleset failed";
    const bool restricted = syscall(SYS_landlock_restrict_self, fd, 0) == 0;
    const int cause = errno;
    close(fd);
    errno = cause;
    return restricted ? nullptr : "landlock_restrict_self failed";
}

// The one set of system calls whose numbers the filter below knows; 0: none is known.
#if defined(__x86_64__)
constexpr uint32_t known_calls = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
constexpr uint32_t known_calls = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t known_calls = 0;
#endif
constexpr uint32_t first_x32_call = 0x40000000; // x86: the same calls by other numbers; no call of others has one as high

// Requests of the system's own consoles, what keys type among them (linux/kd.h, linux/vt.h). Drivers of GPUs have none of these numbers.
constexpr long first_of_keyboard = 0x4B00, last_of_keyboard = 0x4BFF;
constexpr long first_of_console = 0x5600, last_of_console = 0x56FF;

// A sanitizer that looks for leaks at the end traces its own process for that.
#if defined(__SANITIZE_ADDRESS__)
#define APIR_TRACES_ITSELF 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APIR_TRACES_ITSELF 1
#endif
#endif
#ifdef APIR_TRACES_ITSELF
constexpr bool traces_itself = true;
#else
constexpr bool traces_itself = false;
#endif

// What Landlock has no word about: whoever takes this process over could have QEMU be the parent of processes that it begins, which nobody would wait for
// when they end, until no more can be begun; could set QEMU's limits, of processor time for one, by which the kernel
// ends it, and have itself traced: by QEMU, whose wait would tell of other things than its end, or by a process that it begins, and QEMU's
// wait would not tell of its end while that one lasts; and it could type into the terminal that QEMU was started from: what ends QEMU, or a command
// line for whoever reads there next; or make QEMU one of the terminal's background, which the kernel stops, all of it, when it reads there, or, by the
// terminal's settings, when it writes; or stop the terminal's output, for which QEMU's next line would wait. Its own limits (0 for the process) are
// looked at by many. Nothing else is forbidden: drivers of GPUs need one knows not what. What clone3 is asked for a filter cannot see: it is not
// there, as on older kernels, and C libraries take clone. Returns what failed, and why (errno), or nothing.
const char *leave_parent_alone() {
    errno = ENOSYS;
    if (known_calls == 0) return "no filter of system calls for this processor";
    constexpr uint32_t first_argument = offsetof(seccomp_data, args); // its lower half, on little-endian machines
    constexpr uint32_t second_argument = first_argument + sizeof(uint64_t);
    const auto load = [](size_t at) { return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(at)); };
    const auto jump_if = [](uint16_t how, long value, uint8_t then, uint8_t otherwise) {
        return sock_filter BPF_JUMP(static_cast<uint16_t>(BPF_JMP | how | BPF_K), static_cast<uint32_t>(value), then, otherwise);
    };
    const auto answer = [](uint32_t with) { return sock_filter BPF_STMT(BPF_RET | BPF_K, with); };
    sock_filter program[] = {
        load(offsetof(seccomp_data, arch)),
        jump_if(BPF_JEQ, known_calls, 0, 27), // to the refusal
        load(offsetof(seccomp_data, nr)),
        jump_if(BPF_JGE, first_x32_call, 25, 0),
        jump_if(BPF_JEQ, SYS_prlimit64, 22, 0),
        jump_if(BPF_JEQ, SYS_ptrace, 19, 0),
        jump_if(BPF_JEQ, SYS_clone, 16, 0),
        jump_if(BPF_JEQ, SYS_clone3, 23, 0),
        jump_if(BPF_JEQ, SYS_ioctl, 0, 21), // else it is allowed
        load(second_argument),
        jump_if(BPF_JEQ, TIOCSTI, 18, 0),
        jump_if(BPF_JEQ, TIOCLINUX, 17, 0), // pastes
        jump_if(BPF_JEQ, TIOCSPGRP, 16, 0),
        jump_if(BPF_JEQ, TIOCSETD, 15, 0), // how lines are made of it: by one of them nobody can write there
        jump_if(BPF_JEQ, TIOCSWINSZ, 14, 0),
        jump_if(BPF_JGE, first_of_keyboard, 0, 1),
        jump_if(BPF_JGT, last_of_keyboard, 0, 12),
        jump_if(BPF_JGE, first_of_console, 0, 1),
        jump_if(BPF_JGT, last_of_console, 0, 10),
        jump_if(BPF_JGE, TCSETS2, 0, 1),
        jump_if(BPF_JGT, TCSETSF2, 9, 8),
        jump_if(BPF_JGE, TCSETS, 0, 8),
        jump_if(BPF_JGT, TIOCEXCL, 7, 6), // among them what stops its output, or drops what waits, and the last: nobody else can open it
        load(first_argument),
        jump_if(BPF_JSET, CLONE_PARENT, 4, 5),
        load(first_argument),
        jump_if(BPF_JEQ, PTRACE_TRACEME, 2, traces_itself ? 3 : 2),
        load(first_argument),
        jump_if(BPF_JEQ, 0, 1, 0),
        answer(SECCOMP_RET_ERRNO | EPERM),
        answer(SECCOMP_RET_ALLOW),
        answer(SECCOMP_RET_ERRNO | ENOSYS),
    };
    const sock_fprog filter{sizeof program / sizeof *program, program};
    // It keeps no secrets: processors need not be slowed down for it, as older kernels do.
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0 ? nullptr : "seccomp failed";
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

bool confine(pid_t parent, const std::string &cpus, std::vector<std::string> &warnings) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have ended before the line above.
    if (getppid() != parent) return false;
    prctl(PR_SET_NAME, "apir-worker");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // Its log may be a pipe whose reader has gone; QEMU outlives that too.
    std::signal(SIGPIPE, SIG_IGN);
    if (const char *failed = leave_others_alone(); failed != nullptr)
        warnings.push_back(std::string("the worker is not kept from other processes, their sockets and TCP: ") + failed + ": " +
                           std::strerror(errno) + "; enable Landlock (lsm= of the kernel's command line), or allow its system calls");
    if (const char *failed = leave_parent_alone(); failed != nullptr)
        warnings.push_back(std::string("the worker is not kept from other processes' limits, nor from terminals: ") + failed + ": " + std::strerror(errno) +
                           "; enable seccomp filters in the kernel (CONFIG_SECCOMP_FILTER), or allow their system call");
    dump_no_core();
    limit(RLIMIT_NOFILE, max_open_files);
    prefer_for_oom();
    if (cpus.empty()) return true;
    cpu_set_t set;
    if (!parse_cpus(cpus, set))
        warnings.push_back("VIRGL_APIR_WORKER_CPUS is '" + cpus + "', which is no list of CPUs like 0-3,6");
    else if (sched_setaffinity(0, sizeof set, &set) != 0)
        warnings.push_back("cannot pin to the CPUs " + cpus + ": " + std::strerror(errno));
    return true;
}

} // namespace apir::virgl
