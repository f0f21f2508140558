#include "worker_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "component_log.hpp"

extern char **environ;

namespace apir::virgl {
namespace {

// The worker's stays clear of LD_PRELOAD: what QEMU needs there is not for it.
std::vector<char *> environment() {
    std::vector<char *> kept;
    for (char **entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, "LD_PRELOAD=", 11) != 0) kept.push_back(*entry);
    kept.push_back(nullptr);
    return kept;
}

std::vector<std::string> arguments(const WorkerSpec &spec) {
    std::vector<std::string> all{spec.program, std::to_string(worker_interface), std::to_string(spec.context), std::to_string(spec.capset),
                                 std::to_string(getpid()), "apir.log.append=1"};
    for (const auto &[key, value] : spec.config) all.push_back(key + "=" + value);
    return all;
}

// A copy of `fd` far above the numbers that the worker's descriptors get, so that placing one does not close another.
class HighCopy {
  public:
    explicit HighCopy(int fd) : fd_(fcntl(fd, F_DUPFD_CLOEXEC, 64)) {
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot copy a descriptor");
    }
    ~HighCopy() { close(fd_); }
    HighCopy(const HighCopy &) = delete;
    HighCopy &operator=(const HighCopy &) = delete;
    int fd() const { return fd_; }

  private:
    int fd_;
};

struct FileActions {
    FileActions() { posix_spawn_file_actions_init(&actions); }
    ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
    posix_spawn_file_actions_t actions;
};

struct Attributes {
    Attributes() {
        posix_spawnattr_init(&attributes);
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        // QEMU blocks and ignores signals that a worker has to take.
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Attributes() { posix_spawnattr_destroy(&attributes); }
    posix_spawnattr_t attributes;
};

// waitpid() tells of more than ends: of a worker that has itself traced, by its parent as that is, every stop.
bool is_end(int status) { return WIFEXITED(status) || WIFSIGNALED(status); }

} // namespace

WorkerProcess::WorkerProcess(const WorkerSpec &spec) {
    HighCopy queue(spec.queue_fd);
    HighCopy arena(spec.arena_fd);
    HighCopy presence(spec.presence_fd);
    HighCopy log(log_fd());
    FileActions files;
    posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files.actions, log.fd(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files.actions, log.fd(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files.actions, queue.fd(), worker_queue_fd);
    posix_spawn_file_actions_adddup2(&files.actions, arena.fd(), worker_arena_fd);
    posix_spawn_file_actions_adddup2(&files.actions, presence.fd(), worker_presence_fd);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, worker_presence_fd + 1);
    Attributes attributes;
    std::vector<std::string> texts = arguments(spec);
    std::vector<char *> argv;
    for (std::string &text : texts) argv.push_back(text.data());
    argv.push_back(nullptr);
    std::vector<char *> envp = environment();
    int cause = posix_spawn(&pid_, spec.program.c_str(), &files.actions, &attributes.attributes, argv.data(), envp.data());
    if (cause != 0) throw std::system_error(cause, std::generic_category(), "cannot start " + spec.program);
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    if (pidfd_ < 0) {
        cause = errno;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        throw std::system_error(cause, std::generic_category(), "pidfd_open");
    }
}

WorkerProcess::~WorkerProcess() {
    if (!reaped_) {
        signal(SIGKILL);
        int status = 0;
        while (waitpid(pid_, &status, 0) > 0 && !is_end(status)) {}
    }
    if (pidfd_ >= 0) close(pidfd_);
}

void WorkerProcess::signal(int number) const {
    // By descriptor: the number of a process that ended may belong to another by now.
    syscall(SYS_pidfd_send_signal, pidfd_, number, nullptr, 0);
}

std::string WorkerProcess::reap() {
    if (reaped_) return "ended";
    int status = 0;
    pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) return {};
    if (ended > 0 && !is_end(status)) {
        // None of ours does so. Its end is told of later.
        signal(SIGKILL);
        return {};
    }
    reaped_ = true;
    close(std::exchange(pidfd_, -1));
    if (ended < 0) return "ended, with a status that somebody else took";
    if (WIFSIGNALED(status))
        return std::string("killed by signal ") + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
    return "exited with status " + std::to_string(WEXITSTATUS(status));
}

std::string worker_program(const void *address) {
    if (const char *configured = std::getenv("VIRGL_APIR_WORKER"); configured != nullptr && *configured != '\0') return configured;
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "apir-worker";
    std::string path = info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "./apir-worker" : path.substr(0, slash + 1) + "apir-worker";
}

} // namespace apir::virgl
