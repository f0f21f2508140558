// Target: a worker's command path, with the host library and ggml-cpu behind it. Input: steps of a kind, a resource and bytes: commands
// as a guest submits them, its resources coming and going, its ring, and bytes that it writes into shared memory at any time.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

#include <call_log.hpp>

#include "target.hpp"
#include "virgl/shared_queue.hpp"
#include "virgl/worker/commands.hpp"

using namespace apir;
using namespace apir::virgl;

namespace {

constexpr uint64_t blob_bytes = 16384;
constexpr uint64_t blobs_in_arena = 16;
constexpr uint32_t context = 1;
// Many inputs share a context: so what one of them leaves behind meets the next.
constexpr int renew_every = 128;

int arena_of_its_own() {
    int fd = memfd_create("arena", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(blob_bytes * blobs_in_arena)) != 0) std::abort();
    return fd;
}

// A worker without the process.
struct Worker {
    Worker() {
        for (uint32_t i = 1; i <= 4; ++i) add(i, i);
        std::memset(mapped, 0, blob_bytes * blobs_in_arena);
    }
    ~Worker() {
        munmap(mapped, blob_bytes * blobs_in_arena);
        close(arena);
    }

    void take(EntryKind kind, const void *payload, size_t size) {
        commands.take(Entry{kind, static_cast<const uint8_t *>(payload), size, 0});
    }
    void add(uint32_t resource, uint32_t place) {
        BlobEntry blob{(place % blobs_in_arena) * blob_bytes, blob_bytes, resource, 0};
        take(EntryKind::blob_added, &blob, sizeof blob);
    }
    void remove(uint32_t resource) {
        BlobEntry blob{0, 0, resource, 0};
        take(EntryKind::blob_removed, &blob, sizeof blob);
    }

    int arena = arena_of_its_own();
    uint8_t *mapped = static_cast<uint8_t *>(mmap(nullptr, blob_bytes * blobs_in_arena, PROT_READ | PROT_WRITE, MAP_SHARED, arena, 0));
    QueueProducer producer;
    QueueConsumer queue{producer.fd()};
    BlobTable blobs{arena};
    CallLog calls;
    Trace trace;
    HostWorld world{context,
                    {{"apir.load_library.path", HOST_LIBRARY}, {"ggml.library.path", GGML_CPU_LIBRARY}, {"ggml.threads", "1"}, {"ggml.graph_work", "3e7"}},
                    &blobs,
                    &queue.beats()};
    CommandRing ring{blobs, queue, true, context};
    Commands commands{world, ring, calls, trace};
};

void from_ring(Worker &worker) {
    Entry entry;
    if (worker.ring.take(entry)) worker.commands.take(entry);
    worker.ring.announce_sleep();
    (void)worker.ring.may_sleep();
    worker.ring.awake();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static std::unique_ptr<Worker> worker;
    static int runs = 0;
    if (worker == nullptr || ++runs % renew_every == 0) worker.reset(), worker = std::make_unique<Worker>();
    for (Reader reader(data, size); reader.remaining() >= 4;) {
        const uint8_t *head = reader.bytes(4);
        size_t length = std::min<size_t>(head[2] | head[3] << 8, reader.remaining() / 4 * 4);
        const uint8_t *bytes = reader.bytes(length);
        if (bytes == nullptr) break;
        switch (head[0] % 8) {
        case 0: worker->add(head[1] % 8, head[1] / 8); break;
        case 1: worker->remove(head[1] % 8); break;
        case 2: std::memcpy(worker->mapped + (head[1] % blobs_in_arena) * blob_bytes, bytes, std::min<size_t>(length, blob_bytes)); break;
        case 3: from_ring(*worker); break;
        default: worker->take(EntryKind::command, std::vector<uint8_t>(bytes, bytes + length).data(), length);
        }
    }
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    return apir::fuzz::mutate_plainly(data, size, most, seed);
}
