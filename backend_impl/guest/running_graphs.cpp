#include "running_graphs.hpp"

#include <algorithm>

namespace apir::guest {

void RunningGraphs::add(const std::atomic<uint32_t> &reply) {
    std::lock_guard lock(mutex_);
    graphs_.push_back({&reply, Clock::now()});
}

void RunningGraphs::remove(const std::atomic<uint32_t> &reply) {
    std::lock_guard lock(mutex_);
    auto graph = std::find_if(graphs_.begin(), graphs_.end(), [&](const Graph &each) { return each.reply == &reply; });
    if (graph == graphs_.end()) return;
    if (!graph->answered) end_ = Clock::now();
    graphs_.erase(graph);
}

void RunningGraphs::look_for_replies(Clock::time_point now) {
    for (Graph &graph : graphs_) {
        if (graph.answered || graph.reply->load(std::memory_order_acquire) == 0) continue;
        graph.answered = true;
        end_ = now;
    }
}

Clock::time_point RunningGraphs::busy_until(Clock::time_point now, Clock::duration longest) {
    std::lock_guard lock(mutex_);
    look_for_replies(now);
    // A graph's time begins when those before it have ended: one after the other is computed.
    auto runs = [&](const Graph &each) { return !each.answered && std::max(each.sent, end_) + longest > now; };
    return std::any_of(graphs_.begin(), graphs_.end(), runs) ? now : end_;
}

Clock::time_point RunningGraphs::time_of(const std::atomic<uint32_t> &reply, Clock::time_point now, Clock::duration longest) {
    std::lock_guard lock(mutex_);
    look_for_replies(now);
    auto graph = std::find_if(graphs_.begin(), graphs_.end(), [&](const Graph &each) { return each.reply == &reply; });
    return graph == graphs_.end() ? now : std::max(graph->sent, end_) + longest;
}

} // namespace apir::guest
