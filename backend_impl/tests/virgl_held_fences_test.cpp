// When fences are told.
#include <cstdio>
#include <string>
#include <vector>

#include "virgl/held_fences.hpp"

using namespace apir::virgl;

namespace {

int failures = 0;

void expect(bool holds, const std::string &what) {
    if (holds) return;
    std::fprintf(stderr, "expected: %s\n", what.c_str());
    ++failures;
}

// Numbers of the fences that a poll tells.
std::vector<uint64_t> told(HeldFences &fences, uint64_t now_ns) {
    std::vector<uint64_t> numbers;
    fences.poll(now_ns, [&](const Fence &fence) { numbers.push_back(fence.id); });
    return numbers;
}

using Numbers = std::vector<uint64_t>;
constexpr uint32_t unawaited = apir::unawaited_ring;
constexpr uint32_t awaited = 0;

void at_once() {
    HeldFences fences;
    expect(told(fences, 1000).empty(), "none");
    fences.add({3, awaited, 7}, 1000);
    expect(told(fences, 1000) == Numbers{7}, "one that may be awaited");
    expect(told(fences, 1000).empty(), "told once");
}

void in_bunches() {
    HeldFences fences;
    for (uint64_t id = 1; id < HeldFences::bunch; ++id) {
        fences.add({3, unawaited, id}, 1000);
        expect(told(fences, 1000).empty(), "fewer than a bunch");
    }
    fences.add({4, unawaited, HeldFences::bunch}, 1000);
    const Numbers all = told(fences, 1000);
    expect(all.size() == HeldFences::bunch && all.front() == 1 && all.back() == HeldFences::bunch, "a bunch, in its order, of any context");
    fences.add({3, unawaited, 99}, 1000);
    expect(told(fences, 1000).empty(), "the next bunch begins anew");
}

void by_age() {
    HeldFences fences;
    fences.add({3, unawaited, 1}, 1000);
    fences.add({3, unawaited, 2}, 1000 + HeldFences::longest_ns - 1);
    expect(told(fences, 1000 + HeldFences::longest_ns - 1).empty(), "young");
    expect(told(fences, 1000 + HeldFences::longest_ns) == Numbers({1, 2}), "the oldest's age counts");
    fences.add({3, unawaited, 3}, 2000 + HeldFences::longest_ns);
    expect(told(fences, 2000 + HeldFences::longest_ns).empty(), "and not that of one that was told");
}

void with_an_awaited_one() {
    HeldFences fences;
    fences.add({3, unawaited, 1}, 1000);
    fences.add({3, awaited, 2}, 1000);
    fences.add({3, unawaited, 3}, 1000);
    expect(told(fences, 1000) == Numbers({1, 2, 3}), "all, for there is an interrupt anyway");
    fences.add({3, unawaited, 4}, 1000);
    expect(told(fences, 1000).empty(), "those after it are kept again");
}

void cleared() {
    HeldFences fences;
    fences.add({3, unawaited, 1}, 1000);
    fences.add({3, awaited, 2}, 1000);
    fences.clear();
    fences.add({3, unawaited, 3}, 1000);
    expect(told(fences, 1000).empty(), "nothing of what was before");
    expect(told(fences, 1000 + HeldFences::longest_ns) == Numbers{3}, "what came after");
}

} // namespace

int main() {
    at_once();
    in_bunches();
    by_age();
    with_an_awaited_one();
    cleared();
    return failures == 0 ? 0 : 1;
}
