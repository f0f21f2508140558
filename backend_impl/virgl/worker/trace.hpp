// A context's conversation, recorded: JSON lines, as lab/apir/trace.py reads them.
//
// A row per blob that was added ("ioctl": RESOURCE_CREATE_BLOB) and per command ("command"): its bytes, the call's number or
// name, return code, reply, and its data whole, bytes in hex, with that of the calls before the last one of a batch; start_ns (CLOCK_MONOTONIC) and duration_ns. The
// first part of a command's row is written before it is carried out: of one that ended the worker the request is left.
// Data that the guest writes into a shared buffer is in no command, and so in no row.
#pragma once

#include <string>

#include <apir_gen.hpp>

#include "blobs.hpp"
#include "meant_call.hpp"

namespace apir::virgl {

class Trace {
  public:
    Trace() = default;
    ~Trace();
    Trace(const Trace &) = delete;
    Trace &operator=(const Trace &) = delete;

    // Makes FOLDER/NAME.jsonl, or another of that name (new_file.hpp). False, with the reason in `error`, when it cannot; then nothing is recorded.
    bool open(const std::string &folder, const std::string &name, std::string &error);
    bool is_open() const { return fd_ >= 0; }

    void blob_added(uint32_t resource, uint64_t size);
    // A whole command, header included, begins; `type` without the offset of routed commands.
    void begin(CommandType type, const uint8_t *command, size_t size, const BlobTable &blobs);
    // It was carried out at `start_ns` in `duration_ns`.
    void end(uint32_t code, const uint8_t *reply, size_t reply_size, uint64_t start_ns, uint64_t duration_ns);

  private:
    const MappedBlob *data_of(const MeantData &data, uint64_t size) const;
    bool add_data_along();
    void give_up();
    void put();

    int fd_ = -1;
    std::string row_;
    MeantCall meant_;
    const BlobTable *blobs_ = nullptr; // of the command under way
};

} // namespace apir::virgl
