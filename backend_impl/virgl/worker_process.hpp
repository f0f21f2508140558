// A worker as QEMU sees it: started, watched, ended, reaped.
#pragma once

#include <string>
#include <sys/types.h>

#include "config.hpp"

namespace apir::virgl {

// What QEMU's side and a worker take for granted of each other: layouts of what they share, descriptors, arguments. Raise it when any of these changes: a
// QEMU that has been running for long meets the worker that is there now.
inline constexpr unsigned worker_interface = 1;

// Descriptors of a worker, by number; all others of QEMU's are closed in it.
inline constexpr int worker_queue_fd = 3;
inline constexpr int worker_arena_fd = 4;
inline constexpr int worker_presence_fd = 5;

struct WorkerSpec {
    std::string program;
    unsigned context;
    unsigned capset;
    int queue_fd;
    int arena_fd;
    int presence_fd;
    const Config &config;
};

class WorkerProcess {
  public:
    // Starts it; throws std::system_error. The kernel ends it when the calling thread ends, which has to be one that lasts as long as QEMU:
    // the worker asks for that itself (worker/confinement.hpp), and ends at once when its parent is gone by then.
    explicit WorkerProcess(const WorkerSpec &spec);
    // Kills it when it still runs, and reaps it.
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess &) = delete;
    WorkerProcess &operator=(const WorkerProcess &) = delete;

    pid_t pid() const { return pid_; }
    // Becomes readable when it has ended.
    int pidfd() const { return pidfd_; }
    void signal(int number) const;
    // Takes its exit status, in words, when it has ended; then it is no more. Empty while it runs.
    std::string reap();

  private:
    pid_t pid_ = -1;
    int pidfd_ = -1;
    bool reaped_ = false;
};

// VIRGL_APIR_WORKER, or apir-worker beside the library that `address` lies in.
std::string worker_program(const void *address);

} // namespace apir::virgl
