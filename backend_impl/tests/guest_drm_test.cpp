// The one file that does ioctls, before a kernel that is made up: what it asks for, what it refuses, and that it leaves nothing behind.
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <drm/drm.h>
#include <drm/virtgpu_drm.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/drm_device.hpp"
#include "guest/emulated.hpp"
#include "guest/forked.hpp"
#include "guest/reply_wait.hpp"
#include "guest_fake.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

constexpr size_t granularity = blob_granularity;

// What a kernel answers, and what it was asked.
struct Kernel {
    std::string driver = "virtio_gpu";
    int version = 0;
    std::set<uint64_t> lacks; // features
    unsigned long fails = 0;  // this request
    int error = ENOSPC;       // of what fails
    Clock::duration closing{}; // how long a closed object keeps its room
    Clock::time_point full_until = Clock::time_point::min();
    uint64_t offset = 0;      // of what is mapped

    int asked = 0;
    bool interrupted = false; // the request before this one
    std::map<uint64_t, uint64_t> context;
    std::map<uint32_t, drm_virtgpu_resource_create_blob> objects; // by handle
    drm_virtgpu_get_caps caps{};
    std::vector<drm_virtgpu_execbuffer> submissions;
    std::vector<std::vector<uint32_t>> named; // objects, in each
};
Kernel kernel;

template <typename T> T *at(uint64_t address) { return reinterpret_cast<T *>(static_cast<uintptr_t>(address)); }

void tell_version(drm_version &version) {
    version.version_major = kernel.version;
    std::memcpy(version.name, kernel.driver.data(), std::min(kernel.driver.size(), static_cast<size_t>(version.name_len)));
}

void begin_context(const drm_virtgpu_context_init &init) {
    for (uint32_t i = 0; i < init.num_params; ++i) {
        const auto &parameter = at<const drm_virtgpu_context_set_param>(init.ctx_set_params)[i];
        kernel.context[parameter.param] = parameter.value;
    }
}

bool create(drm_virtgpu_resource_create_blob &blob) {
    if (Clock::now() < kernel.full_until) return false;
    blob.bo_handle = static_cast<uint32_t>(kernel.objects.size()) + 7;
    blob.res_handle = blob.bo_handle + 100;
    kernel.objects[blob.bo_handle] = blob;
    return true;
}

bool close_object(const drm_gem_close &object) {
    if (kernel.closing.count() != 0) kernel.full_until = Clock::now() + kernel.closing;
    return kernel.objects.erase(object.handle) == 1;
}

void submit(const drm_virtgpu_execbuffer &submission) {
    kernel.submissions.push_back(submission);
    const auto *named = at<const uint32_t>(submission.bo_handles);
    kernel.named.emplace_back(named, named + submission.num_bo_handles);
}

bool carry_out(unsigned long request, void *about) {
    switch (request) {
    case DRM_IOCTL_VERSION: tell_version(*static_cast<drm_version *>(about)); return true;
    case DRM_IOCTL_VIRTGPU_GETPARAM: {
        const auto &parameter = *static_cast<drm_virtgpu_getparam *>(about);
        *at<int>(parameter.value) = kernel.lacks.count(parameter.param) == 0 ? 1 : 0;
        return true;
    }
    case DRM_IOCTL_VIRTGPU_GET_CAPS: kernel.caps = *static_cast<drm_virtgpu_get_caps *>(about); return true;
    case DRM_IOCTL_VIRTGPU_CONTEXT_INIT: begin_context(*static_cast<drm_virtgpu_context_init *>(about)); return true;
    case DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB: return create(*static_cast<drm_virtgpu_resource_create_blob *>(about));
    case DRM_IOCTL_VIRTGPU_MAP: static_cast<drm_virtgpu_map *>(about)->offset = kernel.offset; return true;
    case DRM_IOCTL_GEM_CLOSE: return close_object(*static_cast<drm_gem_close *>(about));
    case DRM_IOCTL_VIRTGPU_EXECBUFFER: submit(*static_cast<drm_virtgpu_execbuffer *>(about)); return true;
    default: return false;
    }
}

} // namespace

// In place of the C library's, for all of this program. Each request is cut off once before it is carried out.
extern "C" __attribute__((visibility("default"))) int ioctl(int, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void *about = va_arg(arguments, void *);
    va_end(arguments);
    ++kernel.asked;
    kernel.interrupted = !kernel.interrupted;
    errno = kernel.interrupted ? (kernel.asked % 4 == 1 ? EINTR : EAGAIN) : kernel.error;
    if (kernel.interrupted || request == kernel.fails || !carry_out(request, about)) return -1;
    return 0;
}

// Then submissions name an object.
bool apir::guest::names_itself_emulated() { return true; }

namespace {

// A file that can be mapped, as a render node can.
const std::string &node() {
    static const int file = memfd_create("node", 0);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    expect(ftruncate(file, static_cast<off_t>(64 * granularity)) == 0, "a file in the place of a node");
    return path;
}

int next_file() {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(file);
    return file;
}

bool is_mapped(void *memory) {
    unsigned char there = 0;
    return mincore(memory, 4096, &there) == 0;
}

void only_devices_that_have_it_all_are_taken() {
    const int free = (node(), next_file());
    auto refused = [&](const Kernel &as, const std::string &why) {
        kernel = as;
        DrmDevice device;
        const Status status = device.open(node());
        expect(!status.ok() && status.text().find(why) != std::string::npos, why + ": " + (status.ok() ? "taken" : status.text()));
        expect(next_file() == free, why + ": its file stays open");
    };
    Kernel other;
    other.driver = "virtio_gpu_too";
    refused(other, "belongs to the driver virtio_gpu_too, not virtio_gpu");
    other = {};
    other.version = 1;
    refused(other, "has version 1 of its driver; known is 0");
    other = {};
    other.fails = DRM_IOCTL_VERSION;
    refused(other, "is not a DRM device: No space left on device");
    const std::pair<uint64_t, const char *> features[] = {
        {VIRTGPU_PARAM_3D_FEATURES, "2-D only"}, {VIRTGPU_PARAM_RESOURCE_BLOB, "no blob resources"}, {VIRTGPU_PARAM_HOST_VISIBLE, "no host-visible window"},
        {VIRTGPU_PARAM_CONTEXT_INIT, "no context types"}};
    for (const auto &[feature, missing] : features) {
        other = {};
        other.lacks = {feature};
        refused(other, missing);
    }
    other = {};
    other.fails = DRM_IOCTL_VIRTGPU_GETPARAM;
    refused(other, "2-D only");
    kernel = {};
    {
        DrmDevice device;
        expect(!device.open("/no/such/node").ok(), "a node that is not there");
        for (int twice = 0; twice < 2; ++twice) expect(device.open(node()).ok() && next_file() != free, "one that has it all");
        expect(fcntl(free, F_GETFD) == FD_CLOEXEC, "not for programs that are started");
    }
    expect(next_file() == free, "its file is closed with it");
}

void a_context_has_both_rings() {
    kernel = {};
    DrmDevice device;
    uint8_t data[24] = {};
    expect(device.open(node()).ok() && device.get_caps(10, data, sizeof data).ok() && device.init_context(10).ok(), "a context");
    expect(kernel.caps.cap_set_id == 10 && kernel.caps.cap_set_ver == 0, "of its capset");
    expect(kernel.caps.size == sizeof data && at<uint8_t>(kernel.caps.addr) == data, "whose data has room");
    const std::map<uint64_t, uint64_t> wanted{
        {VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 10}, {VIRTGPU_CONTEXT_PARAM_NUM_RINGS, unawaited_ring + 1}, {VIRTGPU_CONTEXT_PARAM_POLL_RINGS_MASK, 0}};
    expect(kernel.context == wanted, "of both rings");
    kernel.fails = DRM_IOCTL_VIRTGPU_GET_CAPS;
    expect(!device.get_caps(10, data, sizeof data).ok(), "no capset");
    kernel.fails = DRM_IOCTL_VIRTGPU_CONTEXT_INIT;
    expect(!device.init_context(10).ok(), "no context");
}

void a_blob_that_cannot_be_had_leaves_nothing() {
    kernel = {};
    DrmDevice device;
    Blob blob;
    expect(device.open(node()).ok() && device.create_blob(granularity + 1, blob).ok(), "a blob");
    const auto made = kernel.objects.begin()->second;
    expect(made.blob_mem == VIRTGPU_BLOB_MEM_HOST3D && made.blob_id == 0, "the host's");
    expect(made.blob_flags == VIRTGPU_BLOB_FLAG_USE_MAPPABLE, "to be mapped");
    expect(made.size == 2 * granularity && blob.size == made.size, "as large as it has to be");
    expect(blob.handle == made.bo_handle && blob.resource == made.res_handle, "by both of its names");
    std::memset(blob.memory, 1, blob.size);
    uint8_t *const memory = blob.memory;
    device.close_blob(blob);
    expect(kernel.objects.empty() && !is_mapped(memory) && blob.memory == nullptr && blob.handle == 0, "nothing is left of it");
    const int before = kernel.asked;
    device.close_blob(blob);
    expect(kernel.asked == before, "nor closed twice");

    kernel.offset = 1; // at which nothing is mapped
    expect(!device.create_blob(1, blob).ok() && kernel.objects.empty() && blob.handle == 0, "one that is not mapped");
    kernel.offset = 0, kernel.fails = DRM_IOCTL_VIRTGPU_MAP;
    expect(!device.create_blob(1, blob).ok() && kernel.objects.empty() && blob.handle == 0, "one that has no place");
    kernel.fails = DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB;
    expect(!device.create_blob(1, blob).ok() && kernel.objects.empty(), "one that is not made");
    kernel.fails = 0;
    const int asked = kernel.asked;
    for (size_t size : {SIZE_MAX, SIZE_MAX - granularity + 1}) expect(!device.create_blob(size, blob).ok() && kernel.asked == asked, "more than there is");
}

// The kernel refuses the room of a closed object at once, until the host has let go of it. Where nothing was closed nobody waits:
// this comes first.
void a_closed_blob_makes_room_later() {
    kernel = {};
    DrmDevice device;
    Blob blob;
    expect(device.open(node()).ok(), "a node");
    const auto attempts = [&] {
        const int before = kernel.asked;
        expect(!device.create_blob_in_time(1, blob).ok() && kernel.objects.empty(), "one that is not made");
        return (kernel.asked - before) / 2;
    };
    kernel.fails = DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB;
    expect(attempts() == 1, "asked again for room that nobody gives back");
    kernel.fails = 0, kernel.closing = 80ms;
    expect(device.create_blob(1, blob).ok(), "a blob");
    device.close_blob(blob);
    const Status at_once = device.create_blob(1, blob);
    expect(!at_once.ok() && at_once.had_no_room(), "in the place of one that was just closed: " + at_once.text());
    expect(device.create_blob_in_time(1, blob).ok(), "when that has given its room back");
    device.close_blob(blob);
    kernel.fails = DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB;
    kernel.error = ENOMEM;
    expect(attempts() == 1, "asked again where the window is not what is short");
    kernel.error = ENOSPC;
    const Clock::time_point start = Clock::now();
    expect(attempts() > 1 && Clock::now() - start < 1s, "a window that stays full is waited for much longer than a closing takes");
    expect(attempts() == 1, "nor once more");
}

void submissions_name_an_object_where_that_saves_interrupts() {
    kernel = {};
    DrmDevice device;
    const uint8_t command[12] = {};
    expect(device.open(node()).ok() && device.submit(command, sizeof command).ok(), "a command");
    const drm_virtgpu_execbuffer first = kernel.submissions.at(0);
    expect(first.flags == VIRTGPU_EXECBUF_RING_IDX && first.ring_idx == 0 && first.num_bo_handles == 0, "by itself, without a fence");
    expect(first.size == sizeof command && at<const uint8_t>(first.command) == command, "all of it");
    device.bunch_fences();
    expect(kernel.objects.size() == 1 && kernel.objects.begin()->second.blob_flags == 0, "an object that is not mapped");
    expect(device.submit(command, sizeof command).ok(), "another command");
    const drm_virtgpu_execbuffer second = kernel.submissions.at(1);
    expect(second.flags == VIRTGPU_EXECBUF_RING_IDX && second.ring_idx == unawaited_ring, "on the ring of which nobody awaits a fence");
    expect(kernel.named.at(1) == std::vector<uint32_t>{kernel.objects.begin()->first}, "with it");
    kernel.fails = DRM_IOCTL_VIRTGPU_EXECBUFFER;
    expect(device.submit(command, sizeof command).text() == "cannot submit a command: No space left on device", "one that is not carried");

    // The object was the other node's.
    kernel = {};
    expect(device.open(node()).ok() && device.submit(command, sizeof command).ok() && kernel.named.at(0).empty(), "none, on another node");
    kernel.fails = DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB;
    device.bunch_fences();
    kernel.fails = 0;
    expect(device.submit(command, sizeof command).ok() && kernel.named.at(1).empty(), "nor where there is none to be had");
    expect(kernel.submissions.at(1).ring_idx == 0, "on the ring of all others");
}

// It shares the file with its parent, whose context and objects these are.
void a_forked_process_asks_nothing() {
    kernel = {};
    DrmDevice device;
    Blob blob;
    expect(device.open(node()).ok() && device.create_blob(1, blob).ok(), "a blob");
    uint8_t *const memory = blob.memory;
    const int before = kernel.asked;
    forked_child = true;
    Blob another;
    expect(!device.submit("", 0).ok() && !device.create_blob(1, another).ok(), "carried out");
    device.close_blob(blob);
    forked_child = false;
    expect(kernel.asked == before && kernel.objects.size() == 1, "the parent's object is closed");
    expect(!is_mapped(memory), "its own memory is not");
}

} // namespace

int main() {
    a_closed_blob_makes_room_later();
    only_devices_that_have_it_all_are_taken();
    a_context_has_both_rings();
    a_blob_that_cannot_be_had_leaves_nothing();
    submissions_name_an_object_where_that_saves_interrupts();
    a_forked_process_asks_nothing();
    return failures();
}
