// A host library that does what a test asks for: answers, hangs, dies, tells of the process it runs in.
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <linux/kd.h>
#include <linux/sched.h>
#include <linux/vt.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "../virgl/shared_queue.hpp"
#include "virgl_fake_host.hpp"

namespace {

struct Callbacks {
    const char *(*get_config)(uint32_t context, const char *key);
    void *(*get_shmem_ptr)(uint32_t context, uint32_t resource);
};

bool ready = false;
std::atomic<uint64_t> *beats = nullptr;
std::atomic<uint64_t> *log_word = nullptr;

// Works for two seconds, and says so.
void work() {
    for (int i = 0; i < 40; ++i) {
        usleep(50'000);
        ++*beats;
    }
}

// As a worker that was taken over by its guest may do; its queue is descriptor 3.
[[noreturn]] void lie(const std::string &what) {
    constexpr int queue = 3;
    void *memory = mmap(nullptr, sizeof(apir::virgl::QueueHeader), PROT_READ | PROT_WRITE, MAP_SHARED, queue, 0);
    if (memory == MAP_FAILED) std::_Exit(1);
    auto *header = static_cast<apir::virgl::QueueHeader *>(memory);
    const uint64_t number = std::strtoull(what.c_str() + 5, nullptr, 10);
    if (what.rfind("ring ", 0) == 0) header->ring = number, std::abort();
    header->head = number;
    for (;;) pause();
}

std::string open_files() {
    std::string all;
    DIR *folder = opendir("/proc/self/fd");
    while (dirent *entry = readdir(folder))
        if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(folder)) all += std::string(entry->d_name) + " ";
    closedir(folder);
    return all;
}

// Whether the system lets a socket of this process bind or connect, whatever comes of it.
template <typename Address> bool lets(int (*act)(int, const sockaddr *, socklen_t), const Address &address, int refusal) {
    const auto *generic = reinterpret_cast<const sockaddr *>(&address);
    const int fd = socket(generic->sa_family, SOCK_STREAM, 0);
    const bool refused = act(fd, generic, sizeof address) != 0 && errno == refusal;
    close(fd);
    return !refused;
}

std::string reach_by_sockets() {
    sockaddr_in local{};
    local.sin_family = AF_INET, local.sin_port = htons(9), local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_un abstract{};
    abstract.sun_family = AF_UNIX;
    // Its first byte, 0, makes it one; the rest of the name is as long as all of them.
    std::snprintf(abstract.sun_path + 1, sizeof abstract.sun_path - 1, "apir-test-%d", getppid());
    std::string reached = lets(connect, local, EACCES) ? ", TCP" : ", no TCP";
    local.sin_port = 0;
    reached += lets(bind, local, EACCES) ? ", ports" : ", no ports";
    return reached + (lets(connect, abstract, EPERM) ? ", abstract sockets" : ", no abstract sockets");
}

// Whether a process that this one begins may trace it.
bool child_traces() {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t child = fork();
    if (child == 0) _exit(ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr) == 0 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether a process that this one begins may be its parent's, by either call; that one waits for it then, for nobody else does.
bool gives_children() {
    const auto is_begun = [](auto begin) {
        const long child = begin();
        if (child == 0) _exit(0);
        return child > 0;
    };
    struct clone_args arguments {};
    arguments.flags = CLONE_PARENT;
    return is_begun([] { return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0); }) ||
           is_begun([&] { return syscall(SYS_clone3, &arguments, sizeof arguments); });
}

// TCSETS2, the first of three, whose own header and termios.h do not go together.
constexpr unsigned long set_by_2 = 0x402C542B;

// By a file that is none: what is not forbidden fails for that reason.
std::string reach_of_terminals() {
    const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    char key = 'x';
    const auto is_forbidden = [&](unsigned long request) { return ioctl(file, request, &key) != 0 && errno == EPERM; };
    const bool types = !is_forbidden(TIOCSTI) || !is_forbidden(TIOCLINUX);
    bool sets = false;
    for (unsigned long request : std::initializer_list<unsigned long>{TIOCSPGRP, TIOCSETD, TIOCSWINSZ, TIOCEXCL, TCSETS, TCSETSW, TCSETSF, TCSETA, TCSETAW,
                                                                     TCSETAF, TCSBRK, TCXONC, TCFLSH, set_by_2, set_by_2 + 1, set_by_2 + 2, KDSETMODE, KDSKBMODE, KDSKBSENT,
                                                                     VT_ACTIVATE, VT_LOCKSWITCH})
        sets = sets || !is_forbidden(request);
    const bool looks = !isatty(file) && errno == ENOTTY && ioctl(file, set_by_2 + 3, &key) != 0 && errno == ENOTTY;
    winsize size{};
    const bool asks = ioctl(file, TIOCGWINSZ, &size) != 0 && errno == ENOTTY;
    close(file);
    return std::string(types ? ", types" : ", types nothing") + (sets ? ", sets terminals" : ", sets none") +
           (looks ? "" : ", sees none") + (asks ? ", and asks for a terminal's size" : ", and no more of a terminal");
}

#if defined(__x86_64__)
// Whether the system takes calls by other numbers than the usual ones: those of x32, and those of 32 bits, where it has any.
bool takes_other_numbers() {
    constexpr long x32 = 0x40000000;
    if (syscall(x32 | SYS_getpid) != -1 || errno != EPERM) return true;
    const pid_t child = fork();
    if (child == 0) {
        int answer = 20; // getpid
        asm volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
        _exit(answer > 0 ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) != 0; // a kernel that has none ends the process
}
#else
bool takes_other_numbers() { return false; }
#endif

std::string reach_by_calls() {
    rlimit core{};
    const bool limits = prlimit(getppid(), RLIMIT_CORE, nullptr, &core) == 0 && prlimit(getppid(), RLIMIT_CORE, &core, nullptr) == 0;
    return std::string(limits ? ", limits" : ", no limits") + (gives_children() ? ", gives children" : ", gives no children") +
           (child_traces() ? ", a tracer" : ", no tracer") +
           (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? ", traced" : ", not traced") +
           (takes_other_numbers() ? ", by other numbers" : ", nor by other numbers") + reach_of_terminals();
}

std::string reach() {
    const std::string memory = "/proc/" + std::to_string(getppid()) + "/mem";
    const int fd = open(memory.c_str(), O_RDWR);
    if (fd >= 0) close(fd);
    return std::string(fd >= 0 ? "its memory" : "no memory") + (kill(getppid(), 0) == 0 ? ", signals" : ", no signals") +
           reach_by_sockets() + reach_by_calls();
}

std::string text_of(uint32_t call, uint32_t context, Callbacks *callbacks, const char *dec, const char *dec_end) {
    std::string argument(dec, static_cast<size_t>(dec_end - dec));
    argument = argument.c_str();
    switch (static_cast<FakeCall>(call)) {
    case FakeCall::echo: return argument;
    case FakeCall::reach: return reach();
    case FakeCall::lie: lie(argument);
    case FakeCall::nap: usleep(static_cast<useconds_t>(std::atoi(argument.c_str())) * 1000); return argument;
    case FakeCall::set_tensor: usleep(1000); return argument;
    case FakeCall::log_word: return log_word == nullptr ? "(null)" : std::to_string(++*log_word);
    case FakeCall::stop_terminal: return tcflow(STDERR_FILENO, TCOOFF) == 0 ? "stopped" : std::strerror(errno);
    case FakeCall::files: return open_files();
    case FakeCall::config: {
        const char *value = callbacks->get_config(context, argument.c_str());
        return value == nullptr ? "(null)" : value;
    }
    case FakeCall::environment: return std::getenv(argument.c_str()) == nullptr ? "(null)" : std::getenv(argument.c_str());
    case FakeCall::limits: {
        rlimit core{};
        getrlimit(RLIMIT_CORE, &core);
        int death = 0;
        prctl(PR_GET_PDEATHSIG, &death);
        std::string dumped;
        std::ifstream("/proc/self/coredump_filter") >> dumped;
        std::string killed_first;
        std::ifstream("/proc/self/oom_score_adj") >> killed_first;
        rlimit files{};
        getrlimit(RLIMIT_NOFILE, &files);
        struct sigaction broken_pipe {};
        sigaction(SIGPIPE, nullptr, &broken_pipe);
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof cpus, &cpus);
        return "cpus " + std::to_string(CPU_COUNT(&cpus)) + " oom " + killed_first + (files.rlim_max <= 4096 ? " few files" : " files") + " core " + std::to_string(core.rlim_cur) + " dumps " + dumped + " privileges " + std::to_string(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)) +
               " death " + std::to_string(death) + (broken_pipe.sa_handler == SIG_IGN ? "" : " pipe");
    }
    case FakeCall::fill: {
        // u32 resource, in decimal; fills it with 'f'.
        auto resource = static_cast<uint32_t>(std::atoi(argument.c_str()));
        std::string key = "apir.resource.size." + argument;
        const char *size = callbacks->get_config(context, key.c_str());
        void *at = callbacks->get_shmem_ptr(context, resource);
        if (size == nullptr || at == nullptr) return "(null)";
        std::memset(at, 'f', std::strtoull(size, nullptr, 10));
        return size;
    }
    default: return {};
    }
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void apir_backend_progress(uint32_t, std::atomic<uint64_t> *counter) { beats = counter; }

EXPORT void apir_backend_share_log(std::atomic<uint64_t> *paid_until_ns) { log_word = paid_until_ns; }

EXPORT uint32_t apir_backend_initialize(uint32_t context, Callbacks *callbacks) {
    const char *wanted = callbacks->get_config(context, "ggml.library.path");
    if (wanted != nullptr && std::strcmp(wanted, "fail") == 0) return 8;
    ready = true;
    return 6;
}

EXPORT void apir_backend_deinit(uint32_t) {
    const char *witness = std::getenv("FAKE_DEINIT_WITNESS");
    if (witness != nullptr && ready) unlink(witness);
}

EXPORT uint32_t apir_backend_dispatcher(uint32_t context, Callbacks *callbacks, uint32_t call, char *dec, const char *dec_end,
                                        char *enc, const char *enc_end, char **enc_after) {
    *enc_after = enc;
    if (!ready) return 1;
    if (call == static_cast<uint32_t>(FakeCall::pid)) {
        pid_t pid = getpid();
        std::memcpy(enc, &pid, sizeof pid);
        *enc_after = enc + sizeof pid;
        return 0;
    }
    if (call == static_cast<uint32_t>(FakeCall::hang)) {
        std::signal(SIGTERM, SIG_IGN); // only SIGKILL helps
        for (;;) pause();
    }
    if (call == static_cast<uint32_t>(FakeCall::traced)) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        std::raise(SIGSTOP);
    }
    if (call == static_cast<uint32_t>(FakeCall::beat)) {
        work();
        return 0;
    }
    if (call == static_cast<uint32_t>(FakeCall::claim)) {
        *enc_after = enc + std::atol(dec);
        return 0;
    }
    if (call == static_cast<uint32_t>(FakeCall::crash)) std::abort();
    if (call == static_cast<uint32_t>(FakeCall::leave)) std::_Exit(7);
    std::string text = text_of(call, context, callbacks, dec, dec_end);
    if (text.empty()) return 6;
    if (static_cast<size_t>(enc_end - enc) <= text.size()) return 1;
    std::memcpy(enc, text.c_str(), text.size() + 1);
    *enc_after = enc + text.size() + 1;
    return 0;
}
