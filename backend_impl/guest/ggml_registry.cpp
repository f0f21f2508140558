// ggml's registry interface, how the library comes up, and how it comes back.
#include <algorithm>

#include "abi/op_numbers.hpp"
#include "ggml_slots.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr Clock::duration shortest_pause = 1s;
constexpr Clock::duration longest_pause = 64s;

Registry &context_of(ggml_backend_reg_t reg) { return *static_cast<Registry *>(reg->context); }

const char *get_name(ggml_backend_reg_t) { return "ggml-virtgpu"; }

size_t get_device_count(ggml_backend_reg_t reg) { return context_of(reg).devices.size(); }

ggml_backend_dev_t get_device(ggml_backend_reg_t reg, size_t index) {
    return index < context_of(reg).devices.size() ? context_of(reg).device(index) : nullptr;
}

// A context with at least one device; nullptr, with the cause in `error`, when there is none to be had.
std::unique_ptr<Connection> connect(std::unique_ptr<Device> device, const Config &config, std::string &error) {
    auto connection = std::make_unique<Connection>();
    connection->session = Session::start(std::move(device), config, error);
    const size_t count = connection->session == nullptr ? 0 : RemoteDevice::count(*connection->session, error);
    for (uint32_t index = 0; index < count; ++index) {
        std::unique_ptr<RemoteDevice> remote = RemoteDevice::ask(*connection->session, index, error);
        if (remote == nullptr && index == 0) break;
        if (remote == nullptr) log(LogLevel::warn, "the host's device %u is left out: %s", index, error.c_str());
        else connection->devices.push_back(std::move(remote));
    }
    return connection->devices.empty() ? nullptr : std::move(connection);
}

} // namespace

bool Connection::is_held() const {
    return std::any_of(devices.begin(), devices.end(), [](const auto &each) { return each->is_held(); });
}

void Registry::offer(RemoteDevice &remote) {
    log(LogLevel::info, "device %s: %s", remote.name().c_str(), remote.facts().description.c_str());
    auto added = std::unique_ptr<DeviceContext>(new DeviceContext{*this, remote.facts(), {&remote}, {}, {}});
    added->buffer_type = make_buffer_type(&added->device, added.get());
    added->device = make_device(&reg, added.get());
    devices.push_back(std::move(added));
}

void Registry::bring_up(std::unique_ptr<Device> device, DeviceMaker another) {
    const Config config = read_config();
    set_log_level(config.log_level);
    std::string error;
    if (const std::string moved = abi::moved_op(); !moved.empty())
        return log(LogLevel::error, "backend not available: libggml has other ops than this library: %s", moved.c_str());
    now_ = connect(std::move(device), config, error);
    if (now_ == nullptr) return log(LogLevel::error, "backend not available: %s", error.c_str());
    for (const auto &each : now_->devices) offer(*each);
    another_device_ = std::move(another);
}

void Registry::revive() {
    if (in_forked_child() || !another_device_) return; // there the mutex may be held by a thread that is not there
    Connections over;
    std::lock_guard lock(mutex_);
    revive_lost();
    over = ended();
}

void Registry::revive_lost() {
    const Clock::time_point now = Clock::now();
    if (!another_device_ || !now_->lost() || now_->is_held() || now < next_) return;
    pause_ = now < next_ + longest_pause ? std::min(2 * pause_, longest_pause) : shortest_pause;
    std::string error = "no memory";
    std::unique_ptr<Connection> another = guarded("a lost device", std::unique_ptr<Connection>{}, [&] { return begin_another(error); });
    next_ = Clock::now() + pause_;
    if (another == nullptr) return log(LogLevel::error, "the lost device does not come back: %s", error.c_str());
    for (size_t i = 0; i < devices.size(); ++i) {
        another->devices[i]->follow(*now_->devices[i]);
        devices[i]->remote = another->devices[i].get();
    }
    retired_.push_back(std::exchange(now_, std::move(another)));
    has_retired_ = true;
    log(LogLevel::warn, "the device is back: another context has taken the place of the lost one");
}

// The program knows what it was told of the devices.
std::unique_ptr<Connection> Registry::begin_another(std::string &error) {
    retired_.reserve(retired_.size() + 1);
    for (const auto &each : now_->devices) each->give_up_kept();
    now_->session->give_up_free();
    Config config = now_->session->config();
    config.extensions &= now_->session->extensions() | static_cast<uint64_t>(Extension::ring); // a host that has more by now will do, too
    std::unique_ptr<Connection> another = connect(another_device_(), config, error);
    for (size_t i = 0; another != nullptr && i < devices.size(); ++i) {
        if (i < another->devices.size() && another->devices[i]->facts() == devices[i]->facts) continue;
        error = "the host has another device now, or fewer extensions, where " + devices[i]->facts.name + " was";
        another.reset();
    }
    return another;
}

// Whoever begins to use a device finds one of now: when nobody is at any, nobody is at those that have lost their place.
Registry::Connections Registry::ended() {
    if (uses_.load() != 0) return {};
    has_retired_ = false;
    return std::exchange(retired_, {});
}

Use::Use(DeviceContext &context) : registry_(context.registry) {
    enter(context);
    if (!was_lost_) return;
    --registry_.uses_;
    registry_.revive();
    enter(context);
}

// Unless another thread has the mutex, which may begin a context: then a later one does it.
void Use::end_retired() noexcept {
    if (in_forked_child()) return;
    Registry::Connections over;
    const std::unique_lock lock(registry_.mutex_, std::try_to_lock);
    if (lock) over = registry_.ended();
}

Hold::Hold(DeviceContext &context) {
    Registry &registry = context.registry;
    Registry::Connections over;
    std::unique_lock lock(registry.mutex_, std::defer_lock);
    if (!in_forked_child()) { // there everything fails
        lock.lock();
        if (registry.now_->session->channel().has_ended()) registry.revive_lost();
        if (registry.has_retired_) over = registry.ended();
    }
    remote_ = context.remote.load();
    was_lost_ = remote_->lost();
    remote_->hold();
}

std::unique_ptr<Registry> make_registry(std::unique_ptr<Device> device, Registry::DeviceMaker another) {
    auto context = std::make_unique<Registry>();
    context->reg.api_version = APIR_GGML_API;
    context->reg.iface.get_name = get_name;
    context->reg.iface.get_device_count = get_device_count;
    context->reg.iface.get_device = get_device;
    // get_proc_address stays null: the library has no functions beyond the interface.
    context->reg.context = context.get();
    guarded("set-up", 0, [&] {
        context->bring_up(std::move(device), std::move(another));
        return 0;
    });
    return context;
}

// Never destroyed: programs free buffers and backends from their own static destructors, which may run after ours would.
// The kernel ends the context with the process.
ggml_backend_reg_t process_registry(std::unique_ptr<Device> (*make_device)()) {
    static Registry *only =
        guarded("registry", static_cast<Registry *>(nullptr), [&] { return make_registry(make_device(), make_device).release(); });
    return only == nullptr ? nullptr : &only->reg;
}

} // namespace apir::guest
