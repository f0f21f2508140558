// QEMU's calls to the component in any order that its virtio-gpu-gl module may make them in, with real workers, of which some are killed: what comes and goes
// leaves nothing behind, and a context that is made then is served.
//
//   test-virgl-random [STEPS [SEED]]
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/mman.h>
#include <utility>

#include "fuzz/random.hpp"
#include "virgl_qemu.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t contexts = 12, resources = 4000;
constexpr uint64_t page = 4096;

size_t open_files() {
    size_t number = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) number += entry.path().empty() ? 0 : 1;
    return number;
}

std::vector<pid_t> workers() {
    std::vector<pid_t> pids;
    std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
    for (pid_t pid = 0; children >> pid;) pids.push_back(pid);
    return pids;
}

class RandomCalls {
  public:
    explicit RandomCalls(uint64_t seed) : random_(seed) {}
    ~RandomCalls() {
        while (!blobs_.empty()) drop(blobs_.begin()->first);
        for (uint32_t context = 1; context <= contexts; ++context) virgl_renderer_context_destroy(context);
    }
    RandomCalls(const RandomCalls &) = delete;
    RandomCalls &operator=(const RandomCalls &) = delete;

    void step(Qemu &qemu) {
        const auto context = static_cast<uint32_t>(1 + random_.below(contexts));
        switch (random_.below(24)) {
        case 0:
        case 1: return create(context);
        case 2: return random_.one_in(2) ? destroy(context) : void();
        case 3:
        case 4:
        case 5:
        case 6:
        case 7: return make(context, static_cast<uint32_t>(1 + random_.below(resources)));
        case 8:
        case 9:
        case 10:
        case 11: return drop(any());
        case 12:
        case 13: return map(any());
        case 14: return unmap(any());
        case 15: return map_fixed(any());
        case 16:
        case 17:
        case 18:
        case 19: return submit(context);
        case 20: virgl_renderer_context_create_fence(context, 0, random_.one_in(2) ? 5 : unawaited_ring, random_.next()); return;
        case 21:
            virgl_renderer_poll();
            qemu.fences.clear();
            return;
        case 22: return random_.one_in(40) ? kill_some() : void();
        default:
            if (random_.one_in(60)) return reset();
            if (random_.one_in(3)) poll(nullptr, 0, static_cast<int>(random_.below(3)));
        }
    }
    long made() const { return made_; }

  private:
    struct Made {
        uint64_t size;
        uint8_t *mapped = nullptr, *fixed = nullptr;
    };

    // Of those that are there; any number where there are none.
    uint32_t any() {
        if (blobs_.empty()) return resources + 1;
        const auto found = blobs_.lower_bound(static_cast<uint32_t>(random_.below(resources)));
        return found == blobs_.end() ? blobs_.begin()->first : found->first;
    }
    void create(uint32_t context) { virgl_renderer_context_create_with_flags(context, random_.one_in(2) ? venus_capset : apir_capset, 4, "random"); }
    void destroy(uint32_t context) { virgl_renderer_context_destroy(context); }
    void make(uint32_t context, uint32_t resource) {
        const uint64_t size = random_.one_in(4) ? random_.below(32) << 20 : 1 + random_.below(300'000);
        if (blobs_.count(resource) != 0 || create_blob(context, resource, size) != 0) return;
        blobs_[resource].size = (size + page - 1) / page * page;
        ++made_;
    }
    // As QEMU does: unmapped, let go of, and what was seen at an address of its choice is so no longer.
    void drop(uint32_t resource) {
        const auto found = blobs_.find(resource);
        if (found == blobs_.end()) return;
        const Made blob = found->second;
        unmap(resource);
        virgl_renderer_resource_unref(resource);
        if (blob.fixed != nullptr) munmap(blob.fixed, blob.size);
        blobs_.erase(found);
    }
    void map(uint32_t resource) {
        const auto found = blobs_.find(resource);
        if (found == blobs_.end() || found->second.mapped != nullptr || found->second.fixed != nullptr) return;
        found->second.mapped = mapped(resource);
        touch(found->second.mapped, found->second.size);
    }
    void unmap(uint32_t resource) {
        const auto found = blobs_.find(resource);
        if (found != blobs_.end() && std::exchange(found->second.mapped, nullptr) != nullptr) virgl_renderer_resource_unmap(resource);
    }
    void map_fixed(uint32_t resource) {
        const auto found = blobs_.find(resource);
        if (found == blobs_.end() || found->second.mapped != nullptr || found->second.fixed != nullptr || found->second.size == 0) return;
        void *at = mmap(nullptr, found->second.size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (virgl_renderer_resource_map_fixed(resource, at) != 0) {
            munmap(at, found->second.size);
            return;
        }
        found->second.fixed = static_cast<uint8_t *>(at);
        touch(found->second.fixed, found->second.size);
    }
    static void touch(uint8_t *memory, uint64_t size) {
        if (memory == nullptr || size == 0) return;
        memory[size - 1] = 3;
        __atomic_store_n(reinterpret_cast<uint32_t *>(memory), 0, __ATOMIC_RELEASE); // no reply there
    }
    // Echoes, what no host library knows, and rings of any shape, with any reply resource.
    void submit(uint32_t context) {
        constexpr std::array<uint32_t, 4> calls{static_cast<uint32_t>(FakeCall::echo), static_cast<uint32_t>(FakeCall::echo), 1001,
                                                static_cast<uint32_t>(Call::ring_create)};
        std::vector<uint32_t> words(3 + random_.below(8));
        for (uint32_t &word : words) word = static_cast<uint32_t>(random_.one_in(4) ? random_.next() : random_.below(80));
        words[0] = static_cast<uint32_t>(random_.below(3)) + (random_.one_in(2) ? venus_command_offset : 0);
        words[1] = random_.pick(calls);
        words[2] = any();
        if (words[1] == static_cast<uint32_t>(Call::ring_create)) {
            words.resize(6);
            words[3] = any();
            words[4] = 1u << (1 + random_.below(11));
            words[5] = static_cast<uint32_t>(64 * (1 + random_.below(40)));
        }
        virgl_renderer_submit_cmd(words.data(), static_cast<int>(context), static_cast<int>(words.size()));
    }
    void kill_some() {
        for (pid_t pid : workers())
            if (random_.one_in(2)) kill(pid, SIGKILL);
    }
    void reset() {
        virgl_renderer_reset();
        for (const auto &entry : blobs_)
            if (entry.second.fixed != nullptr) munmap(entry.second.fixed, entry.second.size);
        blobs_.clear();
    }

    fuzz::Random random_;
    std::map<uint32_t, Made> blobs_;
    long made_ = 0;
};

// Whether it becomes so, in ten seconds.
template <typename Is> bool soon(Is is) {
    const uint64_t end = monotonic_ns() + 10'000'000'000;
    while (!is() && monotonic_ns() < end) poll(nullptr, 0, 10);
    return is();
}

void run(uint64_t seed, long steps) {
    const std::string what = "seed " + std::to_string(seed) + ": ";
    Qemu qemu;
    {
        GuestContext first(3, 30);
        first.start();
    }
    expect(soon([] { return workers().empty(); }), what + "the first worker's end");
    const size_t before = open_files();
    {
        RandomCalls calls(seed);
        for (long i = 0; i < steps; ++i) calls.step(qemu);
        expect(calls.made() > steps / 50, what + std::to_string(calls.made()) + " blobs made");
    }
    expect(soon([] { return workers().empty(); }), what + "workers of contexts that are gone");
    // One more for good: what stands in the place of memory that was mapped when its context ended.
    expect(soon([before] { return open_files() <= before + 1; }), what + std::to_string(open_files()) + " open files, " + std::to_string(before) + " before");
    GuestContext last(3, 30);
    last.start();
    expect(last.ask(FakeCall::echo, "alive") == "alive", what + "a context that comes after all that");
}

} // namespace

int main(int count, char **values) {
    environment();
    setenv("VIRGL_APIR_LOG_TO_FILE", "/dev/null", 1);
    setenv("APIR_GPU_SHMEM_WINDOW_BYTES", "67108864", 1);
    const long steps = count > 1 ? std::atol(values[1]) : 2000;
    const uint64_t first = count > 2 ? std::strtoull(values[2], nullptr, 10) : 1, last = count > 2 ? first : 3;
    for (uint64_t seed = first; seed <= last; ++seed) run(seed, steps);
    return failures == 0 ? 0 : 1;
}
