#include "emulated_pages.hpp"

#include <algorithm>
#include <sched.h>
#include <sys/mman.h>

#include "emulated.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr size_t page = 4096;
// Enough for 256 MiB and a slot beside them; some 12 MiB of QEMU's memory for each virtual processor.
constexpr uint32_t most_pages = uint32_t{1} << 17;
// QEMU makes a table that is emptied small again when little of it was in use for a tenth of a second. To make it large again costs a
// millisecond: not more often than that.
constexpr PageGrowth::Clock::duration forgotten_after = 1s;
// What it takes longer to read of so many pages for the first time than for the second: mostly 3.1 to 6.6 µs where they were not at hand, and up
// to 2.7 where they were (EPYC, Zen 4). In the same pages a second time only the caches are waited for.
constexpr std::chrono::nanoseconds looked_up = 3us;
constexpr int looked_at = 16;
// Linux takes more than 33 pages out of a processor's tables by emptying them.
constexpr size_t emptying = 40 * page;
// QEMU doubles a table of which more than 70 % was in use.
constexpr size_t filled(size_t pages) { return pages - pages / 4; }
constexpr size_t most_filled = filled(size_t{1} << 15);

PageGrowth &growth() {
    // Never destroyed: programs read tensors from their own static destructors.
    static PageGrowth &growth = *new PageGrowth;
    return growth;
}

__attribute__((noinline)) std::chrono::nanoseconds took_to_read(const volatile uint8_t *at, size_t step) {
    const PageGrowth::Clock::time_point start = PageGrowth::Clock::now();
    for (int i = 0; i < looked_at; ++i, at += step) static_cast<void>(*at);
    return PageGrowth::Clock::now() - start;
}

} // namespace

void PageGrowth::Processor::begin_anew() {
    pages.store(fewest_pages, std::memory_order_relaxed);
    seen.store(false, std::memory_order_relaxed);
    missed.store(0, std::memory_order_relaxed);
}

uint32_t PageGrowth::begin(const void *memory, Clock::time_point now) {
    const Clock::duration since = now.time_since_epoch() - Clock::duration(last_.exchange(now.time_since_epoch().count(), std::memory_order_relaxed));
    if (since > forgotten_after) {
        for (Processor &processor : processors_) processor.begin_anew();
        for (std::atomic<const void *> &known : known_) known.store(nullptr, std::memory_order_relaxed);
    }
    auto is_it = [memory](const std::atomic<const void *> &known) { return known.load(std::memory_order_relaxed) == memory; };
    if (std::none_of(known_.begin(), known_.end(), is_it)) {
        known_[next_known_.fetch_add(1, std::memory_order_relaxed) % most_known].store(memory, std::memory_order_relaxed);
        return 0;
    }
    const uint32_t transfer = transfers_.fetch_add(1, std::memory_order_relaxed) + 1;
    return std::max<uint32_t>(transfer, 1);
}

uint32_t PageGrowth::copied(uint32_t transfer, unsigned processor, size_t bytes) {
    Processor &here = processors_[processor % most_processors];
    if (here.transfer.exchange(transfer, std::memory_order_relaxed) != transfer) here.bytes.store(0, std::memory_order_relaxed);
    const size_t now = here.bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const uint32_t pages = here.pages.load(std::memory_order_relaxed);
    if (pages >= most_pages || now < pages * page) return 0;
    here.pages.store(pages * 2, std::memory_order_relaxed);
    here.bytes.store(0, std::memory_order_relaxed);
    return pages;
}

bool PageGrowth::should_be_at_hand(uint32_t transfer, unsigned processor, size_t bytes) const {
    const Processor &here = processors_[processor % most_processors];
    return here.transfer.load(std::memory_order_relaxed) == transfer && here.bytes.load(std::memory_order_relaxed) >= bytes &&
           bytes <= here.pages.load(std::memory_order_relaxed) * page; // else it is more than a table may hold
}

// What other threads do to the same counts meanwhile costs a pause at most.
void PageGrowth::looked(unsigned processor, bool at_hand) {
    Processor &here = processors_[processor % most_processors];
    const uint32_t left_alone = here.left_alone.load(std::memory_order_relaxed);
    if (left_alone != 0) here.left_alone.store(left_alone - 1, std::memory_order_relaxed);
    if (at_hand) {
        here.seen.store(true, std::memory_order_relaxed);
        here.missed.store(0, std::memory_order_relaxed);
        return;
    }
    if (left_alone != 0 || !here.seen.load(std::memory_order_relaxed)) return;
    if (here.missed.fetch_add(1, std::memory_order_relaxed) + 1 < missed_in_a_row) return;
    here.begin_anew();
    here.left_alone.store(pause, std::memory_order_relaxed);
}

void EmulatedPages::begin() {
    if (is_emulated()) transfer_ = growth().begin(memory_, PageGrowth::Clock::now());
}

void EmulatedPages::look(size_t bytes) const {
    const int processor = sched_getcpu();
    const uint32_t pages = processor < 0 ? 0 : growth().copied(transfer_, static_cast<unsigned>(processor), bytes);
    if (pages == 0) return;
    if (each_ > 1) fill_page_table(pages);
    empty_page_table();
}

void EmulatedPages::end() const {
    const int processor = sched_getcpu();
    if (processor < 0 || !growth().should_be_at_hand(transfer_, static_cast<unsigned>(processor), size_ * each_)) return;
    growth().looked(static_cast<unsigned>(processor), pages_at_hand(memory_));
}

bool pages_at_hand(const uint8_t *memory) {
    const uint8_t *first_page = memory + (page - reinterpret_cast<uintptr_t>(memory) % page) % page;
    // What an emulator makes of the loop, and of the clock's, is at hand itself then.
    uint8_t here = 0;
    took_to_read(&here, 0);
    const std::chrono::nanoseconds first = took_to_read(first_page, page);
    const std::chrono::nanoseconds again = took_to_read(first_page + page / 2, page);
    return first < 3 * again || first < again + looked_up; // the former on a busy machine, which takes its time with either
}

// The pages are all the system's one of zeros, where it can as huge ones: it makes few entries of its own for them, and they take no memory. Where it makes
// them one by one that costs a program some 20 ms in all, once, if it copies 16 MiB at a time, and 70 to 100 ms with 64; to ask for them beforehand
// (MADV_POPULATE_READ) took as long.
void fill_page_table(size_t pages) {
    static const uint8_t *const zeros = [] {
        void *area = mmap(nullptr, most_filled * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) return static_cast<const uint8_t *>(nullptr);
        madvise(area, most_filled * page, MADV_HUGEPAGE);
        return static_cast<const uint8_t *>(area);
    }();
    if (zeros == nullptr) return;
    const size_t count = std::min(filled(pages), most_filled);
    for (size_t i = 0; i < count; ++i) static_cast<void>(*static_cast<const volatile uint8_t *>(zeros + i * page));
}

void empty_page_table() {
    void *pages = mmap(nullptr, emptying, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pages != MAP_FAILED) munmap(pages, emptying);
}

} // namespace apir::guest
