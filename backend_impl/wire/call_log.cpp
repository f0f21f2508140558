#include "call_log.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build_id.hpp"
#include "new_file.hpp"

namespace apir {
namespace {

// The whole range is mapped at once, so that growing never moves a record that another thread is writing; only the file
// grows. 1 GiB of address space is 13 million records, after which records are dropped (and `counted` tells).
constexpr size_t mapping_size = size_t{1} << 30;
constexpr size_t growth_size = size_t{256} << 10;
constexpr uint64_t record_limit = (mapping_size - sizeof(CallLogHeader)) / sizeof(CallRecord);

uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

std::atomic<uint64_t> &as_atomic(uint64_t &word) {
    static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) && std::atomic<uint64_t>::is_always_lock_free);
    return reinterpret_cast<std::atomic<uint64_t> &>(word);
}

} // namespace

uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

CallLog::~CallLog() {
    if (header_ != nullptr) munmap(header_, mapping_size);
    if (fd_ >= 0) close(fd_);
}

bool CallLog::open(const char *folder, const std::string &name, CallSide side, uint32_t context, uint32_t capset, const void *writer,
                   std::string &error) {
    if (folder == nullptr || *folder == '\0' || is_open()) return false;
    std::string path;
    fd_ = make_new_file(folder, name, ".calls", O_RDWR, path);
    // Space is allocated, not only promised: writing into a mapping of a file on a full disk would kill the process.
    int cause = fd_ < 0 ? errno : posix_fallocate(fd_, 0, growth_size);
    if (cause != 0) {
        error = "cannot make the call record file " + path + ": " + std::strerror(cause);
        if (fd_ >= 0) close(fd_);
        fd_ = -1;
        return false;
    }
    void *mapping = mmap(nullptr, mapping_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (mapping == MAP_FAILED) {
        error = "cannot map the call record file " + path + ": " + std::strerror(errno);
        close(fd_);
        fd_ = -1;
        return false;
    }
    room_ = (growth_size - sizeof(CallLogHeader)) / sizeof(CallRecord);
    header_ = static_cast<CallLogHeader *>(mapping);
    *header_ = CallLogHeader{};
    header_->version = 2;
    header_->side = static_cast<uint32_t>(side);
    header_->record_size = sizeof(CallRecord);
    header_->pid = static_cast<uint32_t>(getpid());
    header_->context = context;
    header_->capset = capset;
    header_->realtime_ns = clock_ns(CLOCK_REALTIME);
    header_->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    std::string id = build_id_of(writer);
    std::memcpy(header_->build_id, id.data(), id.size() < sizeof header_->build_id ? id.size() : sizeof header_->build_id);
    std::memcpy(header_->magic, "APIRCALL", sizeof header_->magic);
    return true;
}

void CallLog::set_session(uint64_t session) {
    if (is_open()) as_atomic(header_->session).store(session, std::memory_order_relaxed);
}

void CallLog::count_one() { as_atomic(header_->counted).fetch_add(1, std::memory_order_relaxed); }

void CallLog::add(CallRecord record) {
    if (!is_open()) return;
    record.seq = next_.fetch_add(1, std::memory_order_relaxed);
    if (record.seq >= record_limit || !ensure_room(record.seq)) return;
    auto *records = reinterpret_cast<CallRecord *>(header_ + 1);
    records[record.seq] = record;
    as_atomic(header_->written).fetch_add(1, std::memory_order_release);
}

bool CallLog::ensure_room(uint64_t index) {
    if (index < room_.load(std::memory_order_acquire)) return true;
    std::lock_guard lock(growth_);
    while (index >= room_.load(std::memory_order_relaxed)) {
        uint64_t size = sizeof(CallLogHeader) + room_.load(std::memory_order_relaxed) * sizeof(CallRecord);
        if (posix_fallocate(fd_, static_cast<off_t>(size), growth_size) != 0) return false;
        room_.fetch_add(growth_size / sizeof(CallRecord), std::memory_order_release);
    }
    return true;
}

} // namespace apir
