#include "drm_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <drm/drm.h>
#include <drm/virtgpu_drm.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apir_gen.hpp"
#include "emulated.hpp"
#include "forked.hpp"
#include "log.hpp"

namespace apir::guest {

namespace {

constexpr const char *node_folder = "/dev/dri";
constexpr const char *node_prefix = "renderD";
constexpr const char *driver_name = "virtio_gpu";

std::string reason(int error) { return std::strerror(error); }

uint64_t address(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// What a device must have, and what it means when it has not.
struct Feature {
    uint64_t parameter;
    const char *missing;
};
constexpr Feature features[] = {
    {VIRTGPU_PARAM_3D_FEATURES, "the device is 2-D only (the VM needs virtio-gpu-gl)"},
    {VIRTGPU_PARAM_RESOURCE_BLOB, "the device has no blob resources (the VM needs blob=true)"},
    {VIRTGPU_PARAM_HOST_VISIBLE, "the device has no host-visible window (the VM needs hostmem=SIZE)"},
    {VIRTGPU_PARAM_CONTEXT_INIT, "the device or the kernel has no context types (the VM needs a virtio-gpu with context_init)"},
};

} // namespace

DrmDevice::~DrmDevice() { close(); }

void DrmDevice::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    anchor_ = Blob{};
}

int DrmDevice::control(unsigned long request, void *argument) {
    if (in_forked_child()) return ENODEV;
    int result;
    do {
        result = ioctl(fd_, request, argument);
    } while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result < 0 ? errno : 0;
}

std::vector<std::string> DrmDevice::nodes() {
    std::vector<std::string> found;
    DIR *folder = opendir(node_folder);
    if (folder == nullptr) return found;
    while (const dirent *entry = readdir(folder)) {
        if (std::strncmp(entry->d_name, node_prefix, std::strlen(node_prefix)) == 0) {
            found.push_back(std::string(node_folder) + "/" + entry->d_name);
        }
    }
    closedir(folder);
    std::sort(found.begin(), found.end());
    return found;
}

Status DrmDevice::open(const std::string &node) {
    close();
    fd_ = ::open(node.c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0) return Status::failure("cannot open " + node + ": " + reason(errno));
    Status status = check_driver(node);
    if (status.ok()) status = check_features(node);
    if (!status.ok()) close();
    return status;
}

Status DrmDevice::check_driver(const std::string &node) {
    char name[32] = {};
    drm_version version = {};
    version.name = name;
    version.name_len = sizeof name - 1;
    if (int error = control(DRM_IOCTL_VERSION, &version)) {
        return Status::failure(node + " is not a DRM device: " + reason(error));
    }
    if (std::strcmp(name, driver_name) != 0) {
        return Status::failure(node + " belongs to the driver " + name + ", not " + driver_name);
    }
    if (version.version_major != 0) {
        return Status::failure(node + " has version " + std::to_string(version.version_major) + " of its driver; known is 0");
    }
    return {};
}

Status DrmDevice::check_features(const std::string &node) {
    for (const Feature &feature : features) {
        int value = 0; // the kernel writes an int, whatever the struct says
        drm_virtgpu_getparam parameter = {feature.parameter, address(&value)};
        if (control(DRM_IOCTL_VIRTGPU_GETPARAM, &parameter) != 0 || value == 0) {
            return Status::failure(node + ": " + feature.missing);
        }
    }
    return {};
}

Status DrmDevice::get_caps(uint32_t capset, void *data, size_t size) {
    drm_virtgpu_get_caps caps = {};
    caps.cap_set_id = capset;
    caps.addr = address(data);
    caps.size = static_cast<uint32_t>(size);
    if (int error = control(DRM_IOCTL_VIRTGPU_GET_CAPS, &caps)) {
        return Status::failure("the device has no capset " + std::to_string(capset) + ": " + reason(error));
    }
    return {};
}

Status DrmDevice::init_context(uint32_t capset) {
    drm_virtgpu_context_set_param parameters[] = {{VIRTGPU_CONTEXT_PARAM_CAPSET_ID, capset},
                                                  {VIRTGPU_CONTEXT_PARAM_NUM_RINGS, unawaited_ring + 1},
                                                  {VIRTGPU_CONTEXT_PARAM_POLL_RINGS_MASK, 0}};
    drm_virtgpu_context_init init = {};
    init.num_params = 3;
    init.ctx_set_params = address(parameters);
    if (int error = control(DRM_IOCTL_VIRTGPU_CONTEXT_INIT, &init)) {
        return Status::failure("no context on capset " + std::to_string(capset) + ": " + reason(error));
    }
    return {};
}

// Only under an emulator, where an interrupt is known to be dear. Without the object all goes on as before. The kernel does not wait for the host to
// make it, and the host never hears its number again: it need not even have made it.
void DrmDevice::bunch_fences() {
    if (!is_emulated()) return;
    Status status = create_object(blob_granularity, 0, anchor_);
    if (!status.ok()) log(LogLevel::info, "each submission gets an interrupt of its own: %s", status.text().c_str());
}

Status DrmDevice::create_object(size_t size, uint32_t flags, Blob &blob) {
    if (size > SIZE_MAX - blob_granularity) return Status::failure("a blob of " + std::to_string(size) + " bytes");
    size_t rounded = (size + blob_granularity - 1) / blob_granularity * blob_granularity;
    drm_virtgpu_resource_create_blob create = {};
    create.blob_mem = VIRTGPU_BLOB_MEM_HOST3D;
    create.blob_flags = flags;
    create.size = rounded;
    if (int error = control(DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB, &create)) {
        std::string why = "cannot make a blob of " + std::to_string(rounded) + " bytes: " + reason(error);
        return error == ENOSPC ? Status::no_room(std::move(why)) : Status::failure(std::move(why)); // as a full window is told
    }
    blob = {create.res_handle, create.bo_handle, nullptr, rounded};
    return {};
}

Status DrmDevice::create_blob(size_t size, Blob &blob) {
    Status status = create_object(size, VIRTGPU_BLOB_FLAG_USE_MAPPABLE, blob);
    if (status.ok()) status = map_blob(blob);
    if (!status.ok()) close_blob(blob);
    return status;
}

Status DrmDevice::map_blob(Blob &blob) {
    drm_virtgpu_map map = {};
    map.handle = blob.handle;
    int error = control(DRM_IOCTL_VIRTGPU_MAP, &map);
    if (error == 0) {
        void *memory =
            mmap(nullptr, blob.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(map.offset));
        if (memory != MAP_FAILED) {
            blob.memory = static_cast<uint8_t *>(memory);
            return {};
        }
        error = errno;
    }
    return Status::failure("cannot map a blob of " + std::to_string(blob.size) + " bytes: " + reason(error));
}

void DrmDevice::close_blob(Blob &blob) {
    if (blob.memory != nullptr) munmap(blob.memory, blob.size);
    if (blob.handle != 0) {
        drm_gem_close request = {};
        request.handle = blob.handle;
        control(DRM_IOCTL_GEM_CLOSE, &request);
        expect_room();
    }
    blob = Blob{};
}

Status DrmDevice::submit(const void *command, size_t size) {
    drm_virtgpu_execbuffer submission = {};
    submission.flags = VIRTGPU_EXECBUF_RING_IDX;
    submission.size = static_cast<uint32_t>(size);
    submission.command = address(command);
    submission.fence_fd = -1;
    if (anchor_.handle != 0) {
        submission.ring_idx = unawaited_ring;
        submission.bo_handles = address(&anchor_.handle);
        submission.num_bo_handles = 1;
    }
    if (int error = control(DRM_IOCTL_VIRTGPU_EXECBUFFER, &submission)) {
        return Status::failure("cannot submit a command: " + reason(error));
    }
    return {};
}

} // namespace apir::guest
