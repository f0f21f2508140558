// How transfers are cut: all of it, in pieces that grow as they come in and shrink on their way out.
#include <algorithm>
#include <string>
#include <vector>

#include "guest/transfer_cut.hpp"
#include "host_expect.hpp"

using namespace apir::guest;
using namespace apir::test;

namespace {

constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;
constexpr Carriage all[] = {Carriage::one_by_one, Carriage::execbuffer, Carriage::ring};

std::vector<size_t> pieces(Carriage by, bool in, size_t size) {
    const TransferCut cut = cut_transfer(by, in, size);
    std::vector<size_t> sizes;
    for (size_t begun = 0; begun < size; begun += sizes.back()) sizes.push_back(std::min(cut.next(in, size, begun), size - begun));
    return sizes;
}

void everything_is_carried_in_pieces_that_fit() {
    for (Carriage by : all)
        for (size_t size : {size_t{1}, size_t{4097}, 128 * kib, 448 * kib + 1, mib, 4 * mib - 1, 8 * mib, 32 * mib - 1, 32 * mib, 256 * mib})
            for (bool in : {false, true}) {
                size_t sum = 0;
                for (size_t piece : pieces(by, in, size)) {
                    expect(piece != 0 && piece <= 8 * mib, std::to_string(piece) + " bytes in a piece");
                    sum += piece;
                    expect(piece % 4096 == 0 || sum == size, "a piece ends within a page");
                }
                expect(sum == size, std::to_string(sum) + " of " + std::to_string(size));
            }
}

void pieces_by_the_ring_grow_as_they_come_in_and_shrink_on_their_way_out() {
    const std::vector<size_t> in = {128 * kib, 128 * kib, 256 * kib, 448 * kib, 64 * kib};
    const std::vector<size_t> out = {448 * kib, 288 * kib, 144 * kib, 128 * kib, 16 * kib};
    expect(pieces(Carriage::ring, true, mib) == in, "a mebibyte in");
    expect(pieces(Carriage::ring, false, mib) == out, "a mebibyte out");
}

void few_pieces_where_each_is_an_ioctl() {
    for (bool in : {false, true}) {
        expect(pieces(Carriage::execbuffer, in, 4 * mib).size() == 1, "4 MiB");
        expect(pieces(Carriage::execbuffer, in, 16 * mib).size() == 4, "16 MiB");
        expect(pieces(Carriage::one_by_one, in, 8 * mib - 1).size() == 1, "what is awaited piece by piece");
        expect(pieces(Carriage::one_by_one, in, 24 * mib).size() == (in ? 6 : 8), "more of it");
        for (Carriage by : {Carriage::one_by_one, Carriage::execbuffer})
            expect(pieces(by, in, 96 * mib).size() == (in ? 32 : 24), "what no cache holds");
        expect(pieces(Carriage::ring, in, 96 * mib).size() == (in ? 24 : 16), "what no cache holds, by the ring");
    }
}

void two_threads_carry_what_no_cache_holds() {
    for (Carriage by : all)
        for (bool in : {false, true}) {
            const bool one_by_one = by == Carriage::one_by_one;
            expect(cut_transfer(by, in, 32 * mib).two_lanes == (!in || !one_by_one), "32 MiB");
            expect(!cut_transfer(by, in, 32 * mib - 1).two_lanes, "less");
            expect(!cut_transfer(by, in, 4 * mib).two_lanes, "4 MiB by two");
        }
}

} // namespace

int main() {
    everything_is_carried_in_pieces_that_fit();
    pieces_by_the_ring_grow_as_they_come_in_and_shrink_on_their_way_out();
    few_pieces_where_each_is_an_ioctl();
    two_threads_carry_what_no_cache_holds();
    return failures == 0 ? 0 : 1;
}
