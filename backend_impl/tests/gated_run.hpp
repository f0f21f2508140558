// The whole op path in one process, with a host that keeps commands waiting, or refuses calls, when a test wants it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "extension_run.hpp"

namespace apir::guest::test {

// Holds commands back while its gate is closed, answers graph_run and graph_patch with nonsense and refuses calls when it is told to.
class GatedLibrary : public LibraryHost {
  public:
    using LibraryHost::LibraryHost;

    void on_command(const std::vector<uint8_t> &command) override {
        ++entered_;
        {
            std::unique_lock lock(mutex_);
            turned_.wait(lock, [this] { return open_; });
        }
        if (forgets && is_by_number(command)) answer_zeros(command, ReturnCode::ok);
        else if ((refused != 0 && call_of(command) == refused) || is_next(command)) answer_zeros(command, ReturnCode::call_failed);
        else LibraryHost::on_command(command);
        ++served_;
    }

    // Opens the gate and waits until what stood before it has been served, a call of this kind last.
    void let_all_through(Call last) {
        open();
        Clock::time_point until = Clock::now() + std::chrono::seconds(20);
        auto done = [&] { return calls()[static_cast<uint32_t>(last)] > 0 && served_ == entered_; };
        while (!done() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        expect(done(), "what stood before the gate is served");
    }

    void close() {
        std::lock_guard lock(mutex_);
        open_ = false;
    }
    void open() {
        std::lock_guard lock(mutex_);
        open_ = true;
        turned_.notify_all();
    }

    std::atomic<bool> forgets{false};
    std::atomic<uint32_t> refused{0}; // a call, by its number
    std::atomic<uint32_t> refuses_next{0}; // the same, once
    std::atomic<int> before_that{0}; // so many calls of that kind are served first

  private:
    static uint32_t call_of(const std::vector<uint8_t> &command) {
        uint32_t call = 0;
        std::memcpy(&call, command.data() + 4, sizeof call);
        return call;
    }

    static bool is_by_number(const std::vector<uint8_t> &command) {
        return call_of(command) == static_cast<uint32_t>(Call::graph_run) || call_of(command) == static_cast<uint32_t>(Call::graph_patch);
    }

    bool is_next(const std::vector<uint8_t> &command) {
        uint32_t call = call_of(command);
        return call != 0 && (refuses_next != call || before_that-- <= 0) && refuses_next.compare_exchange_strong(call, 0);
    }

    // To both: "There is no such graph."
    void answer_zeros(const std::vector<uint8_t> &command, ReturnCode code) {
        uint32_t resource = 0;
        std::memcpy(&resource, command.data() + 8, sizeof resource);
        auto *page = static_cast<uint8_t *>(memory(resource));
        std::memset(page + 4, 0, 8);
        reinterpret_cast<std::atomic<uint32_t> *>(page)->store(1 + static_cast<uint32_t>(code), std::memory_order_release);
    }

    std::mutex mutex_;
    std::condition_variable turned_;
    bool open_ = true;
    std::atomic<int> entered_{0};
    std::atomic<int> served_{0};
};

// Opens the gate at the end, whatever a test has found: the device's thread waits there.
struct GatedRun : RunOn<GatedLibrary> {
    using RunOn::RunOn;
    ~GatedRun() { host.open(); }
};

} // namespace apir::guest::test
