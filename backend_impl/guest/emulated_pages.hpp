// The pages that QEMU's emulator has at hand. Each virtual processor has a table of them, and what is not in it costs a walk through the
// guest's page tables with the first access: a quarter of a microsecond, in which a kibibyte and more would be copied. QEMU makes the table
// twice as large where most of it was in use, but only when it empties it, for which Linux has little reason while a program copies and
// copies. So who goes through the same 16 MiB again and again pays for each of their pages each time, until somebody has the table emptied.
//
// And QEMU makes it small again when it happens to empty it twice while little of it is in use, as where a program frees memory. Nobody is told,
// but what a transfer began with is then no longer at hand at its end: 64 MiB that took 12.5 ms take 15 to 20 until the table grows again.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace apir::guest {

// When to have tables emptied so that they grow to what transfers go through. Any number of threads at once: where two transfers take turns
// on a processor its table may grow later.
class PageGrowth {
  public:
    using Clock = std::chrono::steady_clock;

    // A transfer to or from the program's memory begins. A number for copied(); 0 when that need not be told, for this memory was not seen
    // lately, and the pages of what is seen once are no use to anybody.
    uint32_t begin(const void *memory, Clock::time_point now);
    // So many bytes more of the transfer were copied, by this processor. How many pages its table is taken to hold, if it should be emptied now: the
    // transfer went through as many. Else 0.
    uint32_t copied(uint32_t transfer, unsigned processor, size_t bytes);
    // A transfer of so many bytes ends. Whether this processor alone has copied them, with its table as it was.
    bool should_be_at_hand(uint32_t transfer, unsigned processor, size_t bytes) const;
    // Whether the first pages of such a transfer were at hand. Where they were once, and then several times not, the table has become small, and its
    // growth begins anew. Where they never are, another page has their place, the slot's for one.
    void looked(unsigned processor, bool at_hand);

    // Once, the table may just have been emptied for another program.
    static constexpr uint32_t missed_in_a_row = 3;
    // Looks for which a table that began anew then is left alone: it may be emptied too often to stay large.
    static constexpr uint32_t pause = 8;

  private:
    static constexpr size_t most_processors = 64; // others share what is known of these
    static constexpr size_t most_known = 8;
    // As QEMU begins.
    static constexpr uint32_t fewest_pages = 256;

    struct Processor {
        std::atomic<uint32_t> transfer{0};
        std::atomic<uint32_t> pages{fewest_pages}; // that its table is taken to hold
        std::atomic<size_t> bytes{0}; // of the transfer, since it was emptied
        std::atomic<bool> seen{false}; // pages that were at hand, since it began
        std::atomic<uint32_t> missed{0}; // transfers in a row whose pages were not at hand
        std::atomic<uint32_t> left_alone{0}; // looks that are still to come

        void begin_anew();
    };

    std::array<Processor, most_processors> processors_;
    std::array<std::atomic<const void *>, most_known> known_{}; // the memory of the last transfers
    std::atomic<uint32_t> next_known_{0};
    std::atomic<uint32_t> transfers_{0};
    std::atomic<Clock::rep> last_{0};
};

// One transfer, in whatever pieces and by whichever threads. Nothing happens where no emulator is, or with what is too little for it to matter.
class EmulatedPages {
  public:
    // `each`: pages of the table that go with one of the memory. With more than one, as where all of a blob is copied, some may have the same place: then the
    // table is less full than has it grow, and is filled first.
    EmulatedPages(const void *memory, size_t size, size_t each = 1)
        : memory_(static_cast<const uint8_t *>(memory)), size_(size), each_(each) {
        if (size >= least) begin();
    }
    // Reads of the memory: it is still the transfer's.
    ~EmulatedPages() {
        if (transfer_ != 0) end();
    }
    EmulatedPages(const EmulatedPages &) = delete;
    EmulatedPages &operator=(const EmulatedPages &) = delete;

    // Bytes that the calling thread has copied.
    void copied(size_t bytes) const {
        if (transfer_ != 0) look(bytes * each_);
    }

  private:
    // Of less than this most pages are in the table anyhow: with 512 KiB and 1 MiB it made no difference.
    static constexpr size_t least = size_t{4} << 20;

    void begin();
    void look(size_t bytes) const;
    void end() const;

    const uint8_t *memory_;
    size_t size_;
    size_t each_;
    uint32_t transfer_ = 0;
};

// Whether the first pages of some memory, 68 KiB and more, are in the table of the calling thread's processor. They are afterwards.
bool pages_at_hand(const uint8_t *memory);

// Has the calling thread's processor empty its table.
void empty_page_table();

// Has most of the table in use, if it holds so many pages, so that it grows when it is emptied next. Of more than 32768 not all that it takes.
void fill_page_table(size_t pages);

} // namespace apir::guest
