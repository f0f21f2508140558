// A virtio-gpu device that exists in this process only, and hosts behind it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "guest/device.hpp"
#include "guest/ggml_slots.hpp"

namespace apir::guest::test {

// Says what did not hold; `failures()` is the test program's exit status.
void expect(bool holds, const std::string &what);
int failures();

std::string hex(const std::vector<uint8_t> &bytes);
std::vector<uint8_t> from_hex(const std::string &text);

// A variable of the environment for as long as this lives.
class Variable {
  public:
    Variable(const char *name, const char *value);
    ~Variable();
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

  private:
    std::string name_;
};

// Everything that ggml is told through its log callback while this lives.
class CapturedLog {
  public:
    CapturedLog();
    ~CapturedLog();
    std::string text();
    bool has(const std::string &part) { return text().find(part) != std::string::npos; }

  private:
    std::mutex mutex_;
    std::string text_;
};

// What is on the other side of a fake device: gets each command, in order, on a thread of its own.
class FakeHost {
  public:
    virtual ~FakeHost() = default;
    virtual void on_command(const std::vector<uint8_t> &command) = 0;
    virtual void on_blob(uint32_t, const Blob &) {}
    virtual void on_blob_closed(uint32_t) {}
    virtual void on_bunch_fences() {}
};

// How a fake device behaves.
struct DevicePlan {
    std::vector<std::string> nodes{"/fake/renderD128"};
    Status open;
    Status caps;
    Status context;
    size_t window = size_t{1} << 30; // bytes for blobs
    uint32_t first_resource = 3;     // as in the recorded conversations
    std::chrono::milliseconds closing{0}; // how long a closed blob keeps its room
};

class FakeDevice : public Device {
  public:
    FakeDevice(DevicePlan plan, FakeHost &host);
    ~FakeDevice() override;

    std::vector<std::string> nodes() override { return plan_.nodes; }
    Status open(const std::string &node) override;
    Status get_caps(uint32_t capset, void *data, size_t size) override;
    Status init_context(uint32_t capset) override;
    void bunch_fences() override { host_.on_bunch_fences(); }
    Status create_blob(size_t size, Blob &blob) override;
    void close_blob(Blob &blob) override;
    Status submit(const void *command, size_t size) override;

  private:
    void serve();
    void give_back(size_t size);
    void give_back_closed();

    const DevicePlan plan_;
    FakeHost &host_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::vector<uint8_t>> queue_;
    bool ending_ = false;
    size_t used_ = 0;
    std::deque<std::pair<std::chrono::steady_clock::time_point, size_t>> closing_; // when how many of these are free
    uint32_t next_resource_ = plan_.first_resource;
    std::thread thread_;
};

// A host that follows a script; by itself it behaves like one with a simple device whose buffers are bytes in memory.
class ScriptedHost : public FakeHost {
  public:
    // Reads a request, writes a reply, returns the Forward code.
    using Handler = std::function<uint32_t(Reader &request, Writer &reply)>;
    static constexpr uint32_t ok = static_cast<uint32_t>(ReturnCode::ok);

    ScriptedHost();

    void on_command(const std::vector<uint8_t> &command) override;
    void on_blob(uint32_t resource, const Blob &blob) override;
    void on_blob_closed(uint32_t resource) override;

    void script(Call call, Handler handler) { handlers_[static_cast<uint32_t>(call)] = std::move(handler); }
    // Answers a call with fixed payload bytes.
    void answer(Call call, std::vector<uint8_t> payload);
    void refuse(Call call, uint32_t code);
    // Does not answer that call, until the end of its silence.
    void silence(Call call);
    void end_silence(Call call);

    // Commands of one call, in order, as sent.
    std::vector<std::vector<uint8_t>> sent(Call call);
    std::vector<std::vector<uint8_t>> all();
    size_t open_blobs();
    // Bytes of a buffer as the host has them; the first buffer's handle is 1.
    std::vector<uint8_t> held(uint64_t buffer, size_t at, size_t size);
    // Keeps a graph's bytes in data_seen.
    void remember(uint32_t resource, uint64_t size);
    // Order of frees and closed blobs: "free 7", "close 5".
    std::vector<std::string> events();

    Version version{0, 1};
    uint32_t handshake_code = handshake_magic;
    uint32_t load_code = 0;
    std::deque<uint32_t> first_load_codes; // answered before load_code
    bool answers_handshake = true;
    bool answers_load = true;
    bool takes_pointers = false;
    std::vector<uint8_t> data_seen; // of the last graph

  private:
    struct Buffer {
        std::vector<uint8_t> own;
        uint8_t *bytes = nullptr;
        size_t size = 0;
    };

    bool is_silent(uint32_t call);
    void reply(uint32_t resource, uint32_t code, const std::vector<uint8_t> &payload);
    void script_device();
    void script_buffer_type();
    void script_buffers();
    void script_data();
    uint8_t *place(uint64_t buffer, const TensorRecord &tensor, uint64_t offset, uint64_t size);
    Blob blob(uint32_t resource);

    std::mutex mutex_;
    std::map<uint32_t, Handler> handlers_;
    std::set<uint32_t> silent_;
    std::map<uint32_t, Blob> blobs_;
    std::map<uint64_t, Buffer> buffers_;
    std::vector<std::vector<uint8_t>> commands_;
    std::vector<std::string> events_;
    uint64_t next_buffer_ = 1;
};

// A registry set up on a fake device in front of `host`, which has to outlive it.
std::unique_ptr<Registry> set_up(FakeHost &host, DevicePlan plan = {});

} // namespace apir::guest::test
