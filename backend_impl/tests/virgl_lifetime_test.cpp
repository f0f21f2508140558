// How workers and contexts end: killed, crashed, hanging, asked to; and who notices, how soon.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "virgl_forbid.hpp"
#include "virgl_qemu.hpp"

using namespace apir;
using namespace apir::test;

extern "C" int fake_passed();

static std::atomic<bool> emptying_takes_long{false};
static std::atomic<int> emptyings{0};
static std::atomic<bool> emptying{false};
static std::atomic<bool> unmapping_takes_long{false};
static std::atomic<int> unmappings{0};
static std::atomic<bool> unmapping{false};
static std::atomic<int> watches{0}; // by other threads than the main one
static std::atomic<int> watch_ms{0}; // for how long, the last of them
static std::atomic<bool> clock_leaps{false};

// In the place of the C library's: a worker that was taken over may keep the file's lock to itself, for as long as it takes to give the file memory.
extern "C" __attribute__((visibility("default"))) int fallocate(int fd, int mode, off_t offset, off_t size) {
    ++emptyings;
    emptying = true;
    for (int i = 0; emptying_takes_long && i < 2000; ++i) poll(nullptr, 0, 5);
    emptying = false;
    return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, size));
}

// A context's memory, which is large, and shared with a worker.
extern "C" __attribute__((visibility("default"))) int munmap(void *memory, size_t size) noexcept {
    if (size >= size_t{1} << 30) {
        ++unmappings;
        unmapping = true;
        for (int i = 0; unmapping_takes_long && i < 2000; ++i) poll(nullptr, 0, 5);
        unmapping = false;
    }
    return static_cast<int>(syscall(SYS_munmap, memory, size));
}

extern "C" __attribute__((visibility("default"))) int poll(pollfd *files, nfds_t count, int timeout_ms) {
    if (gettid() != getpid()) watch_ms = timeout_ms, ++watches;
    const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000};
    return ppoll(files, count, timeout_ms < 0 ? nullptr : &timeout, nullptr);
}

// As if the others' part of this machine stood still for longer than any look is apart, each time that they ask.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec *time) noexcept {
    static std::atomic<time_t> leapt{0};
    const long result = syscall(SYS_clock_gettime, clock, time);
    if (clock_leaps && gettid() != getpid()) time->tv_sec += leapt += 4000;
    return static_cast<int>(result);
}

namespace {

// Until no child is left, or the time is over. Workers are the only children of a case.
bool no_child_left(int timeout_ms) {
    uint64_t end = monotonic_ns() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
    siginfo_t info{};
    // WNOWAIT: the reaping is the component's, this only looks.
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        if (monotonic_ns() > end) return false;
        poll(nullptr, 0, 5);
    }
    return errno == ECHILD;
}

bool gone(pid_t pid, int timeout_ms) {
    uint64_t end = monotonic_ns() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
    while (kill(pid, 0) == 0 && monotonic_ns() < end) poll(nullptr, 0, 5);
    return kill(pid, 0) != 0;
}

void expect_lost(FakeCall how) {
    Qemu qemu;
    GuestContext other(4, 40);
    other.start();
    pid_t other_worker = other.worker();
    {
        GuestContext guest(3, 30);
        guest.start();
        guest.submit(CommandType::forward, static_cast<uint32_t>(how));
        if (how == FakeCall::hang) {
            poll(nullptr, 0, 50);
            expect_equal(guest.notify(), 0u, "it hangs");
        }
        if (how == FakeCall::hang) {
            // A test of the ladder is below; here somebody kills the worker in the middle of a call.
            std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
            pid_t pid = -1;
            while (children >> pid)
                if (pid != other_worker) kill(pid, SIGKILL);
        }
        uint64_t start = monotonic_ns();
        expect_equal(guest.wait(1000), static_cast<int64_t>(ReturnCode::worker_lost), "the pending command");
        expect(monotonic_ns() - start < 1'000'000'000, "within a second");
        expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::pid)), static_cast<int64_t>(ReturnCode::worker_lost),
                     "a later command");
        expect(create_blob(3, 31, 4096) != 0, "no blobs for a context that is lost");
        const int before = watches;
        poll(nullptr, 0, 50);
        expect(watches - before < 50, "an end that is known is looked at again and again: " + std::to_string(watches - before) + " times");
        expect(other.ask(FakeCall::echo, "alive") == "alive", "the other context");
        expect_equal(other.worker(), other_worker, "has its old worker");
    }
    GuestContext again(3, 30);
    again.start();
    expect(again.ask(FakeCall::echo, "new") == "new", "a new context works");
    again.destroy();
    other.destroy();
    expect(no_child_left(3000), "a worker is left");
}

void worker_killed() { environment(), expect_lost(FakeCall::hang); }
void worker_crashes() { environment(), expect_lost(FakeCall::crash); }
void worker_exits() { environment(), expect_lost(FakeCall::leave); }

void signals_are_for_the_main_thread() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    int threads = 0;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name, word;
        std::ifstream(task.path() / "comm") >> name;
        if (name.rfind("apir-", 0) != 0) continue;
        ++threads;
        std::ifstream status(task.path() / "status");
        while (word != "SigBlk:" && status >> word) continue;
        uint64_t blocked = 0;
        status >> std::hex >> blocked;
        for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM}) expect((blocked >> (signal - 1) & 1) != 0, name + " takes signal " + std::to_string(signal));
    }
    expect_equal(threads, 2, "threads of the component's own");
}

// A worker that lives and does not get on is ended; one that takes long and says that it works is not.
void worker_stalls() {
    environment();
    setenv("VIRGL_APIR_STALL_LIMIT_MS", "800", 1);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::beat)), static_cast<int64_t>(ReturnCode::ok), "long work");
    expect(guest.ask(FakeCall::echo, "then") == "then", "and the worker lives");
    poll(nullptr, 0, 1200);
    expect(guest.ask(FakeCall::echo, "idle") == "idle", "an idle worker is not taken for one that hangs");
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    uint64_t start = monotonic_ns();
    expect_equal(guest.wait(5000), static_cast<int64_t>(ReturnCode::worker_lost), "a worker that hangs");
    uint64_t waited = monotonic_ns() - start;
    expect(waited >= 700'000'000 && waited < 3'000'000'000, "after the limit: " + std::to_string(waited));
}

// All of this machine's part stands still for longer than the limit: that is no worker's fault.
void frozen() {
    environment();
    setenv("VIRGL_APIR_STALL_LIMIT_MS", "800", 1);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    const pid_t worker = guest.worker();
    const pid_t here = getpid();
    poll(nullptr, 0, 300); // the component looks for the last time
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::nap), {'3', '0', '0', 0});
    poll(nullptr, 0, 50);
    const uint64_t start = monotonic_ns(); // the fork may be frozen before it returns
    pid_t freezer = fork();
    if (freezer == 0) {
        kill(worker, SIGSTOP);
        kill(here, SIGSTOP);
        poll(nullptr, 0, 1500);
        kill(here, SIGCONT);
        poll(nullptr, 0, 100); // for a look of the component's
        kill(worker, SIGCONT);
        _exit(0);
    }
    expect_equal(guest.wait(3000), static_cast<int64_t>(ReturnCode::ok), "the command under way");
    expect(monotonic_ns() - start > 1'400'000'000, "all stood still: " + std::to_string(monotonic_ns() - start));
    waitpid(freezer, nullptr, 0);
}

void no_stall_limit() {
    environment();
    setenv("VIRGL_APIR_STALL_LIMIT_MS", "0", 1);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    expect_equal(guest.wait(600), int64_t{-1}, "without a limit it is waited for");
    watch_ms = 0;
    virgl_renderer_context_create_with_flags(5, venus_capset, 4, "test");
    virgl_renderer_context_destroy(5); // the watcher is told of it, and looks until its worker has ended
    for (int i = 0; i < 1000 && watch_ms != -1; ++i) poll(nullptr, 0, 5);
    expect(watch_ms == -1, "and nobody looks again, but within " + std::to_string(watch_ms) + " ms");
}

// To give memory of one context back may take long; workers of others are looked after meanwhile.
void memory_given_back_slowly() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    GuestContext other(4, 40);
    other.start();
    const pid_t worker = other.worker();
    expect_equal(create_blob(3, 31, 1 << 20), 0, "create_blob");
    emptyings = 0;
    emptying_takes_long = true;
    virgl_renderer_resource_unref(31);
    guest.worker(); // is past it now
    for (int i = 0; i < 1000 && emptyings == 0; ++i) poll(nullptr, 0, 5);
    expect(emptyings != 0, "its memory is given back");
    other.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    kill(worker, SIGKILL);
    expect_equal(other.wait(1000), static_cast<int64_t>(ReturnCode::worker_lost), "the pending command of the other one");
    expect(emptying, "and all of that meanwhile");
    emptying_takes_long = false;
}

// What is released while its worker is busy becomes free later, of which nobody tells. All of it: in pieces, the large one in two.
void memory_given_back_later() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    expect_equal(create_blob(3, 31, 5 << 20), 0, "create_blob");
    expect_equal(create_blob(3, 32, 1 << 20), 0, "create_blob");
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::nap), {'2', '0', '0', 0});
    virgl_renderer_resource_unref(31);
    virgl_renderer_resource_unref(32);
    for (int i = 0; i < 1000 && emptyings < 3; ++i) poll(nullptr, 0, 5);
    expect_equal(emptyings.load(), 3, "pieces that are given back");
}

// The end of a blob of which a worker could not be told at once is told before the next command, and gives memory back then.
void memory_given_back_behind_a_full_queue() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    expect_equal(create_blob(3, 31, 1 << 20), 0, "create_blob");
    const auto is_full = [&] { return guest.notify() == static_cast<uint32_t>(ReturnCode::call_failed) + 1; };
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::nap), {'5', '0', '0', 0});
    int sent = 0;
    do guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::echo), std::vector<uint8_t>(size_t{60} << 10));
    while (!is_full() && ++sent < 100);
    do guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::echo));
    while (!is_full() && ++sent < 10'000);
    expect(is_full(), "the queue has no room");
    virgl_renderer_resource_unref(31);
    // Its own answer: that of the nap may be there instead.
    const auto is_taken = [&] {
        const int64_t code = guest.forward(static_cast<uint32_t>(FakeCall::echo), {'o', 'n', 0});
        return code == static_cast<int64_t>(ReturnCode::ok) && std::strcmp(reinterpret_cast<const char *>(guest.reply()), "on") == 0;
    };
    for (int i = 0; i < 1000 && !is_taken(); ++i) poll(nullptr, 0, 5);
    for (int i = 0; i < 1000 && emptyings == 0; ++i) poll(nullptr, 0, 5);
    expect_equal(emptyings.load(), 1, "pieces that are given back");
}

// To unmap the memory of a context that is gone may take long; commands of others are taken meanwhile. Another one that ends then has its turn afterwards.
void memory_unmapped_slowly() {
    environment();
    Qemu qemu;
    GuestContext other(4, 40);
    other.start();
    GuestContext guest(3, 30);
    unmapping_takes_long = true;
    guest.destroy();
    for (int i = 0; i < 1000 && !unmapping; ++i) poll(nullptr, 0, 5);
    expect(unmapping, "its memory is unmapped");
    expect(other.ask(FakeCall::echo, "meanwhile") == "meanwhile", "a command of the other one");
    other.destroy();
    expect(no_child_left(5000), "the other one's worker ends");
    virgl_renderer_resource_unref(99); // none; whoever reaped it is through
    expect(unmapping && unmappings == 1, "and all of that meanwhile");
    unmapping_takes_long = false;
    for (int i = 0; i < 1000 && unmappings < 2; ++i) poll(nullptr, 0, 5);
    expect_equal(unmappings.load(), 2, "arenas that are unmapped");
}

// Of several contexts the one that has to be looked at first decides when the watcher looks again, whichever that is.
void the_nearest_look() {
    environment();
    constexpr const char *soon = "4000000", *late = "400000000";
    for (const auto &[first, second] : {std::pair{soon, late}, {late, soon}}) {
        Qemu qemu;
        setenv("VIRGL_APIR_STALL_LIMIT_MS", first, 1);
        GuestContext one(3, 30);
        one.start();
        setenv("VIRGL_APIR_STALL_LIMIT_MS", second, 1);
        GuestContext other(4, 40);
        other.start();
        watch_ms = 0;
        virgl_renderer_context_create_with_flags(5, venus_capset, 4, "test");
        virgl_renderer_context_destroy(5); // the watcher is told of it
        for (int i = 0; i < 1000 && watch_ms == 0; ++i) poll(nullptr, 0, 5);
        expect(watch_ms > 0 && watch_ms <= 1'000'001, "looks again within " + std::to_string(watch_ms) + " ms");
    }
}

// A look that is due by the time that the watcher has found out when the next one is, is not put off.
void a_look_that_is_due() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::nap), {'6', '0', '0', '0', '0', 0});
    clock_leaps = true;
    watch_ms = -1;
    virgl_renderer_context_create_with_flags(5, venus_capset, 4, "test");
    virgl_renderer_context_destroy(5); // the watcher is told of it
    for (int i = 0; i < 1000 && watch_ms != 0; ++i) poll(nullptr, 0, 5);
    expect(watch_ms == 0, "looks again within " + std::to_string(watch_ms) + " ms");
    clock_leaps = false;
}

void several_pending() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    pid_t worker = guest.worker();
    constexpr uint32_t pages = 20;
    for (uint32_t page = 100; page < 100 + pages; ++page) expect_equal(create_blob(3, page, 4096), 0, "create_blob");
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    for (uint32_t page = 100; page < 100 + pages; ++page) guest.submit(2, static_cast<uint32_t>(FakeCall::pid), {}, page);
    const uint32_t answered = 7;
    expect_equal(create_blob(3, 99, 4096), 0, "create_blob");
    guest.submit(2, static_cast<uint32_t>(FakeCall::pid), {}, 99);
    auto *before = reinterpret_cast<uint32_t *>(mapped(99));
    __atomic_store_n(before, answered, __ATOMIC_RELEASE);
    kill(worker, SIGKILL);
    expect_equal(guest.wait(1000), static_cast<int64_t>(ReturnCode::worker_lost), "the command under way");
    expect_equal(__atomic_load_n(before, __ATOMIC_ACQUIRE), answered, "what the worker had answered before stays");
    for (uint32_t page = 100; page < 100 + pages; ++page) {
        uint32_t notify = 0;
        std::memcpy(&notify, mapped(page), sizeof notify);
        expect_equal(notify, static_cast<uint32_t>(ReturnCode::worker_lost) + 1, "a command in the queue");
        virgl_renderer_resource_unref(page);
    }
}

// What cannot be handed to a worker that is far behind is answered, and no blob made that it cannot be told of.
void full_queue() {
    environment();
    char path[] = "virgl-lifetime-log-XXXXXX";
    close(mkstemp(path));
    setenv("VIRGL_APIR_LOG_TO_FILE", path, 1);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    expect_equal(create_blob(3, 31, 4096), 0, "create_blob");
    auto *notify = reinterpret_cast<uint32_t *>(mapped(31));
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    std::vector<uint8_t> large(size_t{60} << 10);
    Writer writer(large.data(), large.size());
    write(writer, CommandHeader{2, static_cast<uint32_t>(FakeCall::echo), 31});
    int sent = 0;
    while (*notify == 0 && ++sent < 100) guest.submit_raw(large);
    expect_equal(*notify, static_cast<uint32_t>(ReturnCode::call_failed) + 1, "the first one that has no room");
    expect(sent > 60, "behind others that had: " + std::to_string(sent));
    uint32_t resource = 1000;
    while (resource < 5000 && create_blob(3, resource, 4096) == 0) ++resource;
    const auto last = [&path] {
        std::ifstream log(path);
        std::string line, found;
        while (std::getline(log, line)) found = line;
        return found;
    };
    expect(last().find("its worker has yet to take what it was told") != std::string::npos, "why the worker could not be told of a blob: " + last());
    virgl_renderer_resource_unref(1000);
    expect(resource > 1000 && create_blob(3, 1000, 4096) == -ENOMEM, "one of a number whose end it was not told of");
    expect(last().find("before the end of another blob") != std::string::npos, "why not: " + last());
    // The arena holds three times what a context may have, and this one's worker leaves nothing.
    GuestContext other(4, 40);
    other.start();
    other.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    int made = 0;
    while (made < 10 && create_blob(4, 41, uint64_t{8} << 30) == 0) ++made, virgl_renderer_resource_unref(41);
    expect(made > 3 && made < 7, "large ones, one after the other: " + std::to_string(made));
    expect(last().find("its worker has yet to leave others that were freed") != std::string::npos, "why no more: " + last());
    unlink(path);
}

// One that was taken over by its guest writes into the queue what it likes: it is ended for that, and QEMU goes where it says only within its memory.
void worker_lies() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    const std::string ring = "ring " + std::to_string((uint64_t{1} << 45) + 1), head = "head " + std::to_string(uint64_t{1} << 40);
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::lie), {ring.begin(), ring.end()});
    expect_equal(guest.wait(5000), static_cast<int64_t>(ReturnCode::worker_lost), "a ring that is nowhere");
    GuestContext other(4, 40);
    other.start();
    other.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::lie), {head.begin(), head.end()});
    constexpr auto lost = static_cast<int64_t>(ReturnCode::worker_lost);
    int64_t code = -1;
    for (int i = 0; i < 500 && code != lost; ++i) { // it has yet to write, and what is sent until its end is seen is refused
        other.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::pid));
        code = other.wait(10);
        poll(nullptr, 0, 5);
    }
    expect_equal(code, lost, "farther than there is anything");
}

void context_end() {
    environment();
    char witness[] = "virgl-component-test-XXXXXX";
    close(mkstemp(witness));
    setenv("FAKE_DEINIT_WITNESS", witness, 1);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    pid_t worker = guest.worker();
    guest.destroy();
    expect(gone(worker, 1500), "the worker ends with its context");
    expect(access(witness, F_OK) != 0, "deinit was called");
    unlink(witness);
    GuestContext stuck(4, 40);
    stuck.start();
    worker = stuck.worker();
    stuck.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
    poll(nullptr, 0, 50);
    uint64_t start = monotonic_ns();
    stuck.destroy();
    expect(monotonic_ns() - start < 50'000'000, "context_destroy does not wait");
    expect(gone(worker, 5000), "a worker that hangs is killed");
    expect(no_child_left(100), "and reaped");
}

// QEMU's wait tells of a worker that has itself traced when it stops as well: that is not its end. A worker
// may not do so; this host cannot keep it from that.
void stopped_while_traced() {
    environment();
    forbid(SYS_seccomp, ENOSYS);
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    const pid_t worker = guest.worker();
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::traced));
    poll(nullptr, 0, 50);
    guest.destroy();
    expect(gone(worker, 5000), "a worker that stops is killed");
    expect(no_child_left(100), "and reaped");
}

void cleanup() {
    environment();
    {
        Qemu qemu;
        GuestContext hanging(3, 30);
        hanging.start();
        hanging.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::hang));
        GuestContext idle(4, 40);
        idle.start();
        virgl_renderer_reset();
        expect_equal(create_blob(3, 31, 4096), 0, "passed on"); // the context is nobody's now
        GuestContext fresh(3, 30); // numbers are given anew after a reset
        fresh.start();
        expect(fresh.ask(FakeCall::echo, "fresh") == "fresh", "a context after a reset");
        uint64_t start = monotonic_ns();
        virgl_renderer_cleanup(&qemu);
        expect(monotonic_ns() - start < 3'000'000'000, "cleanup ends in time");
        expect(no_child_left(0), "cleanup leaves no worker");
    }
}

// As a guest does, in memory that may be exchanged at any time for other: no race, if it is there.
__attribute__((no_sanitize("thread"))) void write_as_guest(volatile uint8_t *place) { *place = 1; }

// QEMU forgets its resources with a reset and says nothing more of them; what it has mapped of them it may keep mapped.
void numbers_after_a_reset() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    uint8_t *kept = mapped(30);
    virgl_renderer_reset();
    fake_passed();
    auto expect_passed = [](const char *what) { expect_equal(fake_passed(), 1, what); };
    virgl_renderer_resource_attach_iov(30, nullptr, 0);
    expect_passed("attach_iov");
    virgl_renderer_resource_info info{};
    virgl_renderer_resource_get_info(30, &info);
    expect_passed("get_info");
    virgl_renderer_ctx_attach_resource(9, 30);
    expect_passed("ctx_attach_resource");
    virgl_renderer_resource_unref(30);
    expect_passed("unref");
    expect(no_child_left(3000), "a worker is left");
    poll(nullptr, 0, 100);
    void *taken = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(taken < kept || taken >= kept + reply_page_size, "its address is not given again");
    write_as_guest(kept); // and still leads to memory
    munmap(taken, 4096);
}

// As many programs as are left behind by reboots, the last one has room.
void many_resets() {
    environment();
    Qemu qemu;
    for (int round = 0; round < 140 && failures == 0; ++round) {
        const uint32_t resource = 30 + static_cast<uint32_t>(round);
        expect_equal(virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test"), 0, "context_create");
        expect_equal(create_blob(3, resource, 4096), 0, "create_blob");
        expect(mapped(resource) != nullptr, "map");
        virgl_renderer_reset();
        expect(no_child_left(3000), "a worker is left");
    }
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"worker_killed", worker_killed},
                      {"worker_crashes", worker_crashes},
                      {"worker_exits", worker_exits},
                      {"signals_are_for_the_main_thread", signals_are_for_the_main_thread},
                      {"worker_stalls", worker_stalls},
                      {"frozen", frozen},
                      {"no_stall_limit", no_stall_limit},
                      {"memory_given_back_slowly", memory_given_back_slowly},
                      {"memory_given_back_later", memory_given_back_later},
                      {"memory_given_back_behind_a_full_queue", memory_given_back_behind_a_full_queue},
                      {"memory_unmapped_slowly", memory_unmapped_slowly},
                      {"the_nearest_look", the_nearest_look},
                      {"a_look_that_is_due", a_look_that_is_due},
                      {"several_pending", several_pending},
                      {"full_queue", full_queue},
                      {"worker_lies", worker_lies},
                      {"context_end", context_end},
                      {"stopped_while_traced", stopped_while_traced},
                      {"cleanup", cleanup},
                      {"numbers_after_a_reset", numbers_after_a_reset},
                      {"many_resets", many_resets}},
                     count > 1 ? values[1] : nullptr);
}
