// A worker's work: entries of the queue from QEMU, commands of the ring from the guest, and rest in between.
//
// Each turn takes what was in the queue when it was looked at, and one command of the ring: neither can keep the other
// waiting. Before a command of the ring is carried out, the queue is emptied of what came before it: the guest made its
// resources by way of QEMU, which told of them there before the guest could name them.
#pragma once

#include "../presence.hpp"
#include "../shared_queue.hpp"
#include "command_ring.hpp"
#include "commands.hpp"
#include "wakefulness.hpp"

namespace apir::virgl {

class Service {
  public:
    Service(QueueConsumer &queue, CommandRing &ring, Commands &commands, Presence &presence);

    // Returns when the context is closing.
    void run();

  private:
    bool serve_queue();
    bool serve_ring();
    void rest();
    void nap();
    void sleep(uint64_t at_most_ns);
    void note_waking(const Entry &entry);
    void begin_command();
    void end_command();

    QueueConsumer &queue_;
    CommandRing &ring_;
    Commands &commands_;
    Presence &presence_;
    Wakefulness wakefulness_;
    bool few_processors_ = false; // for all that a command without a ring needs
    uint64_t idle_since_ns_ = 0;
    uint64_t naps_began_ns_ = 0; // by this thread's processor time; 0: no nap since the last command
    uint64_t naps_cost_ns_ = 0; // processor time since then
    bool slept_ = false; // since the last command
    uint64_t began_ns_ = 0; // the last command
    bool long_transfer_ = false; // was the last command
};

} // namespace apir::virgl
