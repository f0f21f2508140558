// The two ends of a pipe: every order of their steps, threads, and what the other side may write.
#include "pipe.hpp"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "host_expect.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint8_t untouched = 0xee;

uint8_t byte_of(size_t n) { return static_cast<uint8_t>(n * 167 + n / 251 + 1); }

struct Memory {
    explicit Memory(PipeArea area) : bytes(area.bytes() + 64, untouched) { PipeEnd::lay_out(data()); }
    // Words are aligned.
    uint8_t *data() { return reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64); }
    uint32_t &word(uint32_t offset) { return *reinterpret_cast<uint32_t *>(data() + offset); }

    std::vector<uint8_t> bytes;
};

void put(PipeEnd &end, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) end.place()[i] = byte_of(end.moved() + i);
    end.move(bytes);
}

// False when one was not what had been put there.
bool take(PipeEnd &end, size_t bytes) {
    bool right = true;
    for (size_t i = 0; i < bytes; ++i) {
        right = right && end.place()[i] == byte_of(end.moved() + i);
        end.place()[i] = untouched; // what is taken twice, or before it is there, shows
    }
    end.move(bytes);
    return right;
}

// Which end moved how many bytes: each order is run from its beginning.
using Step = std::pair<bool, size_t>;

// All that may come behind these steps, by trying each. Counts the orders that end.
size_t orders_behind(std::vector<Step> &steps, PipeArea area, size_t size) {
    Memory memory(area);
    PipeEnd filling(memory.data(), area, size, PipeEnd::Role::fills);
    PipeEnd emptying(memory.data(), area, size, PipeEnd::Role::empties);
    bool right = true;
    for (const auto &[fills, bytes] : steps) {
        if (fills) put(filling, bytes);
        else right = take(emptying, bytes) && right;
    }
    expect(right, "bytes come as they were put");
    const size_t may_fill = filling.available();
    const size_t may_empty = emptying.available();
    expect(!filling.broken() && !emptying.broken(), "neither end is taken for a liar");
    expect(may_fill <= filling.most() && may_empty <= emptying.most(), "no more than there can be");
    if (filling.done() && emptying.done()) return 1;
    expect(may_fill + may_empty != 0, "somebody can go on");
    size_t orders = 0;
    for (bool fills : {true, false}) {
        for (size_t bytes = 1; bytes <= (fills ? may_fill : may_empty); ++bytes) {
            steps.emplace_back(fills, bytes);
            orders += orders_behind(steps, area, size);
            steps.pop_back();
        }
    }
    return orders;
}

void every_order() {
    size_t orders = 0;
    for (uint32_t room = 1; room <= 4; ++room)
        for (size_t size = 0; size <= 7; ++size) {
            std::vector<Step> steps;
            orders += orders_behind(steps, {pipe_words_size, room}, size);
        }
    expect(orders > 10'000, "many orders: " + std::to_string(orders));
}

void in_threads() {
    for (const uint32_t room : {1U, 7U, 4096U, 70'001U}) {
        const PipeArea area{pipe_words_size + 8, room};
        const size_t size = room < 100 ? 20'000 : 3'000'000;
        Memory memory(area);
        bool right = true;
        auto run = [&](PipeEnd::Role role, size_t most, auto step) {
            PipeEnd end(memory.data(), area, size, role);
            while (!end.done()) {
                const size_t bytes = std::min(end.available(), most);
                if (bytes != 0) step(end, bytes);
                else std::this_thread::yield();
                if (end.broken()) return expect(false, "an end that breaks");
            }
        };
        std::thread filling([&] { run(PipeEnd::Role::fills, 5000, put); });
        run(PipeEnd::Role::empties, 3001, [&](PipeEnd &end, size_t bytes) { right = take(end, bytes) && right; });
        filling.join();
        expect(right, "all bytes, room " + std::to_string(room));
    }
}

// What an end makes of a word of the other side's, after it has moved some bytes itself.
bool believes(PipeEnd::Role role, size_t moved, uint32_t word) {
    const PipeArea area{pipe_words_size, 100};
    Memory memory(area);
    PipeEnd end(memory.data(), area, 1000, role);
    const bool fills = role == PipeEnd::Role::fills;
    uint32_t &others = memory.word(fills ? pipe_taken_offset : pipe_put_offset);
    while (end.moved() < moved) {
        others = static_cast<uint32_t>(fills ? end.moved() : end.moved() + 1);
        end.move(std::min<size_t>(end.available(), 1));
    }
    others = word;
    const size_t bytes = end.available();
    expect(bytes <= end.most() && (!end.broken() || bytes == 0), "what is available of a broken pipe");
    if (end.broken()) {
        others = static_cast<uint32_t>(moved);
        expect_equal(end.available(), size_t{0}, "what was broken stays so");
    }
    return !end.broken();
}

void words_that_cannot_be() {
    using Role = PipeEnd::Role;
    for (uint32_t word : {299U, 300U}) expect(believes(Role::fills, 300, word), "taken " + std::to_string(word) + " of 300");
    for (uint32_t word : {0U, 199U, 298U, 301U, 1000U, UINT32_MAX, pipe_given_up, 0x80000000U})
        expect(!believes(Role::fills, 300, word), "taken " + std::to_string(word) + " of 300 behind 299 in a room of 100");
    for (uint32_t word : {300U, 301U, 400U}) expect(believes(Role::empties, 300, word), "put " + std::to_string(word) + " behind 300");
    for (uint32_t word : {0U, 299U, 401U, 1000U, pipe_given_up, 0x80000000U})
        expect(!believes(Role::empties, 300, word), "put " + std::to_string(word) + " behind 300 in a room of 100");
    expect(believes(Role::empties, 950, 1000) && !believes(Role::empties, 950, 1001), "no more than the transfer has");
}

void giving_up() {
    const PipeArea area{pipe_words_size, 100};
    for (auto role : {PipeEnd::Role::fills, PipeEnd::Role::empties}) {
        Memory memory(area);
        PipeEnd guest(memory.data(), area, 50, role);
        PipeEnd host(memory.data(), area, 50, role == PipeEnd::Role::fills ? PipeEnd::Role::empties : PipeEnd::Role::fills);
        host.available();
        expect(!host.has_news(), "nothing new");
        guest.give_up();
        expect(host.has_news(), "which is news");
        expect(host.available() == 0 && host.broken(), "and ends it");
    }
}

void areas() {
    expect(PipeArea{pipe_words_size, 1}.valid(), "the least one");
    expect(!(PipeArea{pipe_words_size - 1, 1}.valid()) && !(PipeArea{pipe_words_size, 0}.valid()), "within the words, and without room");
    expect_equal((PipeArea{UINT32_MAX, UINT32_MAX}.bytes()), uint64_t{UINT32_MAX} * 2, "bytes beyond 32 bits");
}

} // namespace

int main() {
    every_order();
    in_threads();
    words_that_cannot_be();
    giving_up();
    areas();
    return failures == 0 ? 0 : 1;
}
