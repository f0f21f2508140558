// When an emulator's tables of pages are made to grow: for memory that is gone through again, one table's worth after the other.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "guest/emulated_pages.hpp"
#include "host_expect.hpp"

using namespace apir::guest;
using namespace apir::test;
using namespace std::chrono_literals;

namespace {

constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;
const PageGrowth::Clock::time_point start{100s};

// The MiB behind which a table is emptied, of a transfer by pieces of 64 KiB.
std::vector<size_t> emptied_behind(PageGrowth &growth, uint32_t transfer, unsigned processor, size_t size) {
    std::vector<size_t> places;
    for (size_t done = 64 * kib; done <= size; done += 64 * kib)
        if (growth.copied(transfer, processor, 64 * kib)) places.push_back(done / mib);
    return places;
}

using Places = std::vector<size_t>;

void memory_that_is_seen_once_is_no_reason() {
    PageGrowth growth;
    const std::vector<uint8_t> memory(2 * mib);
    expect(growth.begin(memory.data(), start) == 0, "the first time");
    expect(growth.begin(memory.data() + mib, start) == 0, "other memory");
    expect(growth.begin(memory.data(), start + 1ms) != 0, "again");
    expect(growth.begin(memory.data() + mib, start + 2ms) != 0, "the other memory again");
    for (size_t at = 1; at <= 8; ++at) growth.begin(memory.data() + at, start + 3ms);
    expect(growth.begin(memory.data(), start + 4ms) == 0, "what lies long back");
}

void a_table_grows_to_what_is_gone_through() {
    PageGrowth growth;
    growth.begin(&growth, start);
    const uint32_t first = growth.begin(&growth, start);
    expect(emptied_behind(growth, first, 0, 16 * mib) == Places{1, 3, 7, 15}, "doubled as often as there was more");
    const uint32_t second = growth.begin(&growth, start);
    expect(first != second, "two transfers have one number");
    expect(emptied_behind(growth, second, 0, 16 * mib) == Places{16}, "the last of it, with the slot beside it");
    for (int i = 0; i < 3; ++i) expect(emptied_behind(growth, growth.begin(&growth, start), 0, 16 * mib).empty(), "large enough");
    expect(emptied_behind(growth, growth.begin(&growth, start), 0, 64 * mib) == Places{32}, "more than before");
}

void small_transfers_do_not_add_up() {
    PageGrowth growth;
    growth.begin(&growth, start);
    expect(emptied_behind(growth, growth.begin(&growth, start), 0, 16 * mib).size() == 4, "grown");
    for (int i = 0; i < 20; ++i) expect(emptied_behind(growth, growth.begin(&growth, start), 0, 12 * mib).empty(), "the same pages");
}

void each_processor_has_a_table() {
    PageGrowth growth;
    growth.begin(&growth, start);
    const uint32_t transfer = growth.begin(&growth, start);
    expect(emptied_behind(growth, transfer, 0, 4 * mib) == Places{1, 3}, "the first one's");
    expect(emptied_behind(growth, transfer, 1, 4 * mib) == Places{1, 3}, "the second one's, by another thread of the transfer");
    expect(emptied_behind(growth, transfer, 64, 4 * mib) == Places{3}, "one of many shares the first one's, which has a mebibyte behind it");
}

void growth_ends() {
    PageGrowth growth;
    growth.begin(&growth, start);
    size_t emptied = 0;
    for (int i = 0; i < 20; ++i) emptied += emptied_behind(growth, growth.begin(&growth, start), 0, 1024 * mib).size();
    expect(emptied == 9, std::to_string(emptied) + " times from 256 pages to 131072");
}

void a_pause_makes_tables_small_again() {
    PageGrowth growth;
    growth.begin(&growth, start);
    expect(emptied_behind(growth, growth.begin(&growth, start + 900ms), 0, 2 * mib) == Places{1}, "within a second");
    expect(growth.begin(&growth, start + 3s) == 0, "what was known is forgotten");
    expect(emptied_behind(growth, growth.begin(&growth, start + 3s), 0, 2 * mib) == Places{1}, "from the beginning on");
}

// A transfer of 16 MiB by one processor, of whose pages it is told at the end whether they are at hand. Whether that was asked for.
bool go_through(PageGrowth &growth, bool at_hand) {
    const uint32_t transfer = growth.begin(&growth, start);
    emptied_behind(growth, transfer, 0, 16 * mib);
    if (!growth.should_be_at_hand(transfer, 0, 16 * mib)) return false;
    growth.looked(0, at_hand);
    return true;
}

// Transfers of which no more is at hand, until the table is emptied again.
size_t until_it_grows(PageGrowth &growth) {
    for (size_t transfers = 0; transfers < 100; ++transfers) {
        const uint32_t transfer = growth.begin(&growth, start);
        if (!emptied_behind(growth, transfer, 0, 16 * mib).empty()) return transfers;
        if (growth.should_be_at_hand(transfer, 0, 16 * mib)) growth.looked(0, false);
    }
    return SIZE_MAX;
}

void a_table_that_has_become_small_grows_again() {
    PageGrowth growth;
    growth.begin(&growth, start);
    for (int i = 0; i < 2; ++i) expect(!go_through(growth, true), "while it grows its pages are known not to be at hand");
    for (int i = 0; i < 50; ++i) expect(go_through(growth, true), "at hand");
    for (int i = 0; i < 20; ++i) expect(go_through(growth, i % 3 == 0), "emptied for others now and then");
    expect(go_through(growth, true) && go_through(growth, false) && go_through(growth, false), "no reason yet");
    expect(emptied_behind(growth, growth.begin(&growth, start), 0, 16 * mib).empty(), "two were not at hand");
    growth.looked(0, false);
    expect(emptied_behind(growth, growth.begin(&growth, start), 0, 16 * mib) == Places{1, 3, 7, 15}, "three were not: from the beginning on");
    expect(!go_through(growth, true) && go_through(growth, true), "grown");
    expect(until_it_grows(growth) == PageGrowth::pause - 1 + PageGrowth::missed_in_a_row, "then it is left alone for a while");
    expect(!go_through(growth, true), "grows");
    for (uint32_t i = 0; i < PageGrowth::pause; ++i) expect(go_through(growth, true), "at hand");
    expect(until_it_grows(growth) == PageGrowth::missed_in_a_row, "and no longer");
}

void what_was_never_at_hand_is_no_reason() {
    PageGrowth growth;
    growth.begin(&growth, start);
    for (int i = 0; i < 2; ++i) expect(!go_through(growth, false), "it grows");
    expect(until_it_grows(growth) == SIZE_MAX, "the slot has its place");
    expect(go_through(growth, true) && until_it_grows(growth) == PageGrowth::missed_in_a_row, "once it was");
    expect(!go_through(growth, true) && until_it_grows(growth) == SIZE_MAX, "never again");
}

void pages_are_not_looked_for_where_others_copied_or_it_was_emptied() {
    PageGrowth growth;
    growth.begin(&growth, start);
    const uint32_t transfer = growth.begin(&growth, start);
    emptied_behind(growth, transfer, 0, 512 * kib);
    emptied_behind(growth, transfer, 1, 256 * kib);
    expect(!growth.should_be_at_hand(transfer, 0, 768 * kib) && !growth.should_be_at_hand(transfer, 1, 768 * kib), "by two");
    expect(growth.should_be_at_hand(transfer, 0, 512 * kib), "by one");
    expect(emptied_behind(growth, transfer, 0, 512 * kib).size() == 1 && !growth.should_be_at_hand(transfer, 0, mib), "emptied at the end");
    expect(!growth.should_be_at_hand(growth.begin(&growth, start), 0, 0), "another transfer's");
    for (int i = 0; i < 10; ++i) {
        const uint32_t larger = growth.begin(&growth, start);
        emptied_behind(growth, larger, 0, 1024 * mib);
        expect(!growth.should_be_at_hand(larger, 0, 1024 * mib), "more than any table holds");
    }
}

// Pages that are still to be made take their time with the first look, too.
void pages_are_seen_to_be_at_hand() {
    if (sysconf(_SC_PAGESIZE) != 4096) {
        std::fputs("pages are larger than those of an emulated guest: not looked at how they are seen\n", stderr);
        return;
    }
    constexpr size_t size = 68 * kib;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    madvise(memory, size, MADV_NOHUGEPAGE);
    size_t at_hand = 0;
    size_t not_at_hand = 0;
    // Somebody else may have the processor in the middle of it.
    for (int i = 0; i < 20; ++i) {
        madvise(memory, size, MADV_DONTNEED);
        not_at_hand += pages_at_hand(static_cast<uint8_t *>(memory)) ? 0 : 1;
        at_hand += pages_at_hand(static_cast<uint8_t *>(memory)) ? 1 : 0;
    }
    expect(not_at_hand >= 15 && at_hand >= 15, std::to_string(not_at_hand) + " of 20 not, " + std::to_string(at_hand) + " of 20 at hand");
    munmap(memory, size);
}

size_t pages_of_memory() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
}

// Of whatever else takes memory meanwhile, a sanitizer for one, there is less.
void emptying_leaves_nothing_behind() {
    constexpr size_t times = 1000;
    const size_t before = pages_of_memory();
    for (size_t i = 0; i < times; ++i) empty_page_table();
    const size_t after = pages_of_memory();
    expect(before != 0 && after < before + 10 * times, std::to_string(after) + " pages after " + std::to_string(before));
}

long faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

// Each page is read: the system makes them with the first look, one by one, or as huge ones of 512. Whatever a table is taken to hold they have the same
// addresses.
void filling_reads_pages_of_one_place() {
    fill_page_table(1);
    const size_t before = pages_of_memory();
    const long made = faults();
    fill_page_table(size_t{1} << 15);
    expect(faults() - made >= 3 * (1 << 13) / 512 - 1, std::to_string(faults() - made) + " pages were made for three quarters of 32768");
    for (size_t pages : {1U, 256U, 32768U, 131072U, 0U}) fill_page_table(pages);
    const size_t after = pages_of_memory();
    expect(before != 0 && after < before + 10, std::to_string(after) + " pages after " + std::to_string(before));
}

// What the transfer went through when a table should be emptied is what that one was taken to hold.
void a_table_is_filled_as_large_as_it_is() {
    PageGrowth growth;
    growth.begin(&growth, start);
    const uint32_t transfer = growth.begin(&growth, start);
    expect(growth.copied(transfer, 0, mib - 1) == 0, "not yet");
    expect(growth.copied(transfer, 0, 1) == 256 && growth.copied(transfer, 0, 2 * mib) == 512, "by its size");
}

} // namespace

int main() {
    memory_that_is_seen_once_is_no_reason();
    a_table_grows_to_what_is_gone_through();
    small_transfers_do_not_add_up();
    each_processor_has_a_table();
    growth_ends();
    a_pause_makes_tables_small_again();
    a_table_that_has_become_small_grows_again();
    what_was_never_at_hand_is_no_reason();
    pages_are_not_looked_for_where_others_copied_or_it_was_emptied();
    pages_are_seen_to_be_at_hand();
    emptying_leaves_nothing_behind();
    filling_reads_pages_of_one_place();
    a_table_is_filled_as_large_as_it_is();
    return failures == 0 ? 0 : 1;
}
