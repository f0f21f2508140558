#include "guest_fake.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace apir::guest::test {

namespace {

std::atomic<int> failed{0};

} // namespace

void expect(bool holds, const std::string &what) {
    if (holds) return;
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    ++failed;
}

int failures() { return failed == 0 ? 0 : 1; }

std::string hex(const std::vector<uint8_t> &bytes) {
    std::string text;
    char digits[3];
    for (uint8_t byte : bytes) {
        std::snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

std::vector<uint8_t> from_hex(const std::string &text) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(static_cast<uint8_t>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
    }
    return bytes;
}

Variable::Variable(const char *name, const char *value) : name_(name) { setenv(name, value, 1); }
Variable::~Variable() { unsetenv(name_.c_str()); }

CapturedLog::CapturedLog() {
    ggml_log_set(
        [](ggml_log_level, const char *text, void *self) {
            auto *log = static_cast<CapturedLog *>(self);
            std::lock_guard lock(log->mutex_);
            log->text_ += text;
        },
        this);
}

CapturedLog::~CapturedLog() { ggml_log_set(nullptr, nullptr); }

std::string CapturedLog::text() {
    std::lock_guard lock(mutex_);
    return text_;
}

FakeDevice::FakeDevice(DevicePlan plan, FakeHost &host) : plan_(std::move(plan)), host_(host), thread_([this] { serve(); }) {}

FakeDevice::~FakeDevice() {
    {
        std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

Status FakeDevice::open(const std::string &) { return plan_.open; }

Status FakeDevice::get_caps(uint32_t, void *data, size_t size) {
    std::memset(data, 0, size);
    return plan_.caps;
}

Status FakeDevice::init_context(uint32_t) { return plan_.context; }

Status FakeDevice::create_blob(size_t size, Blob &blob) {
    size_t rounded = (size + blob_granularity - 1) / blob_granularity * blob_granularity;
    std::lock_guard lock(mutex_);
    give_back_closed();
    if (rounded < size || rounded > plan_.window - used_) return Status::no_room("the fake window is full");
    // A file of its own, so that no two blobs are one mapping: that is how they are told apart in /proc/self/maps.
    int file = memfd_create("fake-blob", MFD_CLOEXEC);
    void *memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, static_cast<off_t>(rounded)) == 0) {
        memory = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) return Status::failure("no memory for a fake blob");
    used_ += rounded;
    blob = {next_resource_, next_resource_ + 1000, static_cast<uint8_t *>(memory), rounded};
    ++next_resource_;
    host_.on_blob(blob.resource, blob);
    return {};
}

void FakeDevice::close_blob(Blob &blob) {
    std::lock_guard lock(mutex_);
    host_.on_blob_closed(blob.resource);
    munmap(blob.memory, blob.size);
    give_back(blob.size);
    blob = Blob{};
}

void FakeDevice::give_back(size_t size) {
    if (plan_.closing.count() == 0) {
        used_ -= size;
        return;
    }
    closing_.emplace_back(std::chrono::steady_clock::now() + plan_.closing, size);
    expect_room();
}

void FakeDevice::give_back_closed() {
    const auto now = std::chrono::steady_clock::now();
    for (; !closing_.empty() && closing_.front().first <= now; closing_.pop_front()) used_ -= closing_.front().second;
}

Status FakeDevice::submit(const void *command, size_t size) {
    const auto *bytes = static_cast<const uint8_t *>(command);
    {
        std::lock_guard lock(mutex_);
        queue_.emplace_back(bytes, bytes + size);
    }
    wake_.notify_one();
    return {};
}

void FakeDevice::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        std::vector<uint8_t> command = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        host_.on_command(command);
        lock.lock();
    }
}

std::unique_ptr<Registry> set_up(FakeHost &host, DevicePlan plan) {
    return make_registry(std::make_unique<FakeDevice>(std::move(plan), host));
}

} // namespace apir::guest::test
