// Target: a context from QEMU's side to its worker's, with the host library and ggml-cpu behind them. Input: steps of a kind, a number
// and bytes: commands as a guest submits them, its resources coming and going, its ring, bytes that it writes into shared memory at any
// time; the worker's turns; and a worker that was taken over by its guest, or ends.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <sys/mman.h>

#include <call_log.hpp>

#include "generate.hpp"
#include "target.hpp"
#include "virgl/context.hpp"
#include "virgl/presence.hpp"
#include "virgl/worker/commands.hpp"

using namespace apir;
using namespace apir::virgl;
using apir::fuzz::Bytes;
using apir::fuzz::Generator;
using apir::fuzz::Handles;
using apir::fuzz::Message;
using apir::fuzz::Random;

namespace {

constexpr uint64_t page_bytes = 4096;
constexpr uint32_t context_id = 1;
constexpr ContextLimits limits{uint64_t{1} << 20, 12};
// Many inputs share a context: so what one of them leaves behind meets the next.
constexpr int renew_every = 128;
const int presence_fd = apir::virgl::make_shared_file("presence", apir::virgl::Presence::memory_size);

// What a guest has made, and a worker without the process.
struct Rig {
    Rig() {
        context.configure("apir.stall_limit_ms", "0");
        // A process that ends at once stands in for the worker's.
        context.start_worker("/bin/true", presence_fd);
        for (uint32_t i = 1; i <= 4; ++i) add(i, 4);
        work();
    }
    ~Rig() { munmap(queue_memory, queue_memory_size); }

    void add(uint32_t resource, uint64_t pages) {
        if (resource == 0 || guests.count(resource) != 0) return; // Component sees to that
        const char *why_not = "";
        if (std::optional<Range> range = context.add_blob(resource, pages * page_bytes, why_not)) guests[resource] = *range;
        else if (*why_not == '\0') std::abort();
    }
    void remove(uint32_t resource) {
        guests.erase(resource);
        context.remove_blob(resource);
    }
    void write(uint32_t resource, const uint8_t *bytes, size_t size) {
        auto at = guests.find(resource);
        if (at != guests.end() && size != 0) std::memcpy(context.arena().at(at->second.offset), bytes, std::min<size_t>(size, at->second.size));
    }
    // As Service does: what was there when it was looked at.
    void work() {
        const uint64_t position = queue.position();
        for (Entry entry; !ended && queue.take(entry, position); queue.done()) commands.take(entry);
    }
    void work_ring() {
        Entry entry;
        if (!ended && ring.take(entry)) {
            queue.begin();
            work();
            commands.take(entry);
            queue.finish();
        }
        ring.announce_sleep();
        (void)ring.may_sleep();
        ring.awake();
    }
    // The worker writes what it likes where QEMU reads, then ends.
    void turn_hostile(const uint8_t *bytes, size_t size) {
        auto *header = reinterpret_cast<QueueHeader *>(queue_memory);
        std::atomic<uint64_t> *const words[] = {&header->head, &header->beats, &header->begun, &header->finished, &header->ring};
        for (size_t i = 0; i < std::size(words) && size >= (i + 1) * 8; ++i) {
            uint64_t value;
            std::memcpy(&value, bytes + i * 8, sizeof value);
            words[i]->store(value);
        }
        context.begins_to_wait();
        context.look_for_progress(monotonic_ns());
        ended = true;
    }
    void end() {
        ended = true;
        context.lose("has ended");
        // From now on a command is answered at once.
        auto at = guests.begin();
        if (at == guests.end()) return;
        uint8_t command[12] = {};
        Writer writer(command, sizeof command);
        ::apir::write(writer, CommandHeader{2, 0, at->first});
        std::memset(context.arena().at(at->second.offset), 0, 4);
        context.submit(command, sizeof command);
        uint32_t notify;
        std::memcpy(&notify, context.arena().at(at->second.offset), 4);
        if (notify != static_cast<uint32_t>(ReturnCode::worker_lost) + 1) std::abort();
    }

    Context context{context_id, 4, limits};
    std::map<uint32_t, Range> guests;
    QueueConsumer queue{context.queue_fd()};
    uint8_t *queue_memory =
        static_cast<uint8_t *>(mmap(nullptr, queue_memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, context.queue_fd(), 0));
    BlobTable blobs{context.arena().fd()};
    CallLog calls;
    Trace trace;
    HostWorld world{context_id,
                    {{"apir.load_library.path", HOST_LIBRARY}, {"ggml.library.path", GGML_CPU_LIBRARY}, {"ggml.threads", "1"}, {"ggml.graph_work", "3e7"}},
                    &blobs,
                    &queue.beats()};
    CommandRing ring{blobs, queue, true, context_id};
    Commands commands{world, ring, calls, trace};
    bool ended = false;
};

std::unique_ptr<Rig> current; // its context

void step(Rig &rig, uint8_t kind, uint8_t number, const uint8_t *bytes, size_t size) {
    switch (kind % 8) {
    case 0: return rig.add(number % 8, 1 + number / 8 % 8);
    case 1: return rig.remove(number % 8);
    case 2: return rig.write(number % 8, bytes, size);
    case 3: return rig.work_ring();
    case 4: rig.context.submit(std::vector<uint8_t>(bytes, bytes + size).data(), size); return rig.work();
    case 5: return rig.context.submit(std::vector<uint8_t>(bytes, bytes + size).data(), size);
    case 6: return rig.work();
    default: return number % 16 == 0 ? rig.end() : number % 16 == 1 ? rig.turn_hostile(bytes, size) : void();
    }
}

std::vector<Bytes> steps_of(const uint8_t *data, size_t size) {
    std::vector<Bytes> steps;
    for (Reader reader(data, size); reader.remaining() >= 4;) {
        const uint8_t *head = reader.bytes(4);
        size_t length = std::min<size_t>(head[2] | head[3] << 8, reader.remaining() / 4 * 4);
        const uint8_t *bytes = reader.bytes(length);
        if (bytes == nullptr) break;
        steps.emplace_back(head, bytes + length);
    }
    return steps;
}

size_t put(const std::vector<Bytes> &steps, uint8_t *data, size_t most) {
    size_t size = 0;
    for (const Bytes &each : steps) {
        if (each.size() > most - size) break;
        std::memcpy(data + size, each.data(), each.size());
        size += each.size();
    }
    return size;
}

Bytes step_of(uint8_t kind, uint8_t number, const Bytes &bytes) {
    Bytes whole{kind, number, static_cast<uint8_t>(bytes.size()), static_cast<uint8_t>(bytes.size() >> 8)};
    whole.insert(whole.end(), bytes.begin(), bytes.end());
    whole.resize((whole.size() + 3) / 4 * 4);
    return whole;
}

// A call of the schema with what belongs in its data resource; its handles are the first ones of a context.
void add_command(std::vector<Bytes> &steps, Random &random) {
    static const Generator generator(apir::fuzz::read_op_seeds(OP_SEEDS), {}, "", 1);
    constexpr uint64_t types = uint64_t{1} << 56, buffers = uint64_t{2} << 56;
    const Handles handles{types | 1, buffers | 1, buffers | 2, buffers | 3, buffers | 4};
    Message message = generator.message(random.next(), handles);
    constexpr size_t longest = 0xfff0;
    if (message.data.size() > longest || message.payload.size() > longest - sizeof(CommandHeader)) return;
    if (!message.data.empty()) steps.push_back(step_of(2, apir::fuzz::HostWorld::data_resource, message.data));
    Bytes command(sizeof(CommandHeader));
    Writer writer(command.data(), command.size());
    uint32_t type = static_cast<uint32_t>(random.one_in(32) ? random.below(4) : 2) + (random.one_in(2) ? venus_command_offset : 0);
    write(writer, CommandHeader{type, message.call, static_cast<uint32_t>(1 + random.below(random.one_in(8) ? 8 : 2))});
    command.insert(command.end(), message.payload.begin(), message.payload.end());
    steps.push_back(step_of(random.one_in(4) ? 5 : 4, 0, command));
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    setenv("VIRGL_APIR_LOG_TO_FILE", "/dev/null", 1);
    // It stays mapped from one context to the next: libFuzzer counts in it. And its own end comes behind that of the last context.
    void *library = dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) std::abort();
    reinterpret_cast<void (*)(uint32_t)>(dlsym(library, "apir_backend_deinit"))(context_id);
    return std::atexit([] { current.reset(); });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int runs = 0;
    if (current == nullptr || current->ended || ++runs % renew_every == 0) {
        current.reset();
        current = std::make_unique<Rig>();
    }
    for (const Bytes &each : steps_of(data, size)) step(*current, each[0], each[1], each.data() + 4, each.size() - 4);
    return 0;
}

// One more command, as the schema has it; then steps come, go, change places, or some bytes change.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    Random random(seed);
    std::vector<Bytes> steps = steps_of(data, size);
    switch (steps.empty() ? 0 : random.below(6)) {
    case 0:
    case 1: add_command(steps, random); break;
    case 2: steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(random.below(steps.size()))); break;
    case 3: std::swap(random.pick(steps), random.pick(steps)); break;
    case 4: steps.push_back({static_cast<uint8_t>(random.next()), static_cast<uint8_t>(random.next()), 0, 0}); break;
    default: return apir::fuzz::mutate_plainly(data, size, most, seed);
    }
    return put(steps, data, most);
}
