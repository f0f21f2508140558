#include "supervise.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace apir::fuzz {
namespace {

constexpr time_t look_every_s = 1;

// A sanitizer tells by itself.
#ifndef APIR_SANITIZED
void tell_where(int signal) {
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    ::signal(signal, SIG_DFL);
    raise(signal);
}
#endif

[[noreturn]] void be_child(const std::function<void(Progress &)> &work, Progress &progress, const std::string &log) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Thousands of deaths leave no core files.
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!log.empty())
        if (int to = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); to >= 0) dup2(to, STDERR_FILENO);
#ifndef APIR_SANITIZED
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(signal, tell_where);
#endif
    // Signals that the supervisor waits for are its own matter.
    sigset_t nothing;
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, nullptr);
    // ggml would call a debugger for every assertion that it reaches.
    setenv("GGML_NO_BACKTRACE", "1", 1);
    work(progress);
    std::fflush(nullptr);
    _exit(0);
}

Ended ended(int status, uint64_t number) {
    if (WIFSIGNALED(status)) return {Ending::killed, number, WTERMSIG(status)};
    if (WEXITSTATUS(status) == 0) return {Ending::finished, number, 0};
    if (WEXITSTATUS(status) == unable_status) return {Ending::unable, number, 0};
    return {WEXITSTATUS(status) == wrong_status ? Ending::wrong : Ending::killed, number, 0};
}

} // namespace

Supervisor::Supervisor(double hang_s) : hang_s_(hang_s) {
    void *at = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    progress_ = new (at) Progress;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
}

Supervisor::~Supervisor() { munmap(progress_, sizeof *progress_); }

Ended Supervisor::run(const std::function<void(Progress &)> &work, const std::string &log) {
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) be_child(work, *progress_, log);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    uint64_t last = UINT64_MAX;
    double still_s = 0;
    for (int status = 0;;) {
        if (waitpid(child, &status, WNOHANG) == child) return ended(status, progress_->number);
        timespec wait{look_every_s, 0};
        bool woken = sigtimedwait(&signals, nullptr, &wait) >= 0;
        uint64_t now = progress_->number;
        still_s = now != last ? 0 : still_s + (woken ? 0.0 : static_cast<double>(look_every_s));
        last = now;
        if (still_s < hang_s_) continue;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return {Ending::hung, now, 0};
    }
}

const char *name_of(Ending ending) {
    constexpr const char *names[] = {"finished", "killed", "hung", "wrong", "unable"};
    return names[static_cast<int>(ending)];
}

} // namespace apir::fuzz
