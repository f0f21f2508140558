// Target: the host library. Input: messages as message.hpp has them; after them the known graph still has to compute the right bits.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "generate.hpp"
#include "host_world.hpp"
#include "target.hpp"

using namespace apir::fuzz;

namespace {

// Many inputs share a world: so what one of them leaves behind meets the next.
constexpr int renew_every = 256;

HostWorld &world() {
    static HostWorld instance(HOST_LIBRARY, {{"ggml.library.path", GGML_CPU_LIBRARY}, {"ggml.threads", "1"}, {"ggml.graph_work", "3e7"}});
    return instance;
}

const Generator &generator() {
    static const Generator instance(read_op_seeds(OP_SEEDS), {}, "", 1);
    return instance;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int runs = 0;
    if (++runs % renew_every == 0) world().renew();
    for (const Message &message : decoded(data, size)) world().run(message);
    if (!world().known_graph_works()) std::abort();
    return 0;
}

// One message of the input changed by its records, or a new one in its place.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    Random random(seed);
    std::vector<Message> messages = decoded(data, size);
    if (messages.empty() || random.one_in(4)) messages.push_back(generator().message(random.next(), world().handles()));
    else mutate_message(random.pick(messages), world().handles(), random);
    if (messages.size() > 4) messages.erase(messages.begin());
    Bytes bytes = encoded(messages);
    size_t kept = std::min(bytes.size(), most);
    std::memcpy(data, bytes.data(), kept);
    return kept;
}
