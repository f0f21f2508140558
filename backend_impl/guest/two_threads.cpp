#include "two_threads.hpp"

#include <exception>
#include <sched.h>

#include "wire/blocked_signals.hpp"
#include "wire/processors.hpp"

namespace apir::guest {

namespace {

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
