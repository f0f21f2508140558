// Whether the host library's memory stays what it is: bytes per call and per graph, in the heap and in the process.
//
//   host-soak HOST-LIBRARY GGML-LIBRARY CALLS GRAPHS       exit status 1 when either grows by more than a byte each
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <apir_gen.hpp>

#include "call_seed.hpp"
#include "flat.hpp"
#include "host_world.hpp"

using namespace apir;
using namespace apir::fuzz;

namespace {

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

} // namespace

int main(int words, char **values) {
    if (words != 5) return std::fprintf(stderr, "usage: host-soak HOST-LIBRARY GGML-LIBRARY CALLS GRAPHS\n"), 2;
    HostWorld world(values[1], {{"ggml.library.path", values[2]}, {"ggml.threads", "1"}});
    bool calls = flat("calls", std::atol(values[3]), [&](long count) { make_calls(world, count); });
    bool graphs = flat("graphs", std::atol(values[4]), [&](long count) { make_graphs(world, count); });
    return calls && graphs ? 0 : 1;
}
