// The host library behind a fake device, and something in between that does to some commands what a host may do at worst.
#pragma once

#include <condition_variable>
#include <mutex>

#include "random.hpp"
#include "tests/guest_loopback.hpp"
#include "wire/ring.hpp"

namespace apir::fuzz {

// What is done to one command in so many, and how late what is late comes.
struct Meddling {
    uint64_t one_in = 0; // 0: to none
    std::chrono::milliseconds late{0};
    int deaths = 0; // how often it may die of one of them
};

// What was done and said, line by line, by several threads.
class Story {
  public:
    void add(const char *line) {
        std::lock_guard lock(mutex_);
        text_ += line;
    }
    std::string text() {
        std::lock_guard lock(mutex_);
        return text_;
    }

  private:
    std::mutex mutex_;
    std::string text_;
};

class MeddlingHost : public guest::test::LibraryHost {
  public:
    MeddlingHost(const char *library, const char *ggml_library, Story &story, uint64_t seed);
    ~MeddlingHost() override;

    void on_command(const std::vector<uint8_t> &command) override;
    void on_blob_closed(uint32_t resource) override;

    // Another context than the one before, whose commands are those of a worker that has ended. Its resources are `first` and above.
    void begin_another(uint32_t first);

    void meddle(const Meddling &how);
    bool meddles();
    // While one lives nothing is done to commands, and what is late is late no longer.
    class Peace {
      public:
        explicit Peace(MeddlingHost &host);
        ~Peace();
        Peace(const Peace &) = delete;
        Peace &operator=(const Peace &) = delete;

      private:
        MeddlingHost &host_;
    };
    // Commands that something was done to.
    uint64_t meddled();
    // Contexts that took the place of another.
    uint64_t followed();

  private:
    enum class Deed { none, refuse, be_silent, be_late, keep_the_reply, break_off, die };

    Deed deed_for(uint32_t call);
    void answer(uint32_t resource, ReturnCode code);
    void carry_out(const std::vector<uint8_t> &command);
    ReturnCode open_ring(Reader &request);
    void serve_ring();
    void end_ring();

    Story &story_;
    std::mutex mutex_;
    std::condition_variable peace_;
    int at_peace_ = 0;
    Random random_;
    Meddling how_;
    uint64_t meddled_ = 0;
    uint64_t followed_ = 0;
    guest::Blob nowhere_; // for replies that nobody is to see
    std::mutex one_at_a_time_;
    std::atomic<bool> dead_{false};
    uint32_t first_ = 0; // resource of the present context

    std::atomic<uint32_t> ring_{0}; // its resource
    RingShape shape_;
    std::thread ring_thread_;
    std::atomic<bool> ring_ends_{false};
    std::atomic<uint32_t> kicks_{0};
};

} // namespace apir::fuzz
