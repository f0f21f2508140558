// Call record files: one record per remote call, written by both sides.
//
// The file is mapped shared, so a record costs a few stores and a killed process loses nothing. lab/metrics reads them.
// Layout: a header of 128 bytes, then records of 80 bytes (of version 1: 64, without the last two items); little-endian. A record whose start_ns is 0 was reserved and
// never completed. `counted` is raised when a command begins, apart from the records: a difference is a lost record.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace apir {

enum class CallSide : uint32_t { guest = 0, host = 1 };

struct CallLogHeader {
    char magic[8]; // "APIRCALL"
    uint32_t version; // 2
    uint32_t side;
    uint32_t record_size; // 80
    uint32_t pid;
    uint64_t session; // random number of the guest's context; 0: not known
    uint32_t context; // virgl context id; 0 on the guest's side, which is not told
    uint32_t capset; // as the context was created on
    uint64_t realtime_ns; // CLOCK_REALTIME at opening
    uint64_t monotonic_ns; // CLOCK_MONOTONIC at opening
    uint64_t counted; // commands begun
    uint64_t written; // records completed
    char build_id[40]; // hex, of the library that writes
    char last_op[16]; // host: name of the op that the last graph ended with, from before it was computed; cut, NUL-terminated
};
static_assert(sizeof(CallLogHeader) == 128);

struct CallRecord {
    uint64_t seq = 0; // order in the file; set by add()
    uint64_t start_ns = 0; // CLOCK_MONOTONIC
    uint64_t duration_ns = 0; // guest: encoding begun to reply decoded; host: dispatch
    uint64_t queue_ns = 0; // guest: the encoding part; host: submitted to picked up, for a command of the ring: first seen to picked up
    uint32_t type = 0; // CommandType
    uint32_t call = 0; // Call, for Forward
    uint32_t reply_resource = 0;
    int32_t status = -1; // return code; -1: no reply came
    uint64_t bytes_out = 0; // guest to host, command and data
    uint64_t bytes_in = 0; // host to guest, reply and data
    uint64_t host_queue_ns = 0; // guest: what the host says of itself in the reply (extension timing); 0 and 0: nothing
    uint64_t host_compute_ns = 0;
};
static_assert(sizeof(CallRecord) == 80);

// CLOCK_MONOTONIC in nanoseconds.
uint64_t monotonic_ns();

// Safe for several threads. Without a folder, or when the file cannot be made, nothing is written and nothing fails.
class CallLog {
  public:
    CallLog() = default;
    ~CallLog();
    CallLog(const CallLog &) = delete;
    CallLog &operator=(const CallLog &) = delete;

    // Makes FOLDER/NAME.calls, or another of that name (new_file.hpp). `writer` is any address inside the library that writes, for its build id. False with the
    // reason in `error` when it cannot.
    bool open(const char *folder, const std::string &name, CallSide side, uint32_t context, uint32_t capset, const void *writer,
              std::string &error);
    bool is_open() const { return header_ != nullptr; }

    void set_session(uint64_t session);
    // Where the header holds the name of the last graph's op; nullptr without a file.
    char *last_op() { return is_open() ? header_->last_op : nullptr; }
    // A command begins.
    void count() {
        if (is_open()) count_one();
    }
    // A command has ended.
    void add(CallRecord record);

  private:
    void count_one();
    bool ensure_room(uint64_t index);

    int fd_ = -1;
    CallLogHeader *header_ = nullptr;
    std::atomic<uint64_t> next_{0};
    std::atomic<uint64_t> room_{0}; // records that the file has space for
    std::mutex growth_;
};

} // namespace apir
