#include "two_threads.hpp"

#include <csignal>
#include <exception>
#include <sched.h>

#include "wire/processors.hpp"

namespace apir::guest {

namespace {

// For the calling thread, and so for those that it makes.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t blocked;
        sigfillset(&blocked);
        for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
        pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals &) = delete;
    BlockedSignals &operator=(const BlockedSignals &) = delete;

  private:
    sigset_t before_{};
};

bool has_two_processors() {
    const cpu_set_t allowed = allowed_processors();
    return CPU_COUNT(&allowed) > 1;
}

} // namespace

SecondThread::SecondThread(bool wanted, const std::function<void()> &work) {
    if (!wanted || !has_two_processors()) return;
    const BlockedSignals blocked;
    try {
        thread_ = std::thread(work);
    } catch (const std::exception &) { // the program may have no more threads, or no memory: one does, too
    }
}

} // namespace apir::guest
