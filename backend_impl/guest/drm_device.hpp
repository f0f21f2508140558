// A virtio-gpu render node, by way of the kernel's DRM driver. The only file that does ioctls.
#pragma once

#include "device.hpp"

namespace apir::guest {

class DrmDevice : public Device {
  public:
    DrmDevice() = default;
    ~DrmDevice() override;
    DrmDevice(const DrmDevice &) = delete;
    DrmDevice &operator=(const DrmDevice &) = delete;

    std::vector<std::string> nodes() override;
    Status open(const std::string &node) override;
    Status get_caps(uint32_t capset, void *data, size_t size) override;
    Status init_context(uint32_t capset) override;
    void bunch_fences() override;
    Status create_blob(size_t size, Blob &blob) override;
    void close_blob(Blob &blob) override;
    Status submit(const void *command, size_t size) override;

  private:
    // Repeats an interrupted ioctl. 0, or the errno.
    int control(unsigned long request, void *argument);
    Status check_driver(const std::string &node);
    Status check_features(const std::string &node);
    Status create_object(size_t size, uint32_t flags, Blob &blob);
    Status map_blob(Blob &blob);
    void close();

    int fd_ = -1;
    // An object that submissions name: the kernel fences (from Linux 6.6 on) only those that name one. Handle 0: they name none.
    Blob anchor_;
};

} // namespace apir::guest
