// Runs work that may kill its process in children, one after the other: a death or a hang costs one item, is told, and the rest goes on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace apir::fuzz {

// What a child tells its supervisor, in memory that both see.
struct Progress {
    static constexpr size_t kinds = 128; // the last one for all others

    std::atomic<uint64_t> number{0}; // of the item under way
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> refused{0};
    std::atomic<uint64_t> tried_of_kind[kinds]{};
    std::atomic<uint64_t> done_of_kind[kinds]{};
};

enum class Ending { finished, killed, hung, wrong, unable };

struct Ended {
    Ending ending = Ending::finished;
    uint64_t number = 0; // of the item that did it
    int signal = 0; // that killed
};

// The status with which a child ends that has seen a wrong result.
inline constexpr int wrong_status = 42;
// And that of one which could not begin its work: no library, no file.
inline constexpr int unable_status = 2;

class Supervisor {
  public:
    // A child that stays at one item for longer hangs.
    explicit Supervisor(double hang_s);
    ~Supervisor();
    Supervisor(const Supervisor &) = delete;
    Supervisor &operator=(const Supervisor &) = delete;

    // Runs `work` in a child, whose standard error goes to `log` unless that is empty.
    Ended run(const std::function<void(Progress &)> &work, const std::string &log = "");
    const Progress &progress() const { return *progress_; }

  private:
    double hang_s_;
    Progress *progress_;
};

const char *name_of(Ending ending);

} // namespace apir::fuzz
