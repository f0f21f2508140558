// Whether the host library's memory stays what it is: bytes per call and per graph, in the heap and in the process.
//
//   host-soak HOST-LIBRARY GGML-LIBRARY CALLS GRAPHS       exit status 1 when either grows by more than a byte each
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <string>
#include <unistd.h>

#include <apir_gen.hpp>

#include "call_seed.hpp"
#include "host_world.hpp"

using namespace apir;
using namespace apir::fuzz;

namespace {

constexpr long most_per_item = 1; // bytes

struct Memory {
    long heap = 0, resident = 0;
};

Memory memory() {
    malloc_trim(0);
    struct mallinfo2 heap = mallinfo2();
    std::ifstream status("/proc/self/statm");
    long total = 0, resident = 0;
    status >> total >> resident;
    return {static_cast<long>(heap.uordblks + heap.hblkhd), resident * sysconf(_SC_PAGESIZE)};
}

// Calls of all kinds that make and free, ask and move: the same ones again and again, for memory is kept for the largest of each kind.
void make_calls(HostWorld &world, long count) {
    constexpr long different = 5000;
    Random random(0);
    for (long i = 0; i < count; ++i) {
        if (i % different == 0) random = Random(7);
        Message message = call_message(random, world.handles());
        // What frees a buffer of the world makes a new context, which is another matter.
        uint32_t call = message.call;
        if (call == static_cast<uint32_t>(Call::on_device)) std::memcpy(&call, message.payload.data() + 4, sizeof call);
        if (call != static_cast<uint32_t>(Call::buffer_free_buffer)) world.run(message);
    }
}

void make_graphs(HostWorld &world, long count) {
    for (long i = 0; i < count; ++i)
        if (!world.known_graph_works()) std::abort();
}

template <typename Work> bool flat(const char *what, HostWorld &world, long count, Work work) {
    work(world, count / 10 + 5000); // what is kept for later is there then
    Memory before = memory();
    work(world, count);
    Memory after = memory();
    long heap = after.heap - before.heap, resident = after.resident - before.resident;
    // The allocator moves by whole pages now and then, however few the calls are.
    constexpr long page_noise = 64 * 1024;
    bool grows = heap > most_per_item * count || resident > most_per_item * count + page_noise;
    std::printf("%ld %s: heap %+.3f, resident %+.3f bytes each%s\n", count, what, static_cast<double>(heap) / static_cast<double>(count),
                static_cast<double>(resident) / static_cast<double>(count), grows ? ": memory grows" : "");
    return !grows;
}

} // namespace

int main(int count, char **values) {
    if (count != 5) return std::fprintf(stderr, "usage: host-soak HOST-LIBRARY GGML-LIBRARY CALLS GRAPHS\n"), 2;
    HostWorld world(values[1], {{"ggml.library.path", values[2]}, {"ggml.threads", "1"}});
    bool calls = flat("calls", world, std::atol(values[3]), make_calls);
    bool graphs = flat("graphs", world, std::atol(values[4]), make_graphs);
    return calls && graphs ? 0 : 1;
}
