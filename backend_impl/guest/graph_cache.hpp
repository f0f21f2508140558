// Graphs of one stream, and how a program's graph is known again: those that the host keeps, which are run by number, or, for a host that keeps
// none, what they were encoded to. Under an emulator that takes longer than to send it.
//
// Known again means the same in all that is told to the host. Three ways lead there. `same` looks at the program's tensors where
// they were the last time and compares their fields, with no encoding: programs build their graphs in one place over and over,
// or keep them. `elsewhere` follows a graph that was built in another place from its nodes to their sources, as the kept one was
// followed, and compares the tensors that it meets: only those that differ are encoded. Neither follows a pointer of last time's: each
// tensor that is looked at is one that the graph of now refers to. `similar` compares encoded records, whatever led to them, and
// tells which differ.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "doubtful_buffers.hpp"
#include "graph_encoding.hpp"

namespace apir::guest {

// A graph that a kept one leads through: its tensors in the order of the kept one's records, and the places of those that differ.
struct Elsewhere {
    std::vector<const ggml_tensor *> order;
    std::vector<uint32_t> differing;
    std::vector<const ggml_tensor *> by_id; // while it is followed
};

class KeptGraph {
  public:
    // Number of a graph that the host has not kept. It gives none of its own this number.
    static constexpr uint64_t not_on_host = 0;

    // `graph` is what `encoded` was made of.
    KeptGraph(ggml_cgraph *graph, EncodedGraph &&encoded, uint64_t number);

    uint64_t number() const { return number_; }
    bool on_host() const { return number_ != not_on_host; }
    const EncodedGraph &encoded() const { return encoded_; }
    // Buffers of ours that it writes.
    const std::shared_ptr<const DoubtfulBuffers::Handles> &written() const { return written_; }
    // Bytes that it takes, mostly.
    size_t footprint() const;
    // Whether encoding the graph would give the very same bytes, names left aside.
    bool is(ggml_cgraph *graph) const;
    // False for most that are not it, at little cost.
    bool has_samples_of(ggml_cgraph *graph) const;
    // Places of records that differ; false when the graphs differ in more than records, or in more than `limit` of them.
    bool differences(const EncodedGraph &other, size_t limit, std::vector<uint32_t> &positions) const;
    // False for most that do not look like it, wherever they lie, at little cost; and for a few that do.
    bool has_looks_of(ggml_cgraph *graph) const;
    // Whether encoding the graph would give these bytes, names of nodes left aside, but for at most `limit` records, of which shape, parameters
    // or place differ: then `now` tells which. False for some of which that holds.
    bool leads_through(ggml_cgraph *graph, size_t limit, Elsewhere &now) const;
    // What encoding such a graph would give, by records of the same kind and names of nodes left aside; nothing when it does not fit those.
    std::optional<EncodedGraph> encoded_as(const Elsewhere &now) const;
    // From now on it is this one.
    void become(ggml_cgraph *graph, EncodedGraph &&encoded);
    // The same for a graph that differs in nothing.
    void move_to(ggml_cgraph *graph, const Elsewhere &now);

  private:
    // Buffers that tensors lie in, by address, with their handles (0: not ours), and with their bases, from which what was encoded counts: addresses are given
    // twice, and so are handles by a host of 0.2.
    struct Lying {
        ggml_backend_buffer_t buffer;
        uint64_t handle;
        const void *base;
    };

    static Lying lying_in(ggml_backend_buffer_t buffer);
    // Whether they are still the same, each of them being there.
    bool has_its_buffers() const;
    void remember(ggml_cgraph *graph);
    const uint8_t *fields(size_t i) const;

    uint64_t number_;
    EncodedGraph encoded_;
    std::vector<const ggml_tensor *> nodes_;
    std::vector<uint8_t> samples_; // of the nodes' fields
    std::vector<uint8_t> fields_; // of the tensors, in the records' order
    std::vector<char> names_; // of those that are told without an operation, in the same order
    std::vector<Lying> buffers_;
    std::shared_ptr<const DoubtfulBuffers::Handles> written_;
};

// Graphs that are used in turns, the one used longest ago making room. Not safe for several threads.
class GraphCache {
  public:
    // Of all streams together, and of one: the host has 64 for a context, and streams that came first may have more than their share.
    static constexpr size_t max_graphs = 40;
    static constexpr size_t max_graphs_of_one = 32;
    static constexpr size_t min_graphs_of_one = 4;
    // Larger graphs are not kept, nor more than this together, with what they are known by.
    static constexpr size_t max_graph_bytes = size_t{8} << 20;
    static constexpr size_t max_bytes = size_t{64} << 20;

    // nullptr when none is it.
    KeptGraph *same(ggml_cgraph *graph);
    // The one that leads through the graph with the fewest differences, in no more than a quarter of the records. It is this graph from
    // now on if there are none, else `now` is what encoding it would give, and `positions` are the records that differ. nullptr when
    // none does.
    KeptGraph *elsewhere(ggml_cgraph *graph, EncodedGraph &now, std::vector<uint32_t> &positions);
    // The one that differs in the fewest records, and in no more than a quarter of them; nullptr when none is close.
    KeptGraph *similar(const EncodedGraph &graph, std::vector<uint32_t> &positions);
    // `streams` is how many share the host's room. Returns the numbers of graphs on the host that had to make room.
    std::vector<uint64_t> add(KeptGraph graph, size_t streams);
    // Lets go of the one used longest ago, if there is one, and returns its number, if the host has it.
    std::vector<uint64_t> drop_oldest();
    void forget(const KeptGraph *graph);
    // Of those on the host.
    std::vector<uint64_t> numbers() const;

  private:
    size_t bytes() const;

    std::list<KeptGraph> graphs_; // used last first
    Elsewhere now_; // its memory is used again
    Elsewhere best_;
};

} // namespace apir::guest
