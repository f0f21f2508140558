// A ggml registry of ours, its devices, and the context on the host that is behind them.
//
// A lost context stays lost for all that the program has of it: buffers and streams. When the program has freed these, and asks for
// something, another context takes its place, with a worker and a ring of its own; the program's ggml_backend_dev_t are the same as before.
#pragma once

#include <functional>
#include <mutex>

#include "remote_device.hpp"

namespace apir::guest {

struct Registry;

// One context on the host, with the devices that it has.
struct Connection {
    std::unique_ptr<Session> session; // outlives the devices
    std::vector<std::unique_ptr<RemoteDevice>> devices;

    bool lost() const { return session->channel().lost(); }
    bool is_held() const;
};

// A ggml device, the remote device that it stands for at present, and the one buffer type that it has.
struct DeviceContext {
    Registry &registry;
    const DeviceFacts facts;
    std::atomic<RemoteDevice *> remote; // by Use or Hold
    ggml_backend_buffer_type buffer_type;
    ggml_backend_device device;
};

// A registry with its devices: none when set-up failed, and then the cause has been logged.
struct Registry {
    using DeviceMaker = std::function<std::unique_ptr<Device>()>;

    ggml_backend_reg reg = {};
    std::vector<std::unique_ptr<DeviceContext>> devices; // of 0.2: one

    ggml_backend_dev_t device(size_t index = 0) { return &devices.at(index)->device; }
    // Of the context that is behind the devices now.
    Session &session() { return *now_->session; }

    void bring_up(std::unique_ptr<Device> device, DeviceMaker another);
    // Another context in place of one that is lost and that the program has nothing of. The next one is not begun before a pause: a second at first, twice as
    // long each time, 64 s at most, and a second again when none was asked for in the 64 s behind it. Who asks in the pause finds the device lost, who
    // asks while one is begun waits for that.
    void revive();

  private:
    friend class Use;
    friend class Hold;
    using Connections = std::vector<std::unique_ptr<Connection>>;

    void offer(RemoteDevice &remote);
    // These with the mutex held.
    void revive_lost();
    std::unique_ptr<Connection> begin_another(std::string &error);
    // What has lost its place and nobody is at any more, to be ended without the mutex. Not for a thread that is at a device itself.
    Connections ended();

    DeviceMaker another_device_; // none: what is lost stays lost
    std::mutex mutex_;
    std::unique_ptr<Connection> now_;
    Connections retired_; // nothing is held of them
    std::atomic<bool> has_retired_{false};
    std::atomic<size_t> uses_{0};
    Clock::time_point next_ = Clock::time_point::min();
    Clock::duration pause_ = Clock::duration::zero();
};

// A device's remote device, which stays while this lives. For calls that leave nothing behind.
class Use {
  public:
    explicit Use(DeviceContext &context);
    ~Use() {
        if (--registry_.uses_ == 0 && registry_.has_retired_.load(std::memory_order_relaxed)) end_retired();
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;

    RemoteDevice &operator*() const { return *remote_; }
    // Since this began: another one may have its place now.
    bool lost_meanwhile() const { return !was_lost_ && remote_->lost(); }

  private:
    void enter(DeviceContext &context) {
        ++registry_.uses_;
        remote_ = context.remote.load();
        was_lost_ = remote_->lost();
    }
    [[gnu::cold]] void end_retired() noexcept;

    Registry &registry_;
    RemoteDevice *remote_ = nullptr;
    bool was_lost_ = false;
};

// Calls `body` with a device's remote device, and once more when that was lost meanwhile.
template <typename Body> void with_device(DeviceContext &context, Body body) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Use use(context);
        body(*use);
        if (!use.lost_meanwhile()) return;
    }
}

// The same for something that the program has of it, which may outlive this: keep(). While a thread only tries to have something of a lost device, no
// other one finds it back.
class Hold {
  public:
    explicit Hold(DeviceContext &context);
    // What was kept, which ends with this.
    explicit Hold(RemoteDevice &kept) : remote_(&kept), was_lost_(kept.lost()) { remote_->take_back(); }
    ~Hold() {
        if (remote_ != nullptr) remote_->let_go();
    }
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;

    RemoteDevice &operator*() const { return *remote_; }
    RemoteDevice *operator->() const { return remote_; }
    bool lost_meanwhile() const { return !was_lost_ && remote_->lost(); }
    void keep() { std::exchange(remote_, nullptr)->keep(); }

  private:
    RemoteDevice *remote_ = nullptr;
    bool was_lost_ = false;
};

// Sets up on the given device; on others of `another` in its place, when that one is lost.
std::unique_ptr<Registry> make_registry(std::unique_ptr<Device> device, Registry::DeviceMaker another = nullptr);

// The process's registry, set up at the first call; only that call's `make_device` is used. nullptr without memory.
ggml_backend_reg_t process_registry(std::unique_ptr<Device> (*make_device)());

} // namespace apir::guest
