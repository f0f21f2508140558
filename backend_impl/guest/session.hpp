// One context on one virtio-gpu device, from the render node to a host library that is loaded and ready.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blob_reserve.hpp"
#include "channel.hpp"
#include "config.hpp"
#include "in_flight.hpp"
#include "ring_transport.hpp"
#include "write_behind.hpp"

namespace apir::guest {

class Session {
  public:
    // Finds a device, opens a context, shakes hands, has the host library loaded and negotiates extensions. On failure
    // there is no session, and `error` names the cause.
    static std::unique_ptr<Session> start(std::unique_ptr<Device> device, const Config &config, std::string &error);

    // The kernel's side of the context ends with the device; blobs are closed before.
    ~Session() = default;
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    Channel &channel() { return channel_; }
    BlobPool &data_slots() { return data_slots_; }
    // A data slot of `size` bytes, waited for as long as graphs keep it, and behind them as an ordinary call is. Who waits has none himself. Empty when there
    // is none.
    BlobPool::Lease data_slot_in_time(size_t size);
    WriteBehind &write_behind() { return write_behind_; }
    // Blobs for buffers.
    BlobReserve &buffer_blobs() { return buffer_blobs_; }
    // Calls of all streams that were sent and not awaited yet.
    std::atomic<size_t> &calls_in_flight() { return calls_in_flight_; }
    const Config &config() const { return config_; }
    // A stream's, which may hold what others come to need.
    void know(const std::shared_ptr<InFlight> &in_flight);
    // Ends what is answered and nobody has looked at yet: each holds a reply slot, and some a data slot. For who waits for one: nobody else may ever
    // look. Waits for no reply.
    void end_answered() noexcept;
    // Closes blobs that nobody uses, of a context that is lost: another one may need the room in the host-visible window.
    void give_up_free();
    // What both sides have.
    uint64_t extensions() const { return extensions_; }
    bool has(Extension extension) const { return (extensions_ & static_cast<uint64_t>(extension)) != 0; }

  private:
    Session(std::shared_ptr<Device> device, const Config &config, uint32_t capset);

    Status bring_up();
    // Closes blobs that are kept for what may come, for a reply slot, which it makes if there is room then. False: there is none, and may be some when a
    // data slot comes back.
    bool make_room();

    void open_call_log();
    Status handshake();
    Status load_library();
    void negotiate();
    void open_ring();

    const Config config_;
    const uint32_t capset_;
    std::shared_ptr<Device> device_; // shared with start() only, which tries the next node when this one leads nowhere
    BlobPool reply_slots_;
    BlobPool data_slots_;
    BlobReserve buffer_blobs_;
    CallLog call_log_;
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<RingTransport> ring_; // where both sides have it
    Channel channel_;
    WriteBehind write_behind_;
    std::atomic<size_t> calls_in_flight_{0};
    std::mutex room_mutex_;
    std::mutex streams_mutex_;
    std::vector<std::weak_ptr<InFlight>> streams_;
    uint64_t id_ = 0; // random, to join the call records of both sides
    uint64_t extensions_ = 0;
};

// What a return code of LoadLibrary means, and what to do about it.
std::string load_code_text(uint32_t code);

} // namespace apir::guest
