// Graphs that were sent and not awaited yet. The host serves other calls behind them: those wait for as long as one is computed.
#pragma once

#include <mutex>
#include <vector>

#include "reply_wait.hpp"

namespace apir::guest {

class RunningGraphs {
  public:
    // A graph that was handed over; the word is its reply's first, and stays until the graph is removed.
    void add(const std::atomic<uint32_t> &reply);
    // It was awaited, or given up.
    void remove(const std::atomic<uint32_t> &reply);
    // Until when the host was busy with graphs, of which none takes longer than `longest`: now, if one still has no reply and has
    // time left. Who awaits them, and whether anybody does, does not matter.
    Clock::time_point busy_until(Clock::time_point now, Clock::duration longest);
    // Until when one that was added has time: `longest` from when it was sent, or from when those that ended meanwhile had. One after
    // the other is computed, in the order of sending.
    Clock::time_point time_of(const std::atomic<uint32_t> &reply, Clock::time_point now, Clock::duration longest);

  private:
    // With the mutex held.
    void look_for_replies(Clock::time_point now);

    struct Graph {
        const std::atomic<uint32_t> *reply;
        Clock::time_point sent;
        bool answered = false; // as somebody has seen
    };

    std::mutex mutex_;
    std::vector<Graph> graphs_; // in the order of sending, nearly
    Clock::time_point end_ = Clock::time_point::min(); // of the last one that ended, as far as anybody saw
};

} // namespace apir::guest
