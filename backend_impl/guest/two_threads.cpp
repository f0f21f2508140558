#include "two_threads.hpp"

#include <exception>
#include <memory>
#include <mutex>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <utility>

#include "forked.hpp"
#include "wire/blocked_signals.hpp"
#include "wire/processors.hpp"

namespace apir::guest {

namespace {

// How the system lets a thread run, which those that it begins take over.
struct Terms {
    static Terms own() {
        sched_param parameters{};
        sched_getparam(0, &parameters);
        return {allowed_processors(), sched_getscheduler(0), parameters.sched_priority, getpriority(PRIO_PROCESS, 0)};
    }

    bool equal(const Terms &other) const {
        return CPU_EQUAL(&processors, &other.processors) != 0 && policy == other.policy && priority == other.priority && nice == other.nice;
    }

    cpu_set_t processors;
    int policy;
    int priority;
    int nice;
};

} // namespace

// A thread of ours. It has a user from when it is begun, or called, until it has begun the user's work, or that is taken back.
struct SecondThread::Thread {
    explicit Thread(const Terms &its) : terms(its) {}

    const Terms terms;
    SecondThread *user = nullptr;
    bool dismissed = false; // ends without further work
    std::condition_variable bell;
};

// All of them.
class SecondThreads {
  public:
    // Never destroyed: they may be asleep when the process ends.
    static SecondThreads &instance() {
        static SecondThreads &all = *new SecondThreads;
        return all;
    }

    void engage(SecondThread &user) {
        const Terms terms = Terms::own();
        if (CPU_COUNT(&terms.processors) < 2 || call_idle(user, terms)) return;
        try {
            begin(user, terms);
        } catch (const std::exception &) { // the program may have no more threads, or no memory: one does, too
        }
    }

    // Until the work is done, unless it was not begun: then it never will be.
    void release(SecondThread &user) {
        std::unique_lock lock(mutex_);
        if (user.begun_) {
            user.end_.wait(lock, [&user] { return user.ended_; });
            return;
        }
        user.thread_->user = nullptr;
        // Whoever wants one next need not wait until this one has noticed. It wakes up in any case: it was called.
        if (idle_ == nullptr) idle_ = user.thread_;
        else user.thread_->dismissed = true;
    }

  private:
    using Thread = SecondThread::Thread;

    bool call_idle(SecondThread &user, const Terms &terms) {
        std::lock_guard lock(mutex_);
        if (idle_ == nullptr) return false;
        Thread &thread = *std::exchange(idle_, nullptr);
        const bool fits = thread.terms.equal(terms);
        if (fits) {
            thread.user = &user;
            user.thread_ = &thread;
        } else {
            thread.dismissed = true;
        }
        thread.bell.notify_one();
        return fits;
    }

    void begin(SecondThread &user, const Terms &terms) {
        auto thread = std::make_unique<Thread>(terms);
        Thread *const one = thread.get();
        one->user = &user;
        const BlockedSignals blocked;
        std::thread(&SecondThreads::live, this, std::move(thread)).detach();
        // It may have ended by now. Then the work has, too.
        user.thread_ = one;
    }

    void live(std::unique_ptr<Thread> self) {
        std::unique_lock lock(mutex_);
        while (self->user != nullptr || stays_idle(*self, lock)) {
            SecondThread &user = *std::exchange(self->user, nullptr);
            user.begun_ = true;
            lock.unlock();
            user.work_();
            lock.lock();
            user.ended_ = true;
            user.end_.notify_one();
        }
    }

    // Until there is work for it; false when none has come, or when it is not needed.
    bool stays_idle(Thread &self, std::unique_lock<std::mutex> &lock) {
        if (idle_ != nullptr && idle_ != &self) return false;
        idle_ = &self;
        // To wait for no time at all gives the mutex away as well, and somebody might call it.
        const std::chrono::milliseconds stays = SecondThread::stays;
        if (stays.count() != 0) self.bell.wait_for(lock, stays, [&self] { return self.user != nullptr || self.dismissed; });
        if (idle_ == &self) idle_ = nullptr;
        return self.user != nullptr;
    }

    std::mutex mutex_;
    Thread *idle_ = nullptr; // the one that stays, asleep or about to notice that it has nothing to do
};

SecondThread::SecondThread(bool wanted, std::function<void()> work) : work_(std::move(work)) {
    if (wanted && !in_forked_child()) SecondThreads::instance().engage(*this);
}

SecondThread::~SecondThread() {
    if (is_there() && !in_forked_child()) SecondThreads::instance().release(*this);
}

} // namespace apir::guest
