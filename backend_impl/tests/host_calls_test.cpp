// Each call of the host library, good and bad, against ggml's CPU backend in-process.
#include <ggml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <vector>

#include "host/huge_pages.hpp"
#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;
using apir::host::huge_page;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;

bool has_many_cores = false;

} // namespace

// What the host library asks, too: it may use as many processors as a set has room for, where a test says so.
extern "C" int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) noexcept {
    std::memset(set, has_many_cores ? 0xff : 0, size);
    return has_many_cores || syscall(SYS_sched_getaffinity, process, size, set) >= 0 ? 0 : -1;
}

namespace {

void device_calls() {
    auto host = cpu_loopback();
    expect_equal(host->call<DeviceGetDeviceCountReply>(Call::device_get_device_count, DeviceGetDeviceCountRequest{}).count, 1,
                 "device count");
    expect_equal(host->call<DeviceGetCountReply>(Call::device_get_count, DeviceGetCountRequest{}).count, 1, "count");
    expect(host->call<DeviceGetNameReply>(Call::device_get_name, DeviceGetNameRequest{}).name == "CPU", "device name");
    expect(!host->call<DeviceGetDescriptionReply>(Call::device_get_description, DeviceGetDescriptionRequest{}).description.empty(),
           "description");
    expect_equal(host->call<DeviceGetTypeReply>(Call::device_get_type, DeviceGetTypeRequest{}).type,
                 static_cast<uint32_t>(DeviceType::cpu), "type");
    auto memory = host->call<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{});
    expect(memory.total > 0 && memory.free <= memory.total, "memory");
    auto props = host->call<DeviceGetPropsReply>(Call::device_get_props, DeviceGetPropsRequest{});
    expect(props.buffer_from_host_ptr && !props.events, "props of ggml-cpu");
    uint64_t type = device_buffer_type(*host);
    expect(type != 0 && type == device_buffer_type(*host), "the buffer type's handle does not change");
    expect(host->call<BufferTypeGetNameReply>(Call::buffer_type_get_name, BufferTypeGetNameRequest{type}).name == "CPU",
           "buffer type name");
    uint64_t alignment =
        host->call<BufferTypeGetAlignmentReply>(Call::buffer_type_get_alignment, BufferTypeGetAlignmentRequest{type}).alignment;
    expect(alignment >= 16 && (alignment & (alignment - 1)) == 0, "alignment");
    expect(host->call<BufferTypeGetMaxSizeReply>(Call::buffer_type_get_max_size, BufferTypeGetMaxSizeRequest{type}).max_size ==
               UINT64_MAX,
           "no largest");
    expect(!host->call<BufferTypeIsHostReply>(Call::buffer_type_is_host, BufferTypeIsHostRequest{12345}).is_host,
           "is_host is false for any handle");
    // Nobody watches over this process.
    const uint64_t here = host_library_extensions & ~static_cast<uint64_t>(Extension::pipes);
    expect_equal(host->call<NegotiateReply>(Call::negotiate, NegotiateRequest{1, UINT64_MAX, 7}).accepted, here,
                 "its extensions");
    expect_equal(host->call<NegotiateReply>(Call::negotiate, NegotiateRequest{1, 0, 7}).accepted, uint64_t{0}, "those that are offered");
    expect_equal(host->code(Call::negotiate, NegotiateRequest{2, 0, 7}), failed, "another negotiation version");
    std::vector<uint8_t> reply;
    expect_equal(host->raw(23, {}, &reply), 6u, "unknown call");
    expect(reply.empty(), "reply of an unknown call");
    expect_equal(host->raw(UINT32_MAX, {}), 6u, "unknown call");
}

void initialize_errors() {
    struct Expected {
        std::map<std::string, std::string> config;
        InitCode code;
        const char *text;
    };
    const Expected all[] = {
        {{}, InitCode::cannot_open_ggml, "cannot open the GGML library: env var 'APIR_LLAMA_CPP_GGML_LIBRARY_PATH' not defined\n"},
        {{{"ggml.library.path", "/no/such.so"}}, InitCode::cannot_open_ggml, "cannot open the GGML library '/no/such.so': "},
        {{{"ggml.library.path", GGML_CPU_LIBRARY}, {"ggml.library.reg", "nothing"}},
         InitCode::ggml_symbols,
         "symbol 'nothing' not found"},
        {{{"ggml.library.path", FAKE_GGML}, {"ggml.library.reg", "fake_no_registry"}},
         InitCode::registration_failed,
         "gave no backend"},
        {{{"ggml.library.path", FAKE_GGML}, {"ggml.library.reg", "fake_other_version"}},
         InitCode::registration_failed,
         "is of ggml's backend API 2, not 3"},
        {{{"ggml.library.path", FAKE_GGML}, {"ggml.library.reg", "fake_no_device"}}, InitCode::no_device, "offers no device"},
        {{{"ggml.library.path", FAKE_GGML}, {"ggml.library.reg", "fake_broken_device"}},
         InitCode::backend_init_failed,
         "cannot be initialised"},
    };
    std::string path = "host-calls-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    for (const Expected &each : all) {
        Loopback host(1, each.config);
        expect_equal(host.initialize(), static_cast<uint32_t>(each.code), each.text);
        expect_equal(host.raw(0, {}), failed, "a call after a failed initialisation");
        std::ostringstream log;
        log << std::ifstream(path).rdbuf();
        std::string wanted = "[error] ggml-virtgpu-backend: apir_backend_initialize: ";
        // Truncated at each start, so that the line is the only one.
        expect(log.str().rfind(wanted, 0) == 0, "log begins with: " + log.str());
        expect(log.str().find(each.text) != std::string::npos, "log lacks: " + std::string(each.text) + " in " + log.str());
    }
    unlink(path.c_str());
}

// Of more threads than ggml says it has at most, the 32-bit counters of its kernels wrap around.
void threads_on_many_cores() {
    has_many_cores = true;
    std::string path = "host-calls-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    for (const char *wish : {"", "512", "513", "1024", "none"}) {
        Loopback host(1, {{"ggml.library.path", GGML_CPU_LIBRARY}, {"ggml.threads", wish}});
        expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        std::ostringstream log;
        log << std::ifstream(path).rdbuf();
        expect(log.str().find("), 512 threads\n") != std::string::npos, "ggml.threads '" + std::string(wish) + "': " + log.str());
    }
    unlink(path.c_str());
}

// A tensor's name is the guest's: in the host's log it makes no lines of its own, and steers no terminal (a byte of C1 alone may).
void names_in_the_log() {
    std::string path = "host-calls-test-" + std::to_string(getpid()) + ".log";
    setenv("APIR_LLAMA_CPP_LOG_TO_FILE", path.c_str(), 1);
    auto host = cpu_loopback(1);
    Graph graph;
    graph.tensors = {f32_tensor(1, 0, 0, 8)};
    graph.tensors[0].op = GGML_OP_SQR, graph.tensors[0].src[0] = 1;
    std::strcpy(graph.tensors[0].name, "a\n[error] \x1b[2Jb\xc2\x9b" "2J\x9b" "c");
    graph.nodes = {1};
    std::vector<uint8_t> bytes = Loopback::encoded(graph);
    std::copy(bytes.begin(), bytes.end(), host->resource(2).data());
    expect_equal(host->code(Call::backend_graph_compute, BackendGraphComputeRequest{2, bytes.size()}), failed, "a node that is its own source");
    std::ostringstream log;
    log << std::ifstream(path).rdbuf();
    expect(log.str().find("a?[error] ?[2Jb??2J?c") != std::string::npos, "the name in one line: " + log.str());
    unlink(path.c_str());
}

void several_contexts() {
    auto first = cpu_loopback(1);
    auto second = cpu_loopback(2);
    expect_equal(first->initialize(), static_cast<uint32_t>(InitCode::already_initialised), "the same context twice");
    uint64_t buffer = new_buffer(*first, 64);
    expect_equal(second->code(Call::buffer_clear, BufferClearRequest{buffer, 0}), failed, "a handle of another context");
    second.reset();
    expect_equal(first->code(Call::buffer_clear, BufferClearRequest{buffer, 0}), ok, "the first context lives on");
    first->deinit();
    expect_equal(first->code(Call::buffer_clear, BufferClearRequest{buffer, 0}), failed, "a call after deinit");
    expect_equal(first->initialize(), static_cast<uint32_t>(InitCode::success), "the same context anew");
}

void handles() {
    auto host = cpu_loopback();
    uint64_t type = device_buffer_type(*host);
    uint64_t buffer = new_buffer(*host, 4096);
    for (uint64_t forged :
         {uint64_t{0}, type, buffer + 1, buffer ^ (uint64_t{1} << 56), UINT64_MAX, reinterpret_cast<uint64_t>(&type)}) {
        std::string what = " with handle " + std::to_string(forged);
        expect_equal(host->code(Call::buffer_get_base, BufferGetBaseRequest{forged}), failed, "get_base" + what);
        expect_equal(host->code(Call::buffer_clear, BufferClearRequest{forged, 0}), failed, "clear" + what);
        expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{forged}), failed, "free" + what);
        TensorRecord tensor = f32_tensor(1, forged, 0, 4);
        expect_equal(host->code(Call::buffer_set_tensor, BufferSetTensorRequest{forged, tensor, 2, 0, 16}), failed, "set" + what);
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{forged, tensor, 2, 0, 16}), failed, "get" + what);
        expect_equal(host->code(Call::buffer_cpy_tensor, BufferCpyTensorRequest{forged, tensor, tensor}), failed, "copy" + what);
    }
    for (uint64_t forged : {uint64_t{0}, buffer, type + 1, UINT64_MAX}) {
        std::string what = " with handle " + std::to_string(forged);
        expect_equal(host->code(Call::buffer_type_get_name, BufferTypeGetNameRequest{forged}), failed, "name" + what);
        expect_equal(host->code(Call::buffer_type_get_alignment, BufferTypeGetAlignmentRequest{forged}), failed,
                     "alignment" + what);
        expect_equal(host->code(Call::buffer_type_get_max_size, BufferTypeGetMaxSizeRequest{forged}), failed, "max size" + what);
        expect_equal(host->code(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{forged, 16}), failed, "alloc" + what);
        expect_equal(host->code(Call::buffer_type_get_alloc_size, BufferTypeGetAllocSizeRequest{forged, OpRecord{}}), failed,
                     "alloc size" + what);
    }
    expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{buffer}), ok, "free");
    expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{buffer}), failed, "free twice");
    expect(new_buffer(*host, 4096) != buffer, "a handle is never given twice");
}

void bases() {
    auto host = cpu_loopback();
    uint64_t alignment = 0;
    alignment = host->call<BufferTypeGetAlignmentReply>(Call::buffer_type_get_alignment,
                                                        BufferTypeGetAlignmentRequest{device_buffer_type(*host)})
                    .alignment;
    uint64_t previous_end = 0;
    for (int i = 0; i < 100; ++i) {
        uint64_t base = host->call<BufferGetBaseReply>(Call::buffer_get_base, BufferGetBaseRequest{new_buffer(*host, 5000)}).base;
        expect(base != 0 && base % alignment == 0, "a base is aligned and not 0");
        expect(base >= previous_end, "buffers overlap in the guest's eyes");
        previous_end = base + 5000;
#ifndef APIR_SANITIZED // a sanitizer maps all of the address space
        // Made up: an address of this process would be mapped.
        unsigned char resident = 0;
        expect(mincore(reinterpret_cast<void *>(base / 4096 * 4096), 4096, &resident) != 0, "a base is an address of the host's");
#endif
    }
}

void allocation() {
    auto host = cpu_loopback();
    uint64_t type = device_buffer_type(*host);
    for (uint64_t size : {uint64_t{0}, UINT64_MAX, uint64_t{1} << 60}) {
        auto reply =
            host->call<BufferTypeAllocBufferReply>(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{type, size});
        expect_equal(reply.buffer, uint64_t{0}, "a buffer of " + std::to_string(size) + " bytes");
        auto both = host->call<AllocWithBaseReply>(Call::alloc_with_base, AllocWithBaseRequest{type, size});
        expect(both.buffer == 0 && both.base == 0, "a buffer with a base of " + std::to_string(size) + " bytes");
    }
    const auto made = host->call<AllocWithBaseReply>(Call::alloc_with_base, AllocWithBaseRequest{type, 4096});
    expect(made.buffer != 0 && made.base != 0, "a buffer and its base");
    expect_equal(host->call<BufferGetBaseReply>(Call::buffer_get_base, BufferGetBaseRequest{made.buffer}).base, made.base, "the same as it is told alone");
    std::vector<uint8_t> request = Loopback::encoded(BufferTypeAllocBufferRequest{type, 64});
    expect_equal(host->raw(14, request, nullptr, 4), failed, "a reply that has no room");
    for (size_t size = 0; size < request.size(); ++size)
        expect_equal(host->raw(14, {request.begin(), request.begin() + static_cast<std::ptrdiff_t>(size)}), failed,
                     "a truncated request");
}

// KiB of this process's memory for which huge pages are asked.
size_t wished_kib() {
    std::ifstream mappings("/proc/self/smaps");
    size_t size = 0;
    size_t sum = 0;
    for (std::string line; std::getline(mappings, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "Size:") words >> size;
        if (word != "VmFlags:") continue;
        while (words >> word)
            if (word == "hg") sum += size;
    }
    return sum;
}

// What is large gets them, as far as the whole ones go.
void huge_pages() {
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
        std::printf("    not looked for: the kernel was made without huge pages\n");
        return;
    }
    auto host = cpu_loopback();
    const size_t before = wished_kib();
    expect(new_buffer(*host, (size_t{2} << 20) - 4096) != 0, "a small buffer");
    expect_equal(wished_kib(), before, "a buffer that no huge page fits into");
    const uint64_t large = new_buffer(*host, size_t{9} << 20);
    const size_t wished = wished_kib() - before;
    expect(wished == size_t{6} << 10 || wished == size_t{8} << 10, std::to_string(wished) + " KiB of a buffer of 9 MiB");
    host->call<BufferFreeBufferReply>(Call::buffer_free_buffer, BufferFreeBufferRequest{large});
#ifndef APIR_SANITIZED // a sanitizer keeps what is freed
    expect_equal(wished_kib(), before, "a buffer that is gone");
#endif
}

// KiB of the resource that lie in huge pages.
size_t gathered_kib(const Resource &resource) {
    std::ifstream mappings("/proc/self/smaps");
    const uintptr_t begin = reinterpret_cast<uintptr_t>(resource.data());
    const uintptr_t end = begin + resource.size();
    uintptr_t at = 0;
    size_t sum = 0;
    for (std::string line; std::getline(mappings, line);) {
        unsigned long long from = 0;
        unsigned long long to = 0;
        unsigned long kib = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) at = from;
        if (std::sscanf(line.c_str(), "ShmemPmdMapped: %lu kB", &kib) == 1 && at >= begin && at < end) sum += kib;
    }
    return sum;
}

// Memory that is shared with the guest is put into them at once: all that whole ones fit into, with what it holds.
void gathered_pages() {
    auto host = cpu_loopback();
    Resource &probe = host->add(8, size_t{4} << 20);
    *probe.data() = 1;
    if (madvise(probe.data(), huge_page, MADV_COLLAPSE) != 0) {
        std::printf("    not looked for: the kernel gathers no huge pages: %s\n", std::strerror(errno));
        return;
    }
    if (gathered_kib(probe) != huge_page >> 10) {
        std::printf("    not looked for: the kernel has huge pages here without being asked\n");
        return;
    }
    std::ifstream meminfo("/proc/meminfo");
    unsigned long total = 0;
    unsigned long available = 0;
    for (std::string line; std::getline(meminfo, line);) {
        std::sscanf(line.c_str(), "MemTotal: %lu kB", &total);
        std::sscanf(line.c_str(), "MemAvailable: %lu kB", &available);
    }
    if (available < total / 2) {
        std::printf("    not looked for: others have more than half of the memory\n");
        return;
    }
    Resource &large = host->add(9, (size_t{41} << 20) + 4096); // more than at once; most of it is not there yet
    for (size_t at = 0; at < size_t{5} << 20; at += 4096) large.data()[at] = static_cast<uint8_t>(at >> 12);
    auto from_ptr = [&](size_t size) {
        return host->call<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{9, size, size}).buffer;
    };
    expect_equal(gathered_kib(large), size_t{0}, "nobody asked yet");
    expect(from_ptr((size_t{4} << 20) - 4096) != 0, "a buffer of less than two");
    expect_equal(gathered_kib(large), size_t{0}, "less than two are not worth it");
    expect(from_ptr(large.size()) != 0, "a large buffer");
    // A page that is in use at this moment is left out: it is there the next time.
    for (int again = 0; again < 10 && gathered_kib(large) < size_t{40} << 10; ++again) from_ptr(large.size());
    expect_equal(gathered_kib(large), size_t{40} << 10, "KiB of a buffer of 41 MiB in huge pages");
    bool same = true;
    for (size_t at = 0; at < large.size(); at += 4096) same = same && large.data()[at] == static_cast<uint8_t>(at < size_t{5} << 20 ? at >> 12 : 0);
    expect(same, "what was there is there");
}

// Their sum is bounded by what the device has, or by what the host's user allows. What is freed can be had again.
void allocation_in_sum() {
#ifdef __SANITIZE_THREAD__ // which takes 16 s to follow a buffer of all memory
    const std::vector<const char *> limits{"1048576"};
#else
    const std::vector<const char *> limits{"", "1048576", "nothing"};
#endif
    for (const char *allowed : limits) {
        std::map<std::string, std::string> config = cpu_config();
        config["ggml.memory"] = allowed;
        Loopback host(1, config);
        expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        bool is_number = std::strcmp(allowed, "1048576") == 0;
        uint64_t limit = is_number ? 1048576 : host.call<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{}).total;
        uint64_t type = device_buffer_type(host);
        auto allocate = [&](uint64_t size) {
            return host.call<BufferTypeAllocBufferReply>(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{type, size}).buffer;
        };
        std::string where = " with ggml.memory '" + std::string(allowed) + "'";
        expect_equal(allocate(limit + 1), uint64_t{0}, "more than all at once" + where);
        uint64_t most = limit / 5 * 3;
        const auto untold = Loopback::encoded(BufferTypeAllocBufferRequest{type, most});
        expect_equal(host.raw(14, untold, nullptr, 4), failed, "a buffer that cannot be told" + where);
        uint64_t first = allocate(most);
        expect(first != 0, "most of it" + where);
        expect_equal(allocate(most), uint64_t{0}, "more in sum than there is" + where);
        uint64_t rest = allocate(limit - most);
        expect(rest != 0, "the rest" + where);
        expect_equal(allocate(1), uint64_t{0}, "a byte more" + where);
        // Those are not the device's bytes.
        host.add(9, 8192);
        expect(host.call<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{9, 8192, 8192}).buffer != 0,
               "a buffer in the guest's own memory" + where);
        expect_equal(host.code(Call::buffer_free_buffer, BufferFreeBufferRequest{first}), ok, "free" + where);
        expect(allocate(most) != 0, "most of it once more" + where);
    }
}

void set_and_get() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 1024);
    uint8_t *data = host->resource(2).data();
    for (int i = 0; i < 256; ++i) data[i] = static_cast<uint8_t>(i);
    TensorRecord tensor = f32_tensor(1, buffer, 512, 64);
    expect_equal(host->code(Call::buffer_clear, BufferClearRequest{buffer, 0xee}), ok, "clear");
    expect_equal(host->code(Call::buffer_set_tensor, BufferSetTensorRequest{buffer, tensor, 2, 16, 32}), ok, "set a part");
    std::memset(data, 0, 256);
    expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 2, 0, 256}), ok, "get all");
    bool right = true;
    for (int i = 0; i < 256; ++i) right = right && data[i] == (i >= 16 && i < 48 ? i - 16 : 0xee);
    expect(right, "what was set is got, the rest is as cleared");
    expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 2, 256, 0}), ok, "nothing at the end");
    struct Bad {
        const char *what;
        uint32_t resource;
        uint64_t offset, size, at;
    };
    const uint64_t huge = UINT64_MAX;
    for (const Bad &bad : {Bad{"beyond the tensor", 2, 225, 32, 512}, Bad{"offset wraps", 2, huge, 32, 512},
                           Bad{"size wraps", 2, 16, huge, 512}, Bad{"no such resource", 77, 0, 16, 512},
                           Bad{"tensor leaves the buffer", 2, 0, 16, 772}, Bad{"data wraps", 2, 0, 16, huge - 8}}) {
        TensorRecord moved = tensor;
        moved.data = bad.at;
        expect_equal(host->code(Call::buffer_set_tensor, BufferSetTensorRequest{buffer, moved, bad.resource, bad.offset, bad.size}),
                     failed, bad.what);
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, moved, bad.resource, bad.offset, bad.size}),
                     failed, bad.what);
    }
    host->add(3, 8);
    expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 3, 0, 9}), failed,
                 "a resource that is too small");
    for (uint32_t type : {4u, 5u, 31u, uint32_t{GGML_TYPE_COUNT}, 1000u, UINT32_MAX}) {
        TensorRecord odd = tensor;
        odd.type = type;
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, odd, 2, 0, 4}), failed,
                     "type " + std::to_string(type));
    }
    TensorRecord partial = tensor;
    partial.type = 2; // q4_0: blocks of 32
    partial.ne[0] = 33;
    expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, partial, 2, 0, 4}), failed, "half a block");
    TensorRecord wide = tensor;
    std::fill(std::begin(wide.ne), std::end(wide.ne), UINT32_MAX);
    expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, wide, 2, 0, 4}), failed,
                 "dimensions that overflow");
}

// Whatever the process had in its memory before.
void new_buffers_are_zeros() {
    auto host = cpu_loopback();
    for (uint64_t size : {64, 512, 6000, 100000}) {
        uint64_t handles[32];
        for (uint64_t &handle : handles) {
            handle = new_buffer(*host, size);
            expect_equal(host->code(Call::buffer_clear, BufferClearRequest{handle, 0x5a}), ok, "clear");
        }
        for (uint64_t handle : handles) expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{handle}), ok, "free");
        size_t left_over = 0;
        for (int i = 0; i < 32; ++i) {
            const uint64_t handle = new_buffer(*host, size);
            expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{handle, f32_tensor(1, handle, 0, static_cast<uint32_t>(size / 4)), 2, 0, size}), ok, "get");
            const uint8_t *data = host->resource(2).data();
            left_over += static_cast<size_t>(std::count_if(data, data + size, [](uint8_t byte) { return byte != 0; }));
        }
        expect_equal(left_over, size_t{0}, "bytes of freed buffers in new ones of " + std::to_string(size));
    }
}

// malloc gives a large buffer what it has before it asks the kernel: two neighbours, freed, that lie in front of another one.
void new_large_buffers_are_zeros() {
    auto host = cpu_loopback();
    constexpr uint64_t mib = uint64_t{1} << 20;
    auto freed = [&](uint64_t handle) {
        expect_equal(host->code(Call::buffer_clear, BufferClearRequest{handle, 0x5a}), ok, "clear");
        expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{handle}), ok, "free");
    };
    freed(new_buffer(*host, 31 * mib)); // from now on malloc has such sizes itself
    for (uint64_t half : {2 * mib, 20 * mib}) {
        const uint64_t first = new_buffer(*host, half);
        const uint64_t second = new_buffer(*host, half);
        const uint64_t behind = new_buffer(*host, 4096);
        freed(second);
        freed(first);
        const uint64_t size = half + half * 3 / 4;
        const uint64_t handle = new_buffer(*host, size);
        size_t left_over = 0;
        for (uint64_t at = 0; at < size; at += mib) {
            const uint64_t n = std::min(mib, size - at);
            expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{handle, f32_tensor(1, handle, 0, static_cast<uint32_t>(size / 4)), 2, at, n}), ok, "get");
            const uint8_t *data = host->resource(2).data();
            left_over += static_cast<size_t>(std::count_if(data, data + n, [](uint8_t byte) { return byte != 0; }));
        }
        expect_equal(left_over, size_t{0}, "bytes of freed buffers in a new one of " + std::to_string(size));
        freed(handle);
        freed(behind);
    }
}

void copy_between_tensors() {
    auto host = cpu_loopback();
    uint64_t from = new_buffer(*host, 256);
    uint64_t to = new_buffer(*host, 256);
    expect_equal(host->code(Call::buffer_clear, BufferClearRequest{from, 7}), ok, "clear");
    expect_equal(host->code(Call::buffer_clear, BufferClearRequest{to, 0}), ok, "clear");
    auto copied = [&](const TensorRecord &source, const TensorRecord &destination) {
        return host->call<BufferCpyTensorReply>(Call::buffer_cpy_tensor, BufferCpyTensorRequest{to, source, destination}).copied;
    };
    expect(copied(f32_tensor(1, from, 0, 16), f32_tensor(2, to, 64, 16)), "copy");
    expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{to, f32_tensor(2, to, 0, 64), 2, 0, 256}), ok, "get");
    const uint8_t *data = host->resource(2).data();
    expect(data[63] == 0 && data[64] == 7 && data[127] == 7 && data[128] == 0, "only the destination is written");
    expect(!copied(f32_tensor(1, 999, 0, 16), f32_tensor(2, to, 64, 16)), "a foreign source");
    expect(!copied(f32_tensor(1, from, 0, 8), f32_tensor(2, to, 64, 16)), "another shape");
    expect(!copied(f32_tensor(1, to, 0, 32), f32_tensor(2, to, 64, 32)), "overlapping");
    expect(copied(f32_tensor(1, to, 64, 16), f32_tensor(2, to, 64, 16)), "onto itself");
    auto code = [&](const TensorRecord &source, const TensorRecord &destination) {
        return host->code(Call::buffer_cpy_tensor, BufferCpyTensorRequest{to, source, destination});
    };
    expect_equal(code(f32_tensor(1, from, 240, 16), f32_tensor(2, to, 64, 16)), failed, "a source beyond its buffer");
    expect_equal(code(f32_tensor(1, from, 0, 16), f32_tensor(2, to, 200, 16)), failed, "a destination beyond its buffer");
}

// Two buffers may lie in one resource.
void copy_between_buffers_of_one_resource() {
    auto host = cpu_loopback();
    host->add(9, 8192);
    auto shared = [&] { return host->call<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{9, 8192, 8192}).buffer; };
    const uint64_t from = shared(), to = shared();
    auto copied = [&](uint64_t at, uint64_t to_at) {
        const TensorRecord source = f32_tensor(1, from, at, 256), destination = f32_tensor(2, to, to_at, 256);
        return host->call<BufferCpyTensorReply>(Call::buffer_cpy_tensor, BufferCpyTensorRequest{to, source, destination}).copied;
    };
    expect(!copied(0, 4) && !copied(1020, 0), "overlapping");
    expect(copied(64, 64), "onto itself");
    expect(copied(0, 1024), "side by side");
}

void shared_buffers() {
    auto host = cpu_loopback();
    Resource &blob = host->add(9, 8192);
    DeviceBufferFromPtrRequest request{9, 8192, 8192};
    auto made = host->call<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, request);
    expect(made.buffer != 0 && made.buft != 0, "a buffer in a resource");
    expect_equal(host->code(Call::buffer_clear, BufferClearRequest{made.buffer, 0x5a}), ok, "clear");
    expect(blob.data()[0] == 0x5a && blob.data()[8191] == 0x5a, "the resource is the buffer");
    for (uint64_t at : {uint64_t{0}, uint64_t{60}, uint64_t{64}}) {
        TensorRecord tensor = f32_tensor(1, made.buffer, at, 16);
        uint32_t wanted = at == 64 ? ok : failed;
        expect_equal(host->code(Call::buffer_set_tensor, BufferSetTensorRequest{made.buffer, tensor, 9, 0, 64}), wanted, "bytes onto themselves");
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{made.buffer, tensor, 9, 0, 64}), wanted, "bytes out of themselves");
        tensor = f32_tensor(1, made.buffer, 0, 64);
        expect_equal(host->code(Call::buffer_set_tensor, BufferSetTensorRequest{made.buffer, tensor, 9, at, 64}), wanted, "part of a tensor onto itself");
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{made.buffer, tensor, 9, at, 64}), wanted, "part of one out of itself");
    }
    expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{made.buffer}), ok,
                 "free of a buffer that owns no memory");
    expect_equal(host->code(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{9, 8193, 8193}), failed,
                 "more than the resource has");
    expect_equal(host->code(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{9, UINT64_MAX, 1}), failed, "much more");
    expect_equal(host->code(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{10, 16, 16}), failed, "no such resource");
    expect_equal(host->code(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{9, 0, 0}), failed, "no bytes");
    // Left to deinit: that must cope with it too.
    host->call<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, request);
}

// With a component that tells no sizes the memory map is the bound.
void mapped_bound() {
    Loopback host(1, cpu_config(), false);
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
    uint64_t buffer = new_buffer(host, 1 << 16);
    host.add(9, 8192);
    TensorRecord tensor = f32_tensor(1, buffer, 0, 1 << 14);
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 9, 0, 8192}), ok,
                 "up to the end of the mapping");
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 9, 0, 8193}), failed,
                 "beyond the mapping");
    host.add(10, 8192 + 4096);
    host.resource(10).begin_a_page_later();
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 10, 0, 8192}), ok, "up to the end of one that others lie in");
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 10, 0, 8193}), failed, "beyond that");
}

// A guest may free a resource and have a smaller one by the same number, which comes to lie at the same address.
void mapped_bound_again() {
    Loopback host(1, cpu_config(), false);
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
    uint64_t buffer = new_buffer(host, 1 << 16);
    TensorRecord tensor = f32_tensor(1, buffer, 0, 1 << 14);
    Resource &resource = host.add(9, 8192);
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 9, 0, 8192}), ok, "all of the larger one");
    resource.make_again(4096);
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 9, 0, 8192}), failed, "as much of the smaller one");
    expect_equal(host.code(Call::buffer_set_tensor, BufferSetTensorRequest{buffer, tensor, 9, 0, 4097}), failed, "a byte more than that has");
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 9, 0, 4096}), ok, "all of the smaller one");
    resource.make_again(8192);
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 9, 0, 8192}), ok, "all of one that is larger again");
}

RawTensor raw_f32(int64_t n) {
    RawTensor tensor;
    tensor.ne[0] = n;
    tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
    tensor.nb[0] = 4;
    tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = static_cast<uint64_t>(4 * n);
    return tensor;
}

void ops_in_line() {
    auto host = cpu_loopback();
    auto supports = [&](const OpRecord &op) {
        return host->call<DeviceSupportsOpReply>(Call::device_supports_op, DeviceSupportsOpRequest{op}).supported;
    };
    OpRecord add;
    add.tensor = raw_f32(4);
    add.tensor.op = GGML_OP_ADD;
    // Guest pointers, which must never be followed.
    add.tensor.src[0] = 0x1000;
    add.tensor.src[1] = 0xdeadbeef;
    add.src[0] = add.src[1] = raw_f32(4);
    for (RawTensor *each : {&add.tensor, &add.src[0], &add.src[1]}) each->data = each->extra = each->buffer = 0x7f0000001000;
    expect(supports(add), "ADD");
    OpRecord half = add;
    half.tensor.src[1] = 0;
    expect(!supports(half), "ADD of one source");
    OpRecord custom = add;
    custom.tensor.op = GGML_OP_MAP_CUSTOM1;
    expect(!supports(custom), "an op that carries a function pointer");
    OpRecord unary = add;
    unary.tensor.op = GGML_OP_UNARY;
    unary.tensor.op_params[0] = 9999;
    expect(!supports(unary), "a unary op that there is not");
    OpRecord viewed = add;
    viewed.tensor.view_src = 0x2000;
    viewed.view_src = raw_f32(4);
    expect(supports(viewed), "ADD into a view");
    uint64_t type = device_buffer_type(*host);
    OpRecord plain;
    plain.tensor = raw_f32(32);
    plain.tensor.type = GGML_TYPE_Q4_0;
    plain.tensor.nb[0] = 18;
    plain.tensor.nb[1] = plain.tensor.nb[2] = plain.tensor.nb[3] = 18;
    auto size = [&](const OpRecord &op) {
        return host->call<BufferTypeGetAllocSizeReply>(Call::buffer_type_get_alloc_size, BufferTypeGetAllocSizeRequest{type, op})
            .size;
    };
    expect_equal(size(plain), uint64_t{18}, "alloc size of a q4_0 block");
    expect_equal(size(half), uint64_t{16}, "alloc size of an op without its sources");
    for (int field = 0; field < 4; ++field) {
        OpRecord bad = add;
        if (field == 0) bad.src[1].ne[2] = -1;
        if (field == 1) bad.tensor.type = 99;
        if (field == 2) bad.tensor.op = GGML_OP_COUNT;
        if (field == 3) bad.src[0].nb[3] = UINT64_MAX;
        // No error, which would be one of calls in the same command, too.
        expect_equal(host->code(Call::device_supports_op, DeviceSupportsOpRequest{bad}), ok, "bad op " + std::to_string(field));
        expect(!supports(bad), "bad op " + std::to_string(field));
    }
    std::vector<uint8_t> bytes = Loopback::encoded(DeviceSupportsOpRequest{add});
    for (size_t cut = 0; cut < bytes.size(); ++cut)
        expect_equal(host->raw(6, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut)}), failed, "a truncated op");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"device_calls", device_calls},
                      {"initialize_errors", initialize_errors},
                      {"threads_on_many_cores", threads_on_many_cores},
                      {"names_in_the_log", names_in_the_log}, {"several_contexts", several_contexts},
                      {"handles", handles},
                      {"bases", bases},
                      {"allocation", allocation}, {"huge_pages", huge_pages}, {"gathered_pages", gathered_pages}, {"allocation_in_sum", allocation_in_sum},
                      {"set_and_get", set_and_get},
                      {"new_buffers_are_zeros", new_buffers_are_zeros},
                      {"new_large_buffers_are_zeros", new_large_buffers_are_zeros},
                      {"copy_between_tensors", copy_between_tensors},
                      {"one_resource", copy_between_buffers_of_one_resource},
                      {"shared_buffers", shared_buffers},
                      {"mapped_bound", mapped_bound}, {"mapped_bound_again", mapped_bound_again},
                      {"ops_in_line", ops_in_line}},
                     count > 1 ? values[1] : nullptr);
}
