// The component without QEMU: the preload in front of a fake virglrenderer, workers with a fake host library.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <pty.h>
#include <sched.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <thread>

#include "granted_turns.hpp"
#include "virgl/held_fences.hpp"
#include "virgl/short_turns.hpp"
#include "virgl_qemu.hpp"

using namespace apir;
using namespace apir::test;

extern "C" int fake_passed();

namespace {

constexpr uint64_t nap_ns = 100'000'000;

// A nap, and behind it an echo, whose reply goes to a blob of its own. For how long the echo waited at least, however long it took to submit them.
uint64_t echo_behind_a_nap(GuestContext &guest, uint32_t blob) {
    auto *notify = reinterpret_cast<uint32_t *>(mapped(blob));
    const uint64_t start_ns = monotonic_ns();
    guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::nap), {'1', '0', '0', 0});
    guest.submit(static_cast<uint32_t>(CommandType::forward) + venus_command_offset, static_cast<uint32_t>(FakeCall::echo), {'x', 0}, blob);
    const uint64_t submitted_ns = monotonic_ns() - start_ns;
    for (int i = 0; i < 5000 && __atomic_load_n(notify, __ATOMIC_ACQUIRE) == 0; ++i) poll(nullptr, 0, 1);
    expect_equal(*notify, static_cast<uint32_t>(ReturnCode::ok) + 1, "an echo behind a nap");
    return nap_ns - std::min(nap_ns, submitted_ns);
}

// The times that stand at the end of a reply.
ReplyTiming times_of(const uint8_t *reply_page) {
    Reader reader(reply_page + reply_page_size - reply_timing_size, reply_timing_size);
    ReplyTiming timing;
    expect(read(reader, timing), "times");
    return timing;
}

void commands() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    expect_equal(guest.forward(0), static_cast<int64_t>(ReturnCode::no_dispatch), "Forward before LoadLibrary");
    guest.start();
    uint32_t version[2];
    expect_equal(guest.handshake(0, 1), static_cast<int64_t>(handshake_magic), "another minor");
    std::memcpy(version, guest.reply(), sizeof version);
    expect(version[0] == protocol_major && version[1] == protocol_minor, "the component's version");
    expect_equal(guest.load(), static_cast<int64_t>(LoadCode::already_loaded), "a second LoadLibrary");
    expect(guest.ask(FakeCall::echo, "hello") == "hello", "echo");
    expect_equal(guest.forward(5), static_cast<int64_t>(ReturnCode::unknown_call), "an unknown call");
    // Both forms of the type, on either capset.
    guest.submit(2, static_cast<uint32_t>(FakeCall::pid), {}, 30);
    expect_equal(guest.wait(), static_cast<int64_t>(ReturnCode::ok), "the plain form of the type");
    for (uint32_t type : {3u, 330u, 334u, UINT32_MAX}) {
        guest.submit(type, 0, {}, 30);
        expect_equal(guest.wait(60), int64_t{-1}, "type " + std::to_string(type));
    }
    guest.submit(2, 0, {}, 31);
    expect_equal(guest.wait(60), int64_t{-1}, "an unknown reply resource");
    for (size_t size : {0, 4, 8}) {
        guest.submit_raw(std::vector<uint8_t>(size));
        expect_equal(guest.wait(60), int64_t{-1}, "a command of " + std::to_string(size) + " bytes");
    }
    guest.submit_raw(std::vector<uint8_t>(1 << 20, 30));
    expect(guest.ask(FakeCall::echo, "still") == "still", "the context lives on");
    std::vector<uint8_t> offer(20);
    Writer writer(offer.data(), offer.size());
    write(writer, NegotiateRequest{1, UINT64_MAX, 42});
    expect_equal(guest.forward(static_cast<uint32_t>(Call::negotiate), offer), static_cast<int64_t>(ReturnCode::ok),
                 "negotiation with a 0.2 host library");
    expect_equal(guest.forward(static_cast<uint32_t>(Call::negotiate), {}), static_cast<int64_t>(ReturnCode::call_failed),
                 "a negotiation without an offer");
    guest.forward(static_cast<uint32_t>(Call::negotiate), offer);
    auto *end = const_cast<uint8_t *>(guest.reply()) + reply_page_size - sizeof(uint32_t) - reply_timing_size;
    std::memset(end, 0xff, reply_timing_size);
    expect(guest.ask(FakeCall::echo, "timed") == "timed", "a call with timing");
    const ReplyTiming timing = times_of(guest.reply() - sizeof(uint32_t));
    expect(timing.compute_ns > 0 && timing.compute_ns < 5'000'000'000, "how long it took the host");
    expect(timing.queue_ns < 5'000'000'000, "how long it waited");
    expect_equal(create_blob(3, 31, reply_page_size), 0, "create_blob");
    const uint64_t least_ns = echo_behind_a_nap(guest, 31);
    const uint64_t queue_ns = times_of(mapped(31)).queue_ns;
    expect(queue_ns >= least_ns && queue_ns < 5'000'000'000, "how long one behind a nap waited: " + std::to_string(queue_ns));
    const uint64_t compute_ns = times_of(guest.reply() - sizeof(uint32_t)).compute_ns;
    expect(compute_ns >= nap_ns && compute_ns < 5'000'000'000, "how long the nap took: " + std::to_string(compute_ns));
    virgl_renderer_resource_unref(31);
    std::vector<uint8_t> long_text(reply_page_size - sizeof(uint32_t) - reply_timing_size, 'x');
    long_text.back() = 0;
    expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::echo), long_text), static_cast<int64_t>(ReturnCode::ok), "a reply up to the times");
    long_text.insert(long_text.begin(), 'x');
    expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::echo), long_text), static_cast<int64_t>(ReturnCode::call_failed), "one that would reach into them");
    Writer nothing(offer.data(), offer.size());
    write(nothing, NegotiateRequest{1, 0, 42});
    guest.forward(static_cast<uint32_t>(Call::negotiate), offer);
    uint64_t accepted = 1;
    std::memcpy(&accepted, guest.reply(), sizeof accepted);
    expect_equal(accepted, uint64_t{0}, "no extension that is not offered");
}

void other_major() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    expect_equal(guest.handshake(1, 0), static_cast<int64_t>(handshake_magic), "the handshake is answered");
    expect_equal(guest.load(), static_cast<int64_t>(LoadCode::not_sent), "another major is refused");
    expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::pid)), static_cast<int64_t>(ReturnCode::no_dispatch),
                 "and served no calls");
    expect_equal(guest.handshake(), static_cast<int64_t>(handshake_magic), "the right major");
    expect_equal(guest.load(), static_cast<int64_t>(LoadCode::ok), "is served");
    guest.handshake(1, 0);
    expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::pid)), static_cast<int64_t>(ReturnCode::no_dispatch), "until it is another one again");
}

int64_t load_with(const char *library, const char *ggml = nullptr) {
    static uint32_t context = 10;
    ++context;
    GuestContext guest(context, 100 + context);
    if (library != nullptr) virgl_apir_configure_kv(context, "apir.load_library.path", library);
    if (ggml != nullptr) virgl_apir_configure_kv(context, "ggml.library.path", ggml);
    guest.handshake();
    int64_t first = guest.load();
    if (first == 14) {
        expect_equal(guest.load(), static_cast<int64_t>(LoadCode::already_loaded), "LoadLibrary after a failed initialisation");
        expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::pid)), static_cast<int64_t>(ReturnCode::call_failed),
                     "Forward after it");
    }
    return first;
}

void load_failures() {
    environment();
    unsetenv("VIRGL_APIR_BACKEND_LIBRARY");
    Qemu qemu;
    expect_equal(load_with(nullptr), static_cast<int64_t>(LoadCode::variable_missing), "no variable");
    expect_equal(load_with("/no/such/library.so"), static_cast<int64_t>(LoadCode::cannot_open), "no such file");
    expect_equal(load_with("/"), static_cast<int64_t>(LoadCode::cannot_open), "a folder");
    expect_equal(load_with("/dev/null"), static_cast<int64_t>(LoadCode::cannot_open), "no regular file");
    expect_equal(load_with("/etc/passwd"), static_cast<int64_t>(LoadCode::cannot_open), "no library");
    expect_equal(load_with(FAKE_RENDERER), static_cast<int64_t>(LoadCode::symbol_missing), "a library without the functions");
    expect_equal(load_with(FAKE_HOST, "fail"), int64_t{14}, "init error 2");
    expect_equal(load_with(FAKE_HOST), static_cast<int64_t>(LoadCode::ok), "configured by the hypervisor");
    expect_equal(virgl_apir_configure_kv(999, "key", "value"), -1, "no such context");
}

// QEMU's main thread must not wait behind a virtual processor that waits for it. Nothing else of it changes, and nothing at all in a QEMU that has
// none but others' contexts.
void short_turns() {
    environment();
    for (const int reset : {0, SCHED_RESET_ON_FORK}) {
        std::thread([&] {
            const bool granted = grants_turns();
            const sched_param none{};
            expect_equal(sched_setscheduler(0, SCHED_OTHER | reset, &none), 0, "sched_setscheduler");
            const int nice_value = getpriority(PRIO_PROCESS, 0);
            Qemu qemu;
            virgl_renderer_context_create_with_flags(8, 2, 4, "virg");
            expect(!granted || !virgl::has_short_turns(), "a QEMU without contexts of ours is left alone");
            expect_equal(virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test"), 0, "context_create");
            expect(!granted || virgl::has_short_turns(), "who carries commands has short turns");
            expect_equal(getpriority(PRIO_PROCESS, 0), nice_value, "the nice value");
            expect_equal(sched_getscheduler(0), SCHED_OTHER | reset, "the policy, and what is passed on");
            virgl_renderer_context_destroy(3);
            virgl_renderer_context_destroy(8);
        }).join();
    }
}

// Whoever gave QEMU's main thread another policy knows why.
void turns_of_another_policy() {
    std::thread([] {
        const sched_param none{};
        expect_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0, "sched_setscheduler");
        expect(!virgl::take_short_turns(virgl::Heirs::ordinary) && !virgl::has_short_turns(), "a thread of another policy is left alone");
        expect_equal(sched_getscheduler(0), SCHED_BATCH, "the policy");
    }).join();
}

// What is told is the cause, not that there were no room.
void no_worker_program() {
    environment();
    setenv("VIRGL_APIR_WORKER", "/no/such/worker", 1);
    char path[] = "virgl-component-log-XXXXXX";
    close(mkstemp(path));
    setenv("VIRGL_APIR_LOG_TO_FILE", path, 1);
    {
        Qemu qemu;
        expect_equal(virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test"), 0, "context_create");
        expect_equal(create_blob(3, 30, 4096), -EIO, "no blob without a worker");
        virgl_renderer_context_destroy(3);
    }
    std::ostringstream log;
    log << std::ifstream(path).rdbuf();
    const bool told = log.str().find("cannot start /no/such/worker") != std::string::npos;
    expect(told && log.str().find("no room") == std::string::npos, "the log: " + log.str());
    unlink(path);
}

// As when it has been exchanged while QEMU was running.
void worker_of_another_build() {
    char path[] = "virgl-component-log-XXXXXX";
    close(mkstemp(path));
    for (const char *words : {" 0 3 4 1", " 3 4 1"}) {
        const int status = std::system(("'" APIR_WORKER "'" + std::string(words) + " 2>" + path).c_str());
        std::ostringstream said;
        said << std::ifstream(path).rdbuf();
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 2, "it does not serve");
        expect(said.str().find("of another build than the component") != std::string::npos, "says: " + said.str());
    }
    unlink(path);
}

void a_capset_has_variables_of_its_own() {
    environment();
    setenv("APIR_LLAMA_CPP_GGML_LIBRARY_REG", "everybody's", 1);
    setenv("APIR_LLAMA_CPP_GGML_LIBRARY_REG_APIR", "apir's", 1);
    setenv("APIR_LLAMA_CPP_GGML_THREADS_VENUS", "7", 1);
    {
        Qemu qemu;
        GuestContext guest(3, 30); // on Venus's
        guest.start();
        expect(guest.ask(FakeCall::config, "ggml.library.reg") == "everybody's", "the other capset's is not taken");
        expect(guest.ask(FakeCall::config, "ggml.threads") == "7", "its own is, without one for all");
    }
    setenv("APIR_LLAMA_CPP_GGML_LIBRARY_REG_VENUS", "venus's", 1);
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        guest.start();
        expect(guest.ask(FakeCall::config, "ggml.library.reg") == "venus's", "its own goes before the one for all");
    }
    for (const char *name : {"APIR_LLAMA_CPP_GGML_LIBRARY_REG", "APIR_LLAMA_CPP_GGML_LIBRARY_REG_APIR",
                             "APIR_LLAMA_CPP_GGML_LIBRARY_REG_VENUS", "APIR_LLAMA_CPP_GGML_THREADS_VENUS"})
        unsetenv(name);
}

void fences() {
    environment();
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        expect_equal(virgl_renderer_context_create_fence(3, 0, 5, 77), 0, "create_fence");
        expect(qemu.fences.empty(), "not within the call: the command is not on QEMU's list yet");
        virgl_renderer_poll();
        expect(qemu.fences.size() == 1 && qemu.fences[0].context == 3 && qemu.fences[0].ring == 5 && qemu.fences[0].id == 77,
               "told when QEMU polls");
        virgl_renderer_poll();
        expect(qemu.fences.size() == 1, "told once");
    }
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        // Kept, unless this process was kept from going on for so long.
        auto kept = [&](uint64_t since_ns, size_t told) {
            virgl_renderer_poll();
            return qemu.fences.size() == told || monotonic_ns() - since_ns >= virgl::HeldFences::longest_ns;
        };
        const uint64_t first_ns = monotonic_ns();
        virgl_renderer_context_create_fence(3, 0, unawaited_ring, 79);
        expect(kept(first_ns, 0), "one that nobody awaits is kept");
        poll(nullptr, 0, 20);
        virgl_renderer_poll();
        expect(qemu.fences.size() == 1 && qemu.fences[0].id == 79, "for a while");
        const uint64_t second_ns = monotonic_ns();
        for (uint64_t id = 80; id < 95; ++id) virgl_renderer_context_create_fence(3, 0, unawaited_ring, id);
        expect(kept(second_ns, 1), "several are kept");
        virgl_renderer_context_create_fence(3, 0, unawaited_ring, 95);
        const bool early = qemu.fences.size() > 1;
        virgl_renderer_poll();
        expect(early || (qemu.fences.size() == 17 && qemu.fences[16].ring == unawaited_ring && qemu.fences[16].id == 95), "until it is a bunch");
        qemu.fences.clear();
        virgl_renderer_context_create_fence(3, 0, unawaited_ring, 96);
        virgl_renderer_reset();
        poll(nullptr, 0, 20);
        virgl_renderer_poll();
        expect(qemu.fences.empty(), "none of before a reset");
    }
    {
        Qemu qemu(VIRGL_RENDERER_ASYNC_FENCE_CB);
        GuestContext guest(3, 30);
        virgl_renderer_context_create_fence(3, 0, 0, 78);
        expect(qemu.fences.size() == 1, "told at once where QEMU takes them from any thread");
    }
}

void old_qemu() {
    environment();
    Qemu qemu(0, 2);
    expect(virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test") != 0,
           "no context for a QEMU that takes no fences of contexts");
}

void blobs() {
    environment();
    setenv("APIR_GPU_SHMEM_WINDOW_BYTES", "1048576", 1);
    Qemu qemu;
    GuestContext guest(3, 30); // takes 16 KiB
    guest.start();
    expect_equal(create_blob(3, 31, 5000), 0, "create_blob");
    void *address = nullptr;
    uint64_t size = 0;
    expect_equal(virgl_renderer_resource_map(31, &address, &size), 0, "map");
    expect_equal(size, uint64_t{8192}, "whole pages");
    expect(guest.ask(FakeCall::fill, "31") == "8192", "the worker sees it, with its size");
    expect(static_cast<char *>(address)[0] == 'f' && static_cast<char *>(address)[8191] == 'f', "and shares it");
    void *elsewhere = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect_equal(virgl_renderer_resource_map_fixed(31, elsewhere), 0, "map_fixed");
    expect(static_cast<char *>(elsewhere)[8191] == 'f', "the same memory");
    munmap(elsewhere, 8192);
    uint32_t map_info = 0;
    expect_equal(virgl_renderer_resource_get_map_info(31, &map_info), 0, "map_info");
    expect_equal(map_info, static_cast<uint32_t>(VIRGL_RENDERER_MAP_CACHE_CACHED), "cached");
    virgl_renderer_resource_info info{};
    expect_equal(virgl_renderer_resource_get_info(31, &info), 0, "info");
    expect_equal(info.fd, -1, "no descriptor");
    virgl_renderer_resource_info_ext extended{};
    expect_equal(virgl_renderer_resource_get_info_ext(31, &extended), 0, "info_ext");
    expect_equal(extended.base.fd, -1, "no descriptor");
    expect(create_blob(3, 31, 4096) != 0, "a number that is taken");
    expect(create_blob(3, 32, 0) != 0, "no bytes");
    expect(create_blob(3, 0, 4096) != 0, "a number that is none");
    expect_equal(virgl_renderer_resource_attach_iov(31, nullptr, 0), -EINVAL, "memory of the guest's for it");
    expect_equal(virgl_renderer_submit_cmd(nullptr, 3, -1), EINVAL, "less than no command");
    virgl_renderer_resource_create_blob_args other{};
    other.res_handle = 32, other.ctx_id = 3, other.size = 4096, other.blob_mem = VIRGL_RENDERER_BLOB_MEM_HOST3D_GUEST;
    expect_equal(virgl_renderer_resource_create_blob(&other), -EINVAL, "a blob of another kind");
    fake_passed();
    other.blob_mem = VIRGL_RENDERER_BLOB_MEM_GUEST;
    virgl_renderer_resource_create_blob(&other);
    expect_equal(fake_passed(), 1, "one in the guest's memory is virglrenderer's");
    expect(create_blob(3, 32, 1 << 20) != 0, "more than the context may have");
    expect(create_blob(3, 32, UINT64_MAX) != 0, "much more");
    expect_equal(virgl_renderer_resource_unmap(31), 0, "unmap");
    virgl_renderer_resource_unref(31);
    expect(guest.ask(FakeCall::fill, "31") == "(null)", "gone for the worker too");
    // Memory comes back: far more in all than the context may have at once.
    for (uint32_t i = 0; i < 400; ++i) {
        uint32_t resource = 1000 + i;
        uint64_t wanted = i % 3 == 0 ? 600 << 10 : 64 << 10;
        expect_equal(create_blob(3, resource, wanted), 0, "blob " + std::to_string(i));
        if (failures != 0) return;
        if (i % 10 == 0)
            expect(guest.ask(FakeCall::fill, std::to_string(resource)) == std::to_string(wanted), "fill");
        else
            guest.worker(); // a range is free again when the worker is past its removal
        virgl_renderer_resource_unref(resource);
        guest.worker();
    }
}

// A window that is no number of bytes is not taken for the number that it begins with, nor one that no file can have for a smaller one.
void windows_that_are_none() {
    environment();
    for (const char *text : {"4096M", "16384 ", "0", "1", "-1", "9223372036854775808", "18446744073709551616", "bytes"}) {
        setenv("APIR_GPU_SHMEM_WINDOW_BYTES", text, 1);
        Qemu qemu;
        const bool made = virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test") == 0;
        expect(made && create_blob(3, 30, 1 << 20) == 0, std::string("a blob of 1 MiB with a window of ") + text);
        virgl_renderer_context_destroy(3);
    }
}

void passed_on() {
    environment();
    Qemu qemu;
    GuestContext guest(3, 30);
    fake_passed();
    virgl_renderer_context_create_with_flags(8, 2, 4, "virg");
    virgl_renderer_submit_cmd(nullptr, 8, 0);
    create_blob(8, 80, 4096);
    virgl_renderer_context_create_fence(8, 0, 0, 1);
    virgl_renderer_ctx_attach_resource(8, 80);
    virgl_renderer_resource_unref(80);
    virgl_renderer_context_destroy(8);
    expect_equal(fake_passed(), 7, "calls of another context");
    virgl_renderer_ctx_attach_resource(3, 80);
    virgl_renderer_ctx_attach_resource(8, 30);
    virgl_renderer_resource_detach_iov(30, nullptr, nullptr);
    expect_equal(fake_passed(), 0, "calls of ours");
}

void too_many_contexts() {
    environment();
    Qemu qemu;
    int made = 0;
    for (uint32_t context = 1; context <= 100; ++context)
        made += virgl_renderer_context_create_with_flags(context, venus_capset, 4, "test") == 0 ? 1 : 0;
    expect_equal(made, 64, "contexts at once");
    virgl_renderer_context_destroy(64);
    expect_equal(virgl_renderer_context_create_with_flags(1, venus_capset, 4, "test"), EINVAL, "a number that is taken");
    for (uint32_t context = 1; context <= 100; ++context) virgl_renderer_context_destroy(context);
    expect_equal(virgl_renderer_context_create_with_flags(1, venus_capset, 4, "test"), 0, "room again");
}

// Of all contexts together, however QEMU maps them.
void too_many_mapped_blobs() {
    environment();
    Qemu qemu;
    constexpr uint32_t most = 768;
    for (uint32_t context = 3; context < 5; ++context)
        expect_equal(virgl_renderer_context_create_with_flags(context, venus_capset, 4, "test"), 0, "context_create");
    uint32_t made = 0;
    for (uint32_t i = 0; i < most + 2; ++i) {
        expect_equal(create_blob(3 + i % 2, 1000 + i, 4096), 0, "create_blob");
        made += mapped(1000 + i) != nullptr ? 1 : 0;
    }
    expect_equal(made, most, "blobs that are mapped at once");
    expect(mapped(1000) != nullptr, "one that is mapped already is no other one");
    void *window = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect_equal(virgl_renderer_resource_map_fixed(1000 + most, window), -ENOMEM, "map_fixed");
    virgl_renderer_resource_unmap(1000);
    virgl_renderer_resource_unmap(1000);
    expect_equal(virgl_renderer_resource_map_fixed(1000 + most, window), 0, "room again");
    expect(mapped(1001 + most) == nullptr, "and only for one");
    virgl_renderer_resource_unref(1000 + most);
    expect(mapped(1001 + most) != nullptr, "room again for one that is gone");
    virgl_renderer_reset();
    expect_equal(virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test"), 0, "context_create");
    expect_equal(create_blob(3, 1000, 4096), 0, "create_blob");
    expect(mapped(1000) != nullptr, "room again after a reset");
    munmap(window, 4096);
}

// QEMU does not hear that a context was refused: it makes fences for it, and waits.
void fences_of_refused_contexts() {
    environment();
    Qemu qemu;
    for (uint32_t context = 1; context <= 64; ++context) virgl_renderer_context_create_with_flags(context, venus_capset, 4, "test");
    expect(virgl_renderer_context_create_with_flags(65, venus_capset, 4, "test") != 0, "one too many");
    expect_equal(virgl_renderer_context_create_fence(65, 0, 5, 77), 0, "create_fence");
    expect(qemu.fences.empty(), "not within the call");
    virgl_renderer_poll();
    expect(qemu.fences.size() == 1 && qemu.fences[0].context == 65 && qemu.fences[0].ring == 5 && qemu.fences[0].id == 77, "told");
    fake_passed();
    virgl_renderer_context_destroy(65);
    virgl_renderer_context_create_fence(65, 0, 5, 78);
    expect_equal(fake_passed(), 2, "a number that is nobody's");
    virgl_renderer_context_create_with_flags(66, venus_capset, 4, "test");
    virgl_renderer_reset();
    fake_passed();
    virgl_renderer_context_create_fence(66, 0, 5, 79);
    expect_equal(fake_passed(), 1, "a number of before a reset");
    virgl_renderer_poll();
    expect_equal(qemu.fences.size(), size_t{1}, "fences told");
}

// A context that is gone keeps its memory for as long as QEMU has a blob of it: so many and no more.
void gone_but_for_a_blob() {
    environment();
    Qemu qemu;
    constexpr uint32_t most = 128;
    uint32_t made = 0;
    for (int refused = 0; made <= most && refused < 100;) {
        const uint32_t context = made + 1;
        if (virgl_renderer_context_create_with_flags(context, venus_capset, 4, "test") != 0) {
            ++refused; // workers may be on their way out
            poll(nullptr, 0, 20);
            continue;
        }
        ++made;
        expect_equal(create_blob(context, context, 4096), 0, "create_blob");
        virgl_renderer_context_destroy(context);
    }
    expect_equal(made, most, "contexts with a blob left");
    for (uint32_t resource = 1; resource <= made; ++resource) virgl_renderer_resource_unref(resource);
    poll(nullptr, 0, 200);
    expect_equal(virgl_renderer_context_create_with_flags(1, venus_capset, 4, "test"), 0, "room again");
}

// Whoever reads QEMU's standard error has gone: QEMU, which ignores that, lives on, and so do its workers.
void reader_of_the_log_gone() {
    environment();
    int ends[2];
    expect_equal(pipe(ends), 0, "pipe");
    std::signal(SIGPIPE, SIG_IGN);
    int before = dup(STDERR_FILENO);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    bool alive = false;
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        guest.start(); // the worker says what it has loaded
        alive = guest.ask(FakeCall::echo, "alive") == "alive";
    }
    dup2(before, STDERR_FILENO);
    expect(alive && failures == 0, "a worker without a reader of its log");
}

// Whoever read a log that is a named pipe has gone: a worker, which opens it anew, does not wait for another one to come.
void reader_of_a_named_log_gone() {
    environment();
    const std::string path = "virgl-component-log-" + std::to_string(getpid()) + ".pipe";
    expect_equal(mkfifo(path.c_str(), 0600), 0, "mkfifo");
    setenv("VIRGL_APIR_LOG_TO_FILE", path.c_str(), 1);
    std::signal(SIGPIPE, SIG_IGN);
    const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    Qemu qemu;
    close(reader);
    GuestContext guest(3, 30);
    guest.submit(CommandType::load_library);
    expect_equal(guest.wait(5000), static_cast<int64_t>(LoadCode::ok), "a worker that says what it has loaded");
    unlink(path.c_str());
}

std::string content(const std::string &path) {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
}

// It begins anew with the first worker of a QEMU's, and with none of the others.
void log_of_the_host_library() {
    environment();
    const std::string path = "virgl-component-host-log-" + std::to_string(getpid());
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    std::ofstream(path) << "of the QEMU before\n";
    {
        Qemu qemu;
        expect_equal(virgl_renderer_context_create_with_flags(3, venus_capset, 4, "test"), 0, "context_create");
        expect(!content(path).empty(), "a context without a worker leaves it alone");
        GuestContext guest(4, 40);
        expect(content(path).empty(), "with a worker it begins anew: " + content(path));
        std::ofstream(path) << "said since\n";
        GuestContext second(5, 50);
        second.start();
        expect(content(path) == "said since\n", "with the second one it goes on: " + content(path));
        virgl_renderer_context_destroy(3);
    }
    unlink(path.c_str());
}

// What the component appends to, or its process's own lines go to, does not.
void log_for_all() {
    environment();
    const std::string path = "virgl-component-host-log-" + std::to_string(getpid());
    const char *variables[] = {"VIRGL_APIR_LOG_TO_FILE", "APIR_LLAMA_CPP_LOG_TO_FILE"};
    for (const char *variable : variables) setenv(variable, path.c_str(), 1);
    std::ofstream(path) << "of the QEMU before\n";
    {
        Qemu qemu;
        GuestContext guest(3, 30);
    }
    expect(content(path).rfind("of the QEMU before\n", 0) == 0, "the log: " + content(path));
    unlink(path.c_str());
}

// Who reads a named pipe would see the end of the log when it is opened and closed; where nobody does, it is not waited for.
void named_log_of_the_host_library(bool is_read) {
    environment();
    const std::string path = "virgl-component-host-log-" + std::to_string(getpid()) + ".pipe";
    expect_equal(mkfifo(path.c_str(), 0600), 0, "mkfifo");
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    alarm(10);
    const int reader = is_read ? open(path.c_str(), O_RDONLY | O_NONBLOCK) : -1;
    Qemu qemu;
    GuestContext guest(3, 30);
    guest.start();
    // A hangup is told once somebody had it open to write.
    pollfd there{reader, POLLIN, 0};
    const int seen = poll(&there, 1, 0);
    expect(seen == 0, "what a reader sees: " + std::to_string(there.revents));
    close(reader);
    unlink(path.c_str());
}

// Whoever has it open can stop a terminal's output, but for a worker. QEMU, which logs with the lock held that its main thread needs, does not
// wait for it.
void terminal_of_the_log_stopped() {
    environment();
    int ends[2];
    expect_equal(openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr), 0, "openpty");
    const int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    alarm(10);
    std::string by_worker;
    bool stopped = false;
    uint64_t took_ns = 0;
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        guest.start();
        by_worker = guest.ask(FakeCall::stop_terminal);
        stopped = tcflow(STDERR_FILENO, TCOOFF) == 0;
        const uint64_t start_ns = monotonic_ns();
        expect(create_blob(3, 31, uint64_t{20} << 30) != 0, "a blob that is too large");
        took_ns = monotonic_ns() - start_ns;
        tcflow(STDERR_FILENO, TCOON);
        expect(create_blob(3, 31, uint64_t{20} << 30) != 0, "another");
    }
    dup2(before, STDERR_FILENO);
    std::string told;
    char part[4096];
    pollfd there{ends[0], POLLIN, 0};
    while (poll(&there, 1, 100) == 1) {
        const ssize_t size = read(ends[0], part, sizeof part);
        if (size <= 0) break;
        told.append(part, static_cast<size_t>(size));
    }
    expect(by_worker == std::strerror(EPERM), "a worker that stops the terminal: " + by_worker);
    expect(stopped && failures == 0, "what is done by hand");
    expect(took_ns < 1'000'000'000, "a line that cannot be written took " + std::to_string(took_ns) + " ns");
    expect(told.find("1 lines were left out") != std::string::npos && told.find("more than a context may have") != std::string::npos, "the log: " + told);
}

// What a guest can have said as often as it likes does not fill the host's disk.
void much_to_say() {
    environment();
    char path[] = "virgl-component-log-XXXXXX";
    close(mkstemp(path));
    setenv("VIRGL_APIR_LOG_TO_FILE", path, 1);
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        for (uint32_t minor = 0; minor < 2000; ++minor) guest.handshake(protocol_major, 1000 + minor);
    }
    std::ifstream log(path);
    int lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    expect(lines > 400 && lines < 700, "lines of 2000: " + std::to_string(lines));
    unlink(path);
}

// Nor do contexts that come and go, each with its own worker.
void many_with_much_to_say() {
    environment();
    char path[] = "virgl-component-log-XXXXXX";
    close(mkstemp(path));
    setenv("VIRGL_APIR_LOG_TO_FILE", path, 1);
    {
        Qemu qemu;
        for (uint32_t context = 1; context <= 10; ++context) {
            GuestContext guest(context, 100 + context);
            for (uint32_t minor = 0; minor < 300; ++minor) guest.handshake(protocol_major, 1000 + minor);
        }
    }
    std::ifstream log(path);
    int lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    expect(lines > 900 && lines < 1200, "lines of 10 workers, 300 each: " + std::to_string(lines));
    unlink(path);
}

// A library of ours is given the word by which those of all workers count their lines.
void host_libraries_share_their_log() {
    environment();
    Qemu qemu;
    GuestContext first(3, 30);
    first.start();
    GuestContext second(4, 40);
    second.start();
    expect(first.ask(FakeCall::log_word) == "1", "the first worker's library");
    expect(second.ask(FakeCall::log_word) == "2", "the second one's");
}

// So many graphs of a mebibyte, which all lie in the same place, in one command.
std::vector<uint8_t> batch_of(uint32_t count, uint32_t resource) {
    std::vector<uint8_t> bytes(4 + count * (12 + 16));
    Writer writer(bytes.data(), bytes.size());
    write(writer, BatchRequest{count});
    for (uint32_t i = 0; i < count; ++i) {
        write(writer, BatchedCall{0, static_cast<uint32_t>(Call::backend_graph_compute), 12});
        write(writer, BackendGraphComputeRequest{resource, uint64_t{1} << 20});
    }
    expect(!writer.failed(), "a batch");
    bytes.resize(writer.size());
    return bytes;
}

void call_records() {
    environment();
    char folder[] = "virgl-component-test-XXXXXX";
    expect(mkdtemp(folder) != nullptr, "mkdtemp");
    setenv("VIRGL_APIR_CALL_LOG", folder, 1);
    std::string path;
    uint64_t least_ns = 0;
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        guest.start();
        path = std::string(folder) + "/host-3-" + std::to_string(guest.worker()) + ".calls";
        guest.submit(9, 0, {}, 30); // counted, though not answered
        guest.ask(FakeCall::echo, "last");
        std::vector<uint8_t> bytes(4096);
        const auto send = [&](Call call, const auto &request) {
            Writer writer(bytes.data(), bytes.size());
            write(writer, request);
            guest.forward(static_cast<uint32_t>(call), {bytes.data(), bytes.data() + writer.size()});
        };
        send(Call::negotiate, NegotiateRequest{1, 0, 42});
        send(Call::wide_set_tensor, WideSetTensorRequest{1, {}, 30, 0, 1000});
        send(Call::pipe_get_tensor, PipeGetTensorRequest{1, {}, 30, 128, 64, 0, 1000});
        guest.forward(static_cast<uint32_t>(Call::batch), batch_of(2, 30));
        expect_equal(create_blob(3, 31, reply_page_size), 0, "create_blob");
        least_ns = echo_behind_a_nap(guest, 31);
        guest.ask(FakeCall::echo, "very last");
    }
    std::ifstream file(path, std::ios::binary);
    CallLogHeader header{};
    file.read(reinterpret_cast<char *>(&header), sizeof header);
    expect(std::string(header.magic, 8) == "APIRCALL" && header.context == 3 && header.capset == venus_capset, "header");
    expect_equal(header.counted, uint64_t{12}, "counted");
    expect_equal(header.written, uint64_t{12}, "written");
    expect_equal(header.session, uint64_t{42}, "the guest's number");
    CallRecord records[11];
    file.read(reinterpret_cast<char *>(records), sizeof records);
    expect_equal(records[0].status, static_cast<int32_t>(handshake_magic), "handshake's status");
    expect_equal(records[2].call, static_cast<uint32_t>(FakeCall::pid), "call");
    expect_equal(records[2].bytes_out, uint64_t{12}, "bytes out");
    expect_equal(records[2].bytes_in, uint64_t{8}, "bytes in");
    expect_equal(records[3].status, -1, "no reply");
    expect(records[6].bytes_out > 1000 && records[6].bytes_in == 4, "data to the host");
    expect(records[7].bytes_out < 1000 && records[7].bytes_in == 1004, "data to the guest");
    expect_equal(records[8].call, static_cast<uint32_t>(Call::backend_graph_compute), "what a batch is about");
    expect(records[8].bytes_out > size_t{2} << 20 && records[8].bytes_in == 4, "data of all of its calls");
    expect(records[4].queue_ns < 1'000'000'000 && records[4].duration_ns < 1'000'000'000, "times");
    expect(records[9].duration_ns >= nap_ns && records[9].duration_ns < 5'000'000'000, "how long a nap took: " + std::to_string(records[9].duration_ns));
    expect(records[10].queue_ns >= least_ns && records[10].queue_ns < 5'000'000'000, "how long one behind it waited: " + std::to_string(records[10].queue_ns));
    unlink(path.c_str());
    rmdir(folder);
}

// The trace of a context, by rows, in which `body` has its way with a guest.
template <typename Body> std::vector<std::string> traced(Body body) {
    environment();
    char folder[] = "virgl-component-test-XXXXXX";
    expect(mkdtemp(folder) != nullptr, "mkdtemp");
    setenv("VIRGL_APIR_TRACE", folder, 1);
    std::string path;
    {
        Qemu qemu;
        GuestContext guest(3, 30);
        guest.start();
        path = std::string(folder) + "/trace-3-" + std::to_string(guest.worker()) + ".jsonl";
        body(guest);
    }
    std::ifstream file(path);
    std::vector<std::string> rows;
    for (std::string row; std::getline(file, row);) rows.push_back(row);
    unlink(path.c_str());
    rmdir(folder);
    return rows;
}

void traces() {
    const std::vector<std::string> rows = traced([](GuestContext &guest) {
        guest.ask(FakeCall::echo, "hello");
        guest.submit(CommandType::forward, static_cast<uint32_t>(FakeCall::crash));
        guest.wait();
    });
    auto has = [&](size_t row, const std::string &part) { return row < rows.size() && rows[row].find(part) != std::string::npos; };
    expect_equal(rows.size(), size_t{6}, "rows of a trace");
    expect(has(0, "\"ioctl\":\"RESOURCE_CREATE_BLOB\"") && has(0, "\"size\":16384,\"res_handle\":30"), "the reply page");
    expect(has(1, "\"call\":\"HandShake\",\"return_code\":43806,\"reply\":\"0000000002000000\""), "handshake");
    expect(has(2, "\"call\":\"LoadLibrary\",\"return_code\":0"), "load");
    expect(has(4, "\"call\":1001,\"return_code\":4,\"reply\":\"68656c6c6f00\"") && has(4, "\"duration_ns\":"), "echo");
    expect(has(5, "\"call\":1008") && !has(5, "return_code"), "the command that ended the worker");
}

// Data is that of a blob which has as much, or none; a reply what fits where it belongs, whatever a host library says of its length.
void traces_of_what_is_there() {
    constexpr uint32_t page = 4096;
    constexpr int64_t room = reply_page_size - sizeof(uint32_t);
    const std::vector<std::string> rows = traced([&](GuestContext &guest) {
        expect_equal(create_blob(3, 31, page), 0, "create_blob");
        expect_equal(create_blob(3, 32, page), 0, "create_blob");
        std::vector<uint8_t> bytes(4096);
        for (const auto &[resource, size] : {std::pair{31U, page}, {31U, page + 1}, {33U, 1U}}) {
            Writer writer(bytes.data(), bytes.size());
            write(writer, WideSetTensorRequest{1, {}, resource, 0, size});
            guest.forward(static_cast<uint32_t>(Call::wide_set_tensor), {bytes.data(), bytes.data() + writer.size()});
        }
        for (const int64_t claimed : {room, room + 1, int64_t{-1}}) {
            const std::string number = std::to_string(claimed);
            std::vector<uint8_t> text(number.begin(), number.end());
            text.push_back(0);
            expect_equal(guest.forward(static_cast<uint32_t>(FakeCall::claim), text), static_cast<int64_t>(ReturnCode::ok), "a reply of " + number + " bytes");
        }
    });
    const auto size_of = [&](size_t row, const std::string &name) -> int64_t {
        const std::string begins = ",\"" + name + "\":\"";
        const size_t at = row < rows.size() ? rows[row].find(begins) : std::string::npos;
        if (at == std::string::npos) return -1;
        const size_t from = at + begins.size();
        return static_cast<int64_t>(rows[row].find('"', from) - from) / 2;
    };
    expect_equal(rows.size(), size_t{12}, "rows of a trace");
    expect_equal(size_of(6, "data_in"), int64_t{page}, "all of a blob");
    expect_equal(size_of(7, "data_in"), int64_t{-1}, "more than it has");
    expect_equal(size_of(8, "data_in"), int64_t{-1}, "of a blob that is not there");
    expect_equal(size_of(9, "reply"), room, "a reply that takes all of its room");
    expect_equal(size_of(10, "reply"), int64_t{0}, "one that is longer");
    expect_equal(size_of(11, "reply"), int64_t{0}, "one that ends before it begins");
}

// What a guest names over and over does not take memory over and over: there is no more of the trace then, and the commands go on.
void traces_of_too_much() {
    const std::vector<std::string> rows = traced([](GuestContext &guest) {
        expect_equal(create_blob(3, 31, 1 << 20), 0, "create_blob");
        guest.forward(static_cast<uint32_t>(Call::batch), batch_of(5, 31));
        expect(guest.forward(static_cast<uint32_t>(Call::batch), batch_of(66, 31)) >= 0, "the command is answered");
        expect(guest.ask(FakeCall::echo, "on") == "on", "and the next one");
    });
    expect(!rows.empty() && rows.back().find("\"call\":84") != std::string::npos && rows.back().size() > (size_t{10} << 20), "the last row is the small one's");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"commands", commands},
                      {"other_major", other_major},
                      {"load_failures", load_failures},
                      {"short_turns", short_turns}, {"turns_of_another_policy", turns_of_another_policy},
                      {"no_worker_program", no_worker_program},
                      {"worker_of_another_build", worker_of_another_build},
                      {"variables", a_capset_has_variables_of_its_own},
                      {"fences", fences},
                      {"old_qemu", old_qemu},
                      {"blobs", blobs},
                      {"windows_that_are_none", windows_that_are_none},
                      {"passed_on", passed_on},
                      {"too_many_contexts", too_many_contexts},
                      {"too_many_mapped_blobs", too_many_mapped_blobs},
                      {"fences_of_refused_contexts", fences_of_refused_contexts},
                      {"gone_but_for_a_blob", gone_but_for_a_blob},
                      {"reader_of_the_log_gone", reader_of_the_log_gone},
                      {"reader_of_a_named_log_gone", reader_of_a_named_log_gone},
                      {"log_of_the_host_library", log_of_the_host_library}, {"log_for_all", log_for_all},
                      {"named_log_of_the_host_library", [] { named_log_of_the_host_library(true); }},
                      {"named_log_that_nobody_reads", [] { named_log_of_the_host_library(false); }},
                      {"terminal_of_the_log_stopped", terminal_of_the_log_stopped},
                      {"much_to_say", much_to_say},
                      {"many_with_much_to_say", many_with_much_to_say},
                      {"host_libraries_share_their_log", host_libraries_share_their_log},
                      {"call_records", call_records},
                      {"traces", traces},
                      {"traces_of_what_is_there", traces_of_what_is_there},
                      {"traces_of_too_much", traces_of_too_much}},
                     count > 1 ? values[1] : nullptr);
}
