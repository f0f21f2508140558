// How graphs are changed for the host library: what it accepts of tensors that share memory is among it, views that are where they look
// and results in place.
#include <fuzz/mutate.hpp>

#include "host_expect.hpp"

using namespace apir;
using namespace apir::fuzz;
using namespace apir::test;

namespace {

WideGraph three_tensors() {
    WideGraph graph;
    for (uint64_t id : {1, 2, 3}) {
        WideTensorRecord tensor;
        tensor.id = id;
        tensor.buffer = 7;
        tensor.data = id * id * 4096;
        tensor.ne[0] = 16;
        tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
        tensor.nb[0] = 4;
        tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = 64;
        graph.tensors.push_back(tensor);
    }
    graph.nodes = {3};
    return graph;
}

bool is_view(const WideTensorRecord &tensor, const WideTensorRecord &of) {
    const bool named = tensor.view_src != 0 && tensor.view_src == of.id && of.view_src == 0;
    return named && tensor.buffer == of.buffer && tensor.data == of.data + tensor.view_offs;
}

bool is_in_place(const WideTensorRecord &tensor, const WideTensorRecord &of) {
    return tensor.view_src == 0 && tensor.id != of.id && tensor.buffer == of.buffer && tensor.data == of.data;
}

} // namespace

int main() {
    constexpr int rounds = 10000;
    Random random(1);
    int views = 0, apart = 0, in_place = 0;
    for (int i = 0; i < rounds; ++i) {
        WideGraph graph = three_tensors();
        mutate_graph(graph, {}, random);
        for (const WideTensorRecord &tensor : graph.tensors)
            for (const WideTensorRecord &other : graph.tensors) {
                views += is_view(tensor, other);
                apart += is_view(tensor, other) && tensor.view_offs != 0;
                in_place += is_in_place(tensor, other);
            }
    }
    expect(views > rounds / 100, "views where they look: " + std::to_string(views));
    expect(apart > 0, "views of what lies behind a beginning: none");
    expect(in_place > rounds / 100, "results in place: " + std::to_string(in_place));
    return failures == 0 ? 0 : 1;
}
