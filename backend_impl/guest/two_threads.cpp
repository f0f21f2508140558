#include "two_threads.hpp"

#include <exception>
#include <memory>
#include <mutex>
#include <sched.h>
#include <thread>
#include <utility>

#include "forked.hpp"
#include "wire/blocked_signals.hpp"
#include "wire/processors.hpp"

namespace apir::guest {

// A thread of ours. It has work from when it is begun, or called, until that is done or taken back.
struct SecondThread::Helper {
    explicit Helper(const cpu_set_t &processors) : allowed(processors) {}

    const cpu_set_t allowed;
    SecondThread *user = nullptr;
    bool dismissed = false; // ends without further work
    std::condition_variable bell;
};

// All of them.
class Helpers {
  public:
    // Never destroyed: they may be asleep when the process ends.
    static Helpers &instance() {
        static Helpers &helpers = *new Helpers;
        return helpers;
    }

    void engage(SecondThread &user) {
        const cpu_set_t allowed = allowed_processors();
        if (CPU_COUNT(&allowed) < 2) return;
        if (call_idle(user, allowed)) return;
        try {
            begin(user, allowed);
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
        user.helper_->user = nullptr;
        // Whoever wants one next need not wait until this one has noticed.
        if (idle_ == nullptr) idle_ = user.helper_;
    }

  private:
    using Helper = SecondThread::Helper;

    bool call_idle(SecondThread &user, const cpu_set_t &allowed) {
        std::lock_guard lock(mutex_);
        if (idle_ == nullptr) return false;
        Helper &helper = *std::exchange(idle_, nullptr);
        const bool fits = CPU_EQUAL(&helper.allowed, &allowed) != 0;
        if (fits) {
            helper.user = &user;
            user.helper_ = &helper;
        } else {
            helper.dismissed = true;
        }
        helper.bell.notify_one();
        return fits;
    }

    void begin(SecondThread &user, const cpu_set_t &allowed) {
        auto helper = std::make_unique<Helper>(allowed);
        Helper *const one = helper.get();
        one->user = &user;
        const BlockedSignals blocked;
        std::lock_guard lock(mutex_); // it does not begin before the user knows it
        std::thread(&Helpers::help, this, std::move(helper)).detach();
        user.helper_ = one;
    }

    void help(std::unique_ptr<Helper> self) {
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
    bool stays_idle(Helper &self, std::unique_lock<std::mutex> &lock) {
        if (self.dismissed || (idle_ != nullptr && idle_ != &self)) return false;
        idle_ = &self;
        // Not even for none, in which another thread might take the mutex.
        const std::chrono::milliseconds stays = SecondThread::stays;
        if (stays.count() != 0) self.bell.wait_for(lock, stays, [&self] { return self.user != nullptr || self.dismissed; });
        if (idle_ == &self) idle_ = nullptr;
        return self.user != nullptr;
    }

    std::mutex mutex_;
    Helper *idle_ = nullptr; // the one that stays, asleep or about to notice that it has nothing to do
};

SecondThread::SecondThread(bool wanted, std::function<void()> work) : work_(std::move(work)) {
    if (wanted && !in_forked_child()) Helpers::instance().engage(*this);
}

SecondThread::~SecondThread() {
    if (is_there()) Helpers::instance().release(*this);
}

} // namespace apir::guest
