// Large transfers by protocol 0.2 alone: a thread, two of what goes out, has one command under way, and copies the next
// piece, or the last one, while the host is at that one.
//
// Usage: test-guest-one-by-one HOST_LIBRARY GGML_BACKEND_LIBRARY
#include "extension_run.hpp"
#include "wire/processors.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

// A byte that the guest may be writing at this moment: no data of the test's, and no race.
__attribute__((no_sanitize("thread"))) uint8_t seen(const uint8_t *place) { return *static_cast<const volatile uint8_t *>(place); }

CommandHeader header_of(const void *command, size_t size) {
    CommandHeader header;
    Reader reader(command, size);
    expect(read(reader, header), "a header");
    return header;
}

// Who has sent what. A thread has a reply resource to itself while its command is under way.
class Senders {
  public:
    void note(uint32_t reply_resource) {
        std::lock_guard lock(mutex_);
        of_[reply_resource] = std::this_thread::get_id();
        ++sent_[std::this_thread::get_id()];
        ++all_;
    }
    std::thread::id of(uint32_t reply_resource) {
        std::lock_guard lock(mutex_);
        return of_[reply_resource];
    }
    int sent_by(std::thread::id thread) {
        std::lock_guard lock(mutex_);
        return sent_[thread];
    }
    int all() {
        std::lock_guard lock(mutex_);
        return all_;
    }

  private:
    std::mutex mutex_;
    std::map<uint32_t, std::thread::id> of_;
    std::map<std::thread::id, int> sent_;
    int all_ = 0;
};
Senders senders;

class CountingDevice : public FakeDevice {
  public:
    using FakeDevice::FakeDevice;
    Status submit(const void *command, size_t size) override {
        senders.note(header_of(command, size).reply_resource);
        return FakeDevice::submit(command, size);
    }
};

// With one processor, one.
const cpu_set_t processors = apir::allowed_processors();
const int lanes = CPU_COUNT(&processors) > 1 ? 2 : 1;

// Is at a transfer's command for as long as the guest takes to copy beside it, and looks whether its sender sends anything meanwhile.
class PatientLibrary : public LibraryHost {
  public:
    using LibraryHost::LibraryHost;

    void on_blob(uint32_t resource, const Blob &blob) override {
        LibraryHost::on_blob(resource, blob);
        if (blob.size < least_slot) return;
        std::lock_guard lock(mutex_);
        slots_.push_back(blob.memory);
    }

    void on_command(const std::vector<uint8_t> &command) override {
        const CommandHeader header = header_of(command.data(), command.size());
        const bool out = header.flags == static_cast<uint32_t>(Call::buffer_set_tensor);
        const bool in = header.flags == static_cast<uint32_t>(Call::buffer_get_tensor);
        if (watches && (out || in)) {
            const std::thread::id sender = senders.of(header.reply_resource);
            const int sent = senders.sent_by(sender);
            const int number = pieces++;
            if (destination != nullptr && out && number == 0)
                await([this] { return filled_slots() == 2 * lanes; }, "each thread fills its second slot while the host is at its first");
            if (destination != nullptr && in) watch_emptying(command, sender);
            std::this_thread::sleep_for(5ms);
            expect(senders.sent_by(sender) == sent, "nothing is sent by who has a command under way");
            if (number == refused) return refuse(header.reply_resource);
        }
        LibraryHost::on_command(command);
    }

    static constexpr size_t least_slot = size_t{1} << 20;
    static constexpr uint8_t value = 7;
    std::atomic<bool> watches{false};
    std::atomic<int> pieces{0};
    std::atomic<int> refused{-1}; // a piece, by its number
    // Where what is read goes to, if the guest's copies are to be waited for.
    std::atomic<const uint8_t *> destination{nullptr};
    std::atomic<bool> emptied_beside{false}; // the first piece, while the host was at its thread's next one

  private:
    template <typename Done> static void await(Done done, const char *what) {
        const Clock::time_point until = Clock::now() + 10s;
        while (!done() && Clock::now() < until) std::this_thread::sleep_for(1ms);
        expect(done(), what);
    }

    // The thread with the first piece empties its slot while the host is at that thread's second one.
    void watch_emptying(const std::vector<uint8_t> &command, std::thread::id sender) {
        Reader reader(command.data(), command.size());
        CommandHeader header;
        BufferGetTensorRequest request;
        expect(read(reader, header) && read(reader, request), "a get_tensor request");
        if (request.offset == 0) {
            first_ = sender;
            first_sent_ = senders.sent_by(sender);
        } else if (first_ == sender) {
            await([this] { return seen(destination.load()) == value; }, "the first slot is emptied while the host is at the second");
            emptied_beside = true;
        } else if (first_ != std::thread::id() && !emptied_beside) {
            await([this] { return senders.sent_by(first_) > first_sent_; }, "the thread with the first piece goes on");
        }
    }

    void refuse(uint32_t resource) {
        auto *notify = static_cast<std::atomic<uint32_t> *>(memory(resource));
        notify->store(static_cast<uint32_t>(ReturnCode::call_failed) + 1);
    }

    int filled_slots() {
        std::lock_guard lock(mutex_);
        int filled = 0;
        for (uint8_t *slot : slots_) filled += seen(slot) == value ? 1 : 0;
        return filled;
    }

    std::mutex mutex_;
    std::vector<uint8_t *> slots_;
    std::thread::id first_;
    int first_sent_ = 0;
};

constexpr int64_t bytes = int64_t{33} << 20;

struct Transfers {
    Transfers()
        : none("GGML_VIRTGPU_EXTENSIONS", "none"), awaited("GGML_VIRTGPU_WRITE_BEHIND", "off"), path("GGML_VIRTGPU_DATA_PATH", "copied"), host(libraries.host, libraries.ggml, "1"),
          registry(make_registry(std::make_unique<CountingDevice>(DevicePlan{}, host))),
          tensor(ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, bytes)),
          buffer(ggml_backend_alloc_ctx_tensors_from_buft(memory.get(), ggml_backend_dev_buffer_type(registry->device())),
                 ggml_backend_buffer_free) {}

    Variable none;
    Variable awaited; // the last piece, too: it would be beside what comes next
    Variable path;
    PatientLibrary host;
    std::unique_ptr<Registry> registry;
    Context memory = context();
    ggml_tensor *tensor;
    Buffer buffer;
};

void pieces_overlap() {
    Transfers run;
    std::vector<uint8_t> data(bytes, PatientLibrary::value);
    data.back() = 9;
    std::vector<uint8_t> back(bytes, 0);
    run.host.watches = true;
    run.host.destination = back.data();
    ggml_backend_tensor_set(run.tensor, data.data(), 0, bytes);
    expect(run.host.pieces == 9, std::to_string(run.host.pieces) + " pieces out");
    run.host.pieces = 0;
    ggml_backend_tensor_get(run.tensor, back.data(), 0, bytes);
    expect(run.host.pieces == 11, std::to_string(run.host.pieces) + " pieces in");
    expect(run.host.emptied_beside, "the thread with the first piece had a second one");
    expect(back == data, "the data");
}

void less_goes_at_once() {
    Transfers run;
    std::vector<uint8_t> data(size_t{6} << 20, PatientLibrary::value);
    const int before = senders.all();
    ggml_backend_tensor_set(run.tensor, data.data(), 0, data.size());
    expect(senders.all() == before + 1, std::to_string(senders.all() - before) + " commands for 6 MiB");
}

// Both ways: the piece after the refused one stays at home, the other thread ends with what it has under way or is about to send, and
// nothing is left of what could not be read.
void a_refusal_ends_it() {
    Transfers run;
    std::vector<uint8_t> data(bytes, 1);
    CapturedLog log;
    Channel &channel = run.registry->session().channel();
    run.host.watches = true;
    run.host.refused = 2;
    for (bool out : {true, false}) {
        const uint64_t lost = channel.lost_transfers();
        run.host.pieces = 0;
        std::fill(data.begin(), data.end(), PatientLibrary::value);
        if (out) ggml_backend_tensor_set(run.tensor, data.data(), 0, bytes);
        else ggml_backend_tensor_get(run.tensor, data.data(), 0, bytes);
        const int pieces = run.host.pieces;
        expect(pieces >= 3 && pieces <= 5, std::to_string(pieces) + " pieces, the third of which was refused");
        expect(channel.lost_transfers() > lost, out ? "a write is lost" : "a read is lost");
        expect(log.has(out ? "set_tensor" : "get_tensor"), "which: " + log.text());
    }
    expect(data == std::vector<uint8_t>(bytes, 0), "what could not be read is zeros");
    run.host.refused = -1;
    const uint64_t lost = channel.lost_transfers();
    std::fill(data.begin(), data.end(), uint8_t{5}); // neither what is there nor what a read that fails leaves
    ggml_backend_tensor_set(run.tensor, data.data(), 0, bytes);
    std::vector<uint8_t> back(bytes, 1);
    run.host.watches = false;
    ggml_backend_tensor_get(run.tensor, back.data(), 0, bytes);
    expect(back == data, "the next transfer goes well");
    expect(channel.lost_transfers() == lost, "and none of it is lost");
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    pieces_overlap();
    less_goes_at_once();
    a_refusal_ends_it();
    return failures();
}
