// Carries out a context's commands, one after the other.
#pragma once

#include <cstdint>

#include <apir_gen.hpp>
#include <call_log.hpp>

#include "../shared_queue.hpp"
#include "command_ring.hpp"
#include "host_library.hpp"
#include "trace.hpp"

namespace apir::virgl {

class Commands {
  public:
    Commands(HostWorld &world, CommandRing &ring, CallLog &calls, Trace &trace)
        : world_(world), ring_(ring), calls_(calls), trace_(trace), library_(world) {}

    // Takes an entry of the queue, or a command of the ring in the form of one. Never fails: what cannot be answered is logged.
    void take(const Entry &entry);
    // Whether the last command copied data between a tensor and a resource by a set or get of its own.
    bool moved_data() const { return moved_data_; }

  private:
    struct Outcome {
        uint32_t code;
        size_t reply_size;
    };

    void on_blob_added(const Entry &entry);
    void on_blob_removed(const Entry &entry);
    void on_config(const Entry &entry);
    void on_command(const Entry &entry);
    Outcome carry_out(CommandType type, uint32_t flags, Reader &payload, const uint8_t *request, size_t request_size,
                      uint8_t *reply, size_t room);
    Outcome on_handshake(Reader &payload, uint8_t *reply, size_t room);
    Outcome on_load_library();
    Outcome on_forward(uint32_t call, const uint8_t *request, size_t request_size, uint8_t *reply, size_t room);
    Outcome on_ring_create(const uint8_t *request, size_t request_size);
    Outcome on_negotiate(const uint8_t *request, size_t request_size, uint8_t *reply, size_t room);
    void complain(const char *what, uint32_t number);

    HostWorld &world_;
    CommandRing &ring_;
    CallLog &calls_;
    Trace &trace_;
    HostLibrary library_;
    bool other_major_ = false;
    bool tells_times_ = false; // extension timing
    bool moved_data_ = false;
    int complaints_ = 0;
    const char *last_complaint_ = nullptr; // one of our own texts
    uint32_t last_number_ = 0;
};

} // namespace apir::virgl
