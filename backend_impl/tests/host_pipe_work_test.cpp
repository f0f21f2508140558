// The order of what the host does about each piece of a pipe.
#include <atomic>
#include <string>
#include <vector>

#include "host/pipe_work.hpp"
#include "host_expect.hpp"

using namespace apir;
using namespace apir::host;
using namespace apir::test;

namespace {

constexpr size_t size = 1000;
constexpr size_t piece = 64;
// All of it has room, so that nobody waits.
constexpr PipeArea area{pipe_words_size, size};

// Both ends in one thread: what the host puts in is looked at, and stays.
void each_piece_is_carried_then_told_of_then_left() {
    std::vector<uint64_t> memory(area.bytes() / sizeof(uint64_t) + 1);
    auto *const resource = reinterpret_cast<uint8_t *>(memory.data());
    PipeEnd::lay_out(resource);
    PipeEnd guest(resource, area, size, PipeEnd::Role::empties);
    std::atomic<uint64_t> beats{0};
    std::atomic<uint32_t> ending{0};
    PipeWork work(PipeEnd(resource, area, size, PipeEnd::Role::fills), {beats, ending, PipeWork::usual_patience});
    size_t carried = 0;
    size_t told = 0;
    const uint8_t *carried_to = nullptr;
    auto carry = [&](uint8_t *place, size_t done, size_t bytes) {
        expect(done == carried && told == carried && guest.available() == done, "carried before the piece before it was left, or told of too early");
        carried += bytes;
        carried_to = place;
    };
    work.run({1, piece}, carry, [&](const uint8_t *place, size_t bytes) {
        told += bytes;
        expect(place == carried_to && told == carried && guest.available() == carried, "not the piece that the guest has just been told of");
    });
    expect(carried == size && told == size, std::to_string(carried) + " bytes are carried and " + std::to_string(told) + " told of");
    expect(beats == (size + piece - 1) / piece, "each is a beat");
}

void there_may_be_nothing_to_do_afterwards() {
    std::vector<uint64_t> memory(area.bytes() / sizeof(uint64_t) + 1);
    auto *const resource = reinterpret_cast<uint8_t *>(memory.data());
    PipeEnd::lay_out(resource);
    std::atomic<uint64_t> beats{0};
    std::atomic<uint32_t> ending{0};
    size_t carried = 0;
    PipeWork(PipeEnd(resource, area, size, PipeEnd::Role::fills), {beats, ending, PipeWork::usual_patience}).run({1, piece}, [&](uint8_t *, size_t, size_t bytes) {
        carried += bytes;
    });
    expect(carried == size, "all of it");
}

} // namespace

int main() {
    each_piece_is_carried_then_told_of_then_left();
    there_may_be_nothing_to_do_afterwards();
    return failures == 0 ? 0 : 1;
}
