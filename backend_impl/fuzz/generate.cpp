#include "generate.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "call_seed.hpp"
#include "graph_seed.hpp"
#include "mutate.hpp"

namespace apir::fuzz {
namespace {

// A seed whose tensors would not all fit into the buffer is no valid graph there.
constexpr uint64_t most_seed_bytes = HostWorld::memory_bytes / 2;

template <typename GraphType> Message changed_graph(const Message &message, const Handles &handles, Random &random) {
    GraphType graph;
    Message changed = message;
    Reader reader(message.data.data(), message.data.size());
    if (!read(reader, graph)) return changed;
    WideGraph wide = widened(graph);
    for (uint64_t i = random.below(3) + 1; i > 0; --i) mutate_graph(wide, handles, random);
    changed.data = encoded_graph(wide, message.call);
    return with_graph_size(std::move(changed));
}

} // namespace

Generator::Generator(std::vector<OpSeed> seeds, std::vector<Message> recorded, const std::string &family, uint64_t seed, bool strides)
    : seeds_(std::move(seeds)), recorded_(std::move(recorded)), only_graphs_(!family.empty()), only_strides_(strides), seed_(seed) {
    std::map<std::string, std::vector<size_t>> by_family;
    for (size_t i = 0; i < seeds_.size(); ++i)
        if (seeds_[i].bytes() <= most_seed_bytes && (family.empty() || seeds_[i].family == family)) by_family[seeds_[i].family].push_back(i);
    for (auto &each : by_family) families_.push_back(std::move(each.second));
}

const OpSeed &Generator::op_seed(Random &random) const {
    const std::vector<size_t> &family = families_[random.below(families_.size())];
    return seeds_[family[random.below(family.size())]];
}

Message Generator::graph_message(Random &random, const Handles &handles) const {
    bool wild = random.one_in(3);
    uint64_t buffer = random.one_in(8) ? handles.pool : handles.home;
    SeedGraph made = seed_graph(op_seed(random), buffer, random, wild);
    if (random.one_in(6)) made = joined(made, seed_graph(op_seed(random), buffer, random, wild));
    // Most changes are refused at once; one gets further than three. Some graphs stay good, with wild content.
    uint64_t changes = random.one_in(3) ? random.below(4) : 1;
    for (uint64_t i = 0; i < changes; ++i) mutate_graph(made.graph, handles, random);
    return message_of(made, handles, random);
}

Message Generator::strided_message(Random &random, const Handles &handles) const {
    SeedGraph made = strided_graph(op_seed(random), handles.home, random);
    Message message;
    message.call = static_cast<uint32_t>(Call::wide_graph_compute);
    message.data = encoded_graph(made.graph, message.call);
    message.memory = std::move(made.memory);
    return with_graph_size(std::move(message));
}

Message Generator::message(uint64_t number, const Handles &handles) const {
    Random random(seed_ * 0x2545f4914f6cdd1du + number);
    if (only_strides_ && !families_.empty()) return strided_message(random, handles);
    bool graph = !families_.empty() && (only_graphs_ || !random.one_in(3));
    Message message;
    if (graph) message = graph_message(random, handles);
    else if (!recorded_.empty() && random.one_in(3)) message = recorded_[random.below(recorded_.size())];
    else message = call_message(random, handles);
    uint64_t spoiled = graph ? random.one_in(8) : random.below(3);
    for (uint64_t i = 0; i < spoiled; ++i) mutate_bytes(random.one_in(2) && !message.data.empty() ? message.data : message.payload, random);
    if (!graph && random.one_in(16)) message.call = static_cast<uint32_t>(random.one_in(4) ? random.edge() : random.below(110));
    return message;
}

void mutate_message(Message &message, const Handles &handles, Random &random) {
    bool narrow = message.call == static_cast<uint32_t>(Call::backend_graph_compute);
    if (narrow && !random.one_in(4)) message = changed_graph<Graph>(message, handles, random);
    else if (message.call == static_cast<uint32_t>(Call::wide_graph_compute) && !random.one_in(4))
        message = changed_graph<WideGraph>(message, handles, random);
    else mutate_bytes(random.one_in(2) ? message.data : message.payload, random);
}

} // namespace apir::fuzz
