// The order of what the host does about each piece of a pipe.
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/pipe_work.hpp"
#include "host/refusal.hpp"
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

// A guest that takes what the host fills, each time when it has been idle for so long; none where that is for ever.
class Guest {
  public:
    Guest(PipeArea area, std::optional<std::chrono::milliseconds> idle) : memory_(area.bytes() / sizeof(uint64_t) + 1), area_(area) {
        PipeEnd::lay_out(resource());
        if (idle) thread_ = std::thread([this, idle] { take(*idle); });
    }
    ~Guest() {
        over_ = true;
        if (thread_.joinable()) thread_.join();
    }
    Guest(const Guest &) = delete;
    Guest &operator=(const Guest &) = delete;

    // Whether all of it got there, by a host that waits for so long.
    bool is_served(std::chrono::milliseconds patience) {
        try {
            PipeWork(PipeEnd(resource(), area_, size, PipeEnd::Role::fills), {beats, ending_, patience}).run({piece, piece}, [](uint8_t *, size_t, size_t) {});
            return true;
        } catch (const Refusal &) {
            return false;
        }
    }

    std::atomic<uint64_t> beats{0};

  private:
    uint8_t *resource() { return reinterpret_cast<uint8_t *>(memory_.data()); }

    void take(std::chrono::milliseconds idle) {
        PipeEnd end(resource(), area_, size, PipeEnd::Role::empties);
        while (!end.done() && !over_) {
            std::this_thread::sleep_for(idle);
            end.move(end.available());
        }
    }

    std::vector<uint64_t> memory_;
    const PipeArea area_;
    std::atomic<uint32_t> ending_{0};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

// Of the last bytes of the area, and of the transfer, there is no whole piece.
void less_than_a_piece_is_carried_where_there_is_no_more() {
    Guest guest({pipe_words_size, piece + piece / 2}, std::chrono::milliseconds(0));
    expect(guest.is_served(std::chrono::seconds(5)), "waited for more than there is room for");
}

void a_guest_that_dawdles_has_a_calls_patience_and_no_more() {
    Guest guest({pipe_words_size, piece}, std::chrono::milliseconds(20));
    expect(!guest.is_served(std::chrono::milliseconds(100)), "a call may take so long for every piece of it");
}

void who_waits_lives() {
    Guest guest({pipe_words_size, piece}, std::nullopt);
    expect(!guest.is_served(std::chrono::milliseconds(50)), "waited for whom nothing comes from");
    expect(guest.beats > 2, std::to_string(guest.beats) + " beats: the first piece, and none while it waits");
}

} // namespace

int main() {
    less_than_a_piece_is_carried_where_there_is_no_more();
    a_guest_that_dawdles_has_a_calls_patience_and_no_more();
    who_waits_lives();
    each_piece_is_carried_then_told_of_then_left();
    there_may_be_nothing_to_do_afterwards();
    return failures == 0 ? 0 : 1;
}
