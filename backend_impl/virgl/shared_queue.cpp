#include "shared_queue.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "shared_file.hpp"

namespace apir::virgl {
namespace {

// Shared between processes: no FUTEX_PRIVATE_FLAG. False when it took longer than `at_most`, which may be null.
bool futex_wait(std::atomic<uint32_t> &word, uint32_t expected, const timespec *at_most) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT, expected, at_most, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

// One: a worker has one thread that waits here, but one that was taken over may have ten thousands, and QEMU's main thread would wake them all.
void futex_wake(std::atomic<uint32_t> &word) {
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

size_t entry_size(size_t payload) { return (sizeof(EntryHeader) + payload + 7) & ~size_t{7}; }

} // namespace

QueueProducer::QueueProducer() : fd_(make_shared_file("apir-queue", queue_memory_size)) {
    try {
        memory_ = map_shared_file(fd_, queue_memory_size);
    } catch (...) {
        ::close(fd_);
        throw;
    }
    header_ = new (memory_) QueueHeader{};
}

QueueProducer::~QueueProducer() {
    munmap(memory_, queue_memory_size);
    ::close(fd_);
}

uint64_t QueueProducer::done(bool &sane) {
    uint64_t head = header_->head.load(std::memory_order_acquire);
    sane = head >= head_ && head <= tail_;
    if (sane) head_ = head;
    return head_;
}

void QueueProducer::put(EntryKind kind, const void *payload, size_t payload_size, size_t size, uint64_t now_ns) {
    uint8_t *at = memory_ + queue_ring_offset + tail_ % queue_ring_size;
    EntryHeader header{static_cast<uint32_t>(size), kind, static_cast<uint32_t>(payload_size), 0, now_ns};
    std::memcpy(at, &header, sizeof header);
    if (payload_size != 0) std::memcpy(at + sizeof header, payload, payload_size);
    tail_ += size;
}

bool QueueProducer::push(EntryKind kind, const void *payload, size_t size, uint64_t now_ns) {
    size_t need = entry_size(size);
    size_t rest = queue_ring_size - tail_ % queue_ring_size;
    // An entry lies in one piece, so the ring's end may be skipped; a rest too short for a header goes to the entry before it.
    size_t padding = need > rest ? rest : 0;
    if (padding == 0 && rest - need < sizeof(EntryHeader)) need = rest;
    bool sane = true;
    if (need + padding > queue_ring_size - (tail_ - done(sane)) || !sane) return false;
    if (padding != 0) put(EntryKind::skip, nullptr, 0, padding, now_ns);
    put(kind, payload, size, need, now_ns);
    header_->tail.store(tail_, std::memory_order_seq_cst);
    if (header_->asleep.load(std::memory_order_seq_cst) != 0) ring_bell();
    return true;
}

void QueueProducer::ring_bell() {
    header_->bell.fetch_add(1, std::memory_order_release);
    futex_wake(header_->bell);
}

void QueueProducer::close() {
    header_->closing.store(1, std::memory_order_seq_cst);
    ring_bell();
}

QueueConsumer::QueueConsumer(int fd) : memory_(map_shared_file(fd, queue_memory_size)) {
    header_ = reinterpret_cast<QueueHeader *>(memory_);
}

QueueConsumer::~QueueConsumer() { munmap(memory_, queue_memory_size); }

bool QueueConsumer::wait_for_bell(uint32_t last_heard, uint64_t at_most_ns) {
    constexpr uint64_t second_ns = 1'000'000'000;
    const timespec at_most{static_cast<time_t>(at_most_ns / second_ns), static_cast<long>(at_most_ns % second_ns)};
    return futex_wait(header_->bell, last_heard, at_most_ns == forever ? nullptr : &at_most);
}

bool QueueConsumer::take(Entry &entry, uint64_t position) {
    if (head_ == position) return false;
    const uint8_t *at = memory_ + queue_ring_offset + head_ % queue_ring_size;
    EntryHeader header;
    std::memcpy(&header, at, sizeof header);
    current_ = header.size;
    entry = {header.kind, at + sizeof header, header.payload, header.submitted_ns};
    return true;
}

void QueueConsumer::done() {
    head_ += current_;
    current_ = 0;
    header_->head.store(head_, std::memory_order_release);
}

} // namespace apir::virgl
