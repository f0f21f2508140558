#include "forked.hpp"

#include <pthread.h>

#include "log.hpp"

namespace apir::guest {

void watch_for_forks() {
    static const int error = pthread_atfork(nullptr, nullptr, [] { forked_child.store(true, std::memory_order_relaxed); });
    if (error != 0) log(LogLevel::warn, "forked processes cannot be told from this one: no memory");
}

} // namespace apir::guest
