// Which parts of an arena blobs get; what a context's memory costs, its queue, and that one's bell.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "host_expect.hpp"
#include "virgl/arena.hpp"
#include "virgl/shared_file.hpp"
#include "virgl/shared_queue.hpp"

using namespace apir::test;
using namespace apir::virgl;

namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t large = 2 * huge_page;

void first_fit() {
    FreeRanges free(64 * page);
    expect_equal(free.take(16 * page).value_or(1), uint64_t{0}, "the first one");
    expect_equal(free.take(48 * page).value_or(1), 16 * page, "the rest");
    expect(!free.take(page), "nothing is left");
    free.give({32 * page, 8 * page});
    free.give({8 * page, 8 * page});
    expect(!free.take(16 * page), "two parts that do not touch");
    free.give({16 * page, 16 * page});
    expect_equal(free.take(32 * page).value_or(1), 8 * page, "neighbours are joined");
}

// What lies in front of one is not lost.
void large_ones_begin_with_a_huge_page() {
    FreeRanges free(8 * huge_page);
    expect_equal(free.take(page).value_or(1), uint64_t{0}, "a page");
    expect_equal(free.take(large - page).value_or(0), page, "one of less than two huge pages");
    expect_equal(free.take(large + page).value_or(1), large, "one of two");
    expect_equal(free.take(large).value_or(1), large * 2 + huge_page, "another");
    expect_equal(free.take(huge_page - page).value_or(1), large * 2 + page, "what lies between them");
    expect_equal(free.take(huge_page).value_or(1), 7 * huge_page, "what lies behind them");
    expect(!free.take(page), "nothing is left");
}

void wherever_there_is_room_otherwise() {
    FreeRanges free(3 * huge_page);
    expect_equal(free.take(page).value_or(1), uint64_t{0}, "a page");
    expect_equal(free.take(large + page).value_or(1), page, "as much as fits only so");
    expect_equal(free.take(huge_page - 2 * page).value_or(1), large + 2 * page, "the rest");
    expect(!free.take(page), "nothing is left");
}

// As a context does that is at its limit while its worker is far behind: an arena of three times the limit.
void all_can_be_exchanged() {
    constexpr uint64_t limit = 32 * huge_page;
    for (const uint64_t size : {page, huge_page, large - page, large, large + page, 3 * huge_page + page, limit / 2, limit - 16 * page}) {
        Arena arena(3 * limit);
        std::vector<Range> blobs;
        const auto fill = [&] {
            uint64_t used = 16 * page;
            blobs.push_back({arena.allocate(16 * page, 0).value_or(UINT64_MAX), 16 * page});
            for (; used + size <= limit; used += size) {
                const std::optional<uint64_t> at = arena.allocate(size, 0);
                expect(at.has_value(), "a blob of " + std::to_string(size) + " bytes, with " + std::to_string(used) + " in use");
                if (!at) return;
                blobs.push_back({*at, size});
            }
        };
        fill();
        for (const Range &blob : blobs) arena.release(blob, 1);
        blobs.clear();
        fill();
    }
}

// A worker that has not seen yet that a range is gone may still write there.
void nothing_is_given_before_the_worker_is_past_it() {
    for (const uint64_t size : {page, huge_page}) { // without its pages, and with them
        Arena arena(2 * size);
        expect_equal(arena.allocate(size, 0).value_or(1), uint64_t{0}, "the first one");
        expect_equal(arena.allocate(size, 0).value_or(1), size, "the second one");
        arena.release({0, size}, 100);
        expect(!arena.allocate(size, 99) && !arena.next_to_empty(99), "the worker is before it");
        expect_equal(arena.allocate(size, 100).value_or(1), uint64_t{0}, "the worker is past it");
    }
}

void what_is_emptied_is_given_again() {
    constexpr uint64_t size = uint64_t{6} << 20;
    Arena arena(size);
    expect(arena.allocate(size, 0) == uint64_t{0}, "all of it");
    *arena.at(0) = *arena.at(size - 1) = 1;
    arena.release({0, size}, 1);
    for (const char *which : {"one piece", "the other"}) {
        const std::optional<Range> piece = arena.next_to_empty(1);
        expect(piece && !arena.next_to_empty(1), which);
        arena.empty(piece.value_or(Range{0, page}));
        if (piece) arena.emptied();
    }
    expect(!arena.next_to_empty(1) && !arena.has_large_released(), "no more");
    expect(*arena.at(0) == 0 && *arena.at(size - 1) == 0, "its memory is the system's");
    expect(arena.allocate(size, 1) == uint64_t{0}, "all of it again");
}

bool is_mapped(const uint8_t *at) {
    unsigned char resident = 0;
    return mincore(const_cast<uint8_t *>(at), page, &resident) == 0;
}

// Nothing else comes to what a guest may be able to write to for ever, and what it writes is read by nobody: all else is free again.
void what_is_left_mapped() {
    uint8_t *at = nullptr;
    const int file = [&] {
        Arena arena(64 * page);
        at = arena.at(0);
        at[10 * page] = 1;
        arena.leave_mapped({20 * page, page});
        arena.leave_mapped({10 * page, page});
        arena.leave_mapped({12 * page, page});
        return dup(arena.fd());
    }();
    expect(!is_mapped(at + 9 * page) && !is_mapped(at + 21 * page) && !is_mapped(at) && !is_mapped(at + 63 * page), "what lies beside it is free");
    expect(is_mapped(at + 10 * page) && is_mapped(at + 20 * page), "all of it is there");
    uint8_t *now = map_shared_file(file, 64 * page);
    expect(at[10 * page] == 0, "and is other memory");
    at[20 * page] = 7;
    expect(now[20 * page] == 0, "of which nobody else has any");
    munmap(now, 64 * page);
    close(file);
}

// Who has a file as well, as a worker has, does not take its end away from under QEMU.
void files_keep_their_size() {
    const int fd = make_shared_file("apir-test", 2 * page);
    expect(ftruncate(fd, page) != 0 && ftruncate(fd, 3 * page) != 0, "another size is refused");
    expect_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1, "another seal is");
    close(fd);
}

void files_are_mapped_at_huge_pages() {
    for (uint64_t size : {large, large + page, huge_page + 1}) {
        const int fd = make_shared_file("apir-test", size);
        uint8_t *at = map_shared_file(fd, size);
        uint8_t *again = map_shared_file(fd, size);
        expect_equal(reinterpret_cast<uintptr_t>(at) % huge_page, size_t{0}, "its address");
        expect_equal(reinterpret_cast<uintptr_t>(again) % huge_page, size_t{0}, "another's address");
        at[0] = 1;
        at[size - 1] = 2;
        expect(again[0] == 1 && again[size - 1] == 2, "all of the file is there");
        munmap(again, size);
        munmap(at, size);
        close(fd);
    }
}

// A line of /proc/self/status, in bytes.
uint64_t status_bytes(const std::string &key) {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word == key + ":") {
            uint64_t kib = 0;
            status >> kib;
            return kib << 10;
        }
        status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    expect(false, "/proc/self/status has " + key);
    return 0;
}

int open_files() {
    int files = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != nullptr) ++files;
    closedir(folder);
    return files;
}

// What the kernel says of the mapping that begins there.
std::string mapping_flags(const uint8_t *at) {
    char begin[32];
    std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(at));
    std::ifstream maps("/proc/self/smaps");
    std::string line;
    while (std::getline(maps, line) && line.rfind(begin, 0) != 0) {}
    while (std::getline(maps, line) && line.rfind("VmFlags:", 0) != 0) {}
    return line + " ";
}

// A core of QEMU's has the guest's memory, which it may be told to leave out; the arenas are no part of that.
void files_are_not_dumped() {
    for (const uint64_t size : {page, large}) {
        const int fd = make_shared_file("apir-test", size);
        uint8_t *at = map_shared_file(fd, size);
        expect(mapping_flags(at).find(" dd ") != std::string::npos, "flags of a mapping: " + mapping_flags(at));
        munmap(at, size);
        close(fd);
    }
}

// With QEMU's mem-lock=on. What a context may have at most is far more than it ever has.
void nothing_is_locked() {
    constexpr uint64_t size = uint64_t{64} << 20;
    void *place = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int fd = make_shared_file("apir-test", size);
    const auto expect_sparse = [](const std::string &what) {
        const uint64_t resident = status_bytes("RssShmem");
        expect(resident < uint64_t{1} << 20, what + " has " + std::to_string(resident) + " bytes in memory");
    };
    if (mlockall(MCL_FUTURE) != 0) {
        std::printf("SKIPPED: mlockall: %s\n", std::strerror(errno));
        return;
    }
    try {
        uint8_t *at = map_shared_file(fd, size);
        expect_sparse("a file");
        expect(map_shared_file_at(place, fd, page, size - page), "map_shared_file_at");
        expect_sparse("a file in a place that is given");
        static_cast<uint8_t *>(place)[size - 2 * page] = 1;
        expect_equal(at[size - page], uint8_t{1}, "the part of it");
        expect(mapping_flags(static_cast<uint8_t *>(place)).find(" dd ") != std::string::npos, "it is not dumped");
        Arena(size).leave_mapped({0, size});
        expect_sparse("an arena that is left behind");
    } catch (const std::system_error &refusal) {
        // The user may lock a little only.
        if (refusal.code().value() != EAGAIN) throw;
        std::printf("SKIPPED: %s\n", refusal.what());
    }
    munlockall();
}

template <typename Act> void expect_refused(Act act, const std::string &what) {
    try {
        act();
    } catch (const std::system_error &) {
        return;
    }
    expect(false, what + " is refused");
}

// A guest can ask for contexts over and over while QEMU has no addresses left.
void nothing_is_left_of_what_cannot_be_mapped() {
    constexpr uint64_t size = uint64_t{1} << 30;
    const uint64_t addresses = status_bytes("VmSize");
    expect_refused([] { map_shared_file(-1, size); }, "a file that is none");
    expect(status_bytes("VmSize") < addresses + size / 2, "the addresses are free again");
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    const rlimit before = limit;
    const int files = open_files();
    limit.rlim_cur = status_bytes("VmSize") + queue_memory_size / 2;
    expect_equal(setrlimit(RLIMIT_AS, &limit), 0, "setrlimit");
    expect_refused([] { QueueProducer(); }, "a queue without addresses for it");
    expect_refused([] { Arena arena(size); }, "an arena without any");
    setrlimit(RLIMIT_AS, &before);
    expect_equal(open_files(), files, "open files");
}

// QEMU may have a limit of its files' size, which those that nobody sees are above: that ends no virtual machine whose guest asks for a context.
void files_are_limited() {
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = large;
    expect_equal(setrlimit(RLIMIT_FSIZE, &limit), 0, "setrlimit");
    const int files = open_files();
    expect_refused([] { Arena arena(large + 1); }, "an arena above the limit");
    Arena arena(large);
    expect_equal(open_files(), files + 1, "open files");
}

bool is_asleep(pid_t thread) {
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(status, line);
    const size_t name_end = line.rfind(") ");
    return name_end != std::string::npos && line[name_end + 2] == 'S';
}

// A worker that was taken over may have ten thousands of threads wait for its bell: to wake all of them would take QEMU's main thread as long.
void the_bell_wakes_one() {
    constexpr int sleepers = 6;
    constexpr uint64_t longest_ns = 2'000'000'000;
    QueueProducer queue;
    std::atomic<int> woken{0};
    std::vector<std::thread> threads;
    std::atomic<pid_t> ids[sleepers] = {};
    for (std::atomic<pid_t> &id : ids) {
        threads.emplace_back([&] {
            QueueConsumer consumer(queue.fd());
            const auto tell_first = [&] { return id = gettid(), true; };
            woken += consumer.sleep(tell_first, longest_ns) ? 1 : 0;
        });
    }
    for (std::atomic<pid_t> &id : ids)
        while (id == 0 || !is_asleep(id)) std::this_thread::yield();
    expect(queue.push(EntryKind::skip, nullptr, 0, 0), "push");
    for (std::thread &thread : threads) thread.join();
    expect_equal(woken.load(), 1, "of those who wait for the bell");
}

// As long as there is room the producer puts entries of all sizes behind each other, around the ring's end as well; the consumer gets the same ones.
void entries_around_the_end() {
    QueueProducer queue;
    QueueConsumer consumer(queue.fd());
    std::deque<std::pair<uint64_t, size_t>> waiting; // numbers and sizes of what was put there
    std::vector<uint8_t> bytes(max_command_size);
    uint64_t next = 0;
    auto take = [&] {
        Entry entry{};
        while (consumer.take(entry, consumer.position())) {
            consumer.done();
            if (entry.kind == EntryKind::skip) continue;
            const auto [number, size] = waiting.front();
            waiting.pop_front();
            bool same = entry.kind == EntryKind::command && entry.size == size && entry.submitted_ns == number;
            for (size_t i = 0; same && i < size; ++i) same = entry.payload[i] == static_cast<uint8_t>(number + i);
            return expect(same, "entry " + std::to_string(number));
        }
        expect(false, "an entry is there");
    };
    while (next < 2000 && failures == 0) {
        size_t size = next * 7919 % max_command_size;
        // Every other time one ends near the end of the ring, and leaves in turn nothing there, too little for a header, and more.
        const size_t laps = queue.position() / queue_ring_size, rest = queue_ring_size - queue.position() % queue_ring_size;
        const size_t left = sizeof(EntryHeader) + laps / 2 * 8 % 40;
        if (laps % 2 == 1 && rest < max_command_size && rest > left) size = rest - left;
        for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(next + i);
        if (queue.push(EntryKind::command, bytes.data(), size, next)) waiting.emplace_back(next++, size);
        else expect(waiting.size() > 50, "there is room for more than " + std::to_string(waiting.size())), take();
    }
    while (!waiting.empty() && failures == 0) take();
    expect_equal(consumer.available(), false, "nothing is left");
}

// What a worker writes of how far it is is believed only where it can be.
void a_worker_that_lies_about_the_queue() {
    QueueProducer queue;
    auto *header = reinterpret_cast<QueueHeader *>(map_shared_file(queue.fd(), queue_memory_size));
    const auto is_sane = [&](uint64_t head) {
        bool sane = false;
        header->head = head;
        queue.done(sane);
        return sane;
    };
    for (int i = 0; i < 3; ++i) expect(queue.push(EntryKind::command, nullptr, 0, 0), "push");
    const uint64_t end = queue.position();
    expect(!is_sane(end + 8) && !is_sane(UINT64_MAX), "beyond what was put there");
    expect(is_sane(end / 3) && is_sane(end), "as far as that");
    expect(!is_sane(end - 8) && !is_sane(0), "back again");
    expect(!queue.push(EntryKind::command, nullptr, 0, 0), "nothing is put there then");
    munmap(header, queue_memory_size);
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"first_fit", first_fit},
                      {"large_ones_begin_with_a_huge_page", large_ones_begin_with_a_huge_page},
                      {"wherever_there_is_room_otherwise", wherever_there_is_room_otherwise},
                      {"all_can_be_exchanged", all_can_be_exchanged},
                      {"nothing_is_given_before_the_worker_is_past_it", nothing_is_given_before_the_worker_is_past_it},
                      {"what_is_emptied_is_given_again", what_is_emptied_is_given_again},
                      {"what_is_left_mapped", what_is_left_mapped},
                      {"files_keep_their_size", files_keep_their_size},
                      {"files_are_mapped_at_huge_pages", files_are_mapped_at_huge_pages},
                      {"files_are_not_dumped", files_are_not_dumped},
                      {"nothing_is_locked", nothing_is_locked},
                      {"nothing_is_left_of_what_cannot_be_mapped", nothing_is_left_of_what_cannot_be_mapped},
                      {"files_are_limited", files_are_limited},
                      {"the_bell_wakes_one", the_bell_wakes_one},
                      {"entries_around_the_end", entries_around_the_end},
                      {"a_worker_that_lies_about_the_queue", a_worker_that_lies_about_the_queue}},
                     count > 1 ? values[1] : nullptr);
}
