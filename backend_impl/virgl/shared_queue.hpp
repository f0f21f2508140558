// The queue from QEMU to a context's worker: a ring of entries in shared memory, one producer, one consumer.
//
// Ordering
//   tail   written by QEMU (seq_cst, so also release) behind the entry's bytes, read by the worker with acquire: what is
//          before tail is whole. It counts bytes since the beginning and never wraps.
//   head   written by the worker with release when an entry is done with, replies and all; read by QEMU with acquire.
//          The bytes before it may be overwritten.
//   beats  raised by the worker's host library as it gets on with a command (a node of a graph is done); relaxed, for it
//          orders nothing. It tells a long graph from one that hangs.
//   begun / finished   commands of the command ring (protocol/RING.md), which QEMU does not see pass: raised by the worker before and
//          after each one. ring is where that ring lies, so that QEMU can mark it dead when the worker has ended.
//   asleep / bell   the worker stores asleep = 1, then looks at tail once more, both seq_cst, and only then waits on bell;
//          QEMU stores tail, then looks at asleep, both seq_cst. So one of the two sees the other: no entry is slept over.
// Trust: the worker believes the queue. QEMU believes nothing in it but head, and that only within [last head, tail], takes
// beats, begun and finished for what they are worth, and ring only as a place inside the context's own arena: by way of the queue, a
// worker that was taken over by its guest can at worst make QEMU fail that guest's commands. What else it reaches: worker/confinement.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace apir::virgl {

enum class EntryKind : uint32_t {
    command = 1, // as the guest submitted it
    blob_added = 2, // payload BlobEntry
    blob_removed = 3, // payload BlobEntry, only the resource
    config = 4, // key NUL value NUL
    skip = 5, // nothing; the rest of the ring up to its end
};

struct EntryHeader {
    uint32_t size; // of the entry with this header; a multiple of 8
    EntryKind kind;
    uint32_t payload; // bytes behind this header
    uint32_t reserved;
    uint64_t submitted_ns; // CLOCK_MONOTONIC
};
static_assert(sizeof(EntryHeader) == 24);

struct BlobEntry {
    uint64_t offset; // in the context's arena
    uint64_t size;
    uint32_t resource;
    uint32_t reserved;
};

// Begins the shared memory; the ring follows at queue_ring_offset. Fields that different sides write lie on different lines.
struct QueueHeader {
    alignas(64) std::atomic<uint64_t> tail;
    std::atomic<uint32_t> bell;
    std::atomic<uint32_t> closing; // the context is gone: finish the entry under way, then end
    alignas(64) std::atomic<uint64_t> head;
    std::atomic<uint32_t> asleep;
    std::atomic<uint64_t> beats;
    std::atomic<uint64_t> begun;
    std::atomic<uint64_t> finished;
    std::atomic<uint64_t> ring; // offset in the arena, plus 1; 0: none
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

inline constexpr size_t queue_ring_offset = 4096;
inline constexpr size_t queue_ring_size = size_t{4} << 20; // sparse: only what was used takes memory
inline constexpr size_t queue_memory_size = queue_ring_offset + queue_ring_size;
// Larger commands are refused; ours send up to 16 KiB.
inline constexpr size_t max_command_size = size_t{64} << 10;

// QEMU's end.
class QueueProducer {
  public:
    // Makes the shared memory; throws std::system_error.
    QueueProducer();
    ~QueueProducer();
    QueueProducer(const QueueProducer &) = delete;
    QueueProducer &operator=(const QueueProducer &) = delete;

    int fd() const { return fd_; }
    // Never waits: false when there is no room. Then nothing was written.
    bool push(EntryKind kind, const void *payload, size_t size, uint64_t now_ns);
    // Bytes pushed so far.
    uint64_t position() const { return tail_; }
    // How far the worker has got, as far as that can be believed. False in `sane` when it cannot.
    uint64_t done(bool &sane);
    uint64_t beats() const { return header_->beats.load(std::memory_order_relaxed); }
    // What the worker tells of the command ring: commands begun, those finished, and where it lies (offset in the arena plus
    // 1; 0: there is none).
    uint64_t begun() const { return header_->begun.load(std::memory_order_relaxed); }
    uint64_t finished() const { return header_->finished.load(std::memory_order_relaxed); }
    uint64_t ring() const { return header_->ring.load(std::memory_order_acquire); }
    // Asks the worker to end.
    void close();

  private:
    void ring_bell();
    void put(EntryKind kind, const void *payload, size_t payload_size, size_t size, uint64_t now_ns);

    int fd_ = -1;
    uint8_t *memory_ = nullptr;
    QueueHeader *header_ = nullptr;
    uint64_t tail_ = 0; // ours, whatever stands in shared memory
    uint64_t head_ = 0; // last one believed
};

struct Entry {
    EntryKind kind;
    const uint8_t *payload;
    size_t size;
    uint64_t submitted_ns;
};

// The worker's end.
class QueueConsumer {
  public:
    static constexpr uint64_t forever = UINT64_MAX;

    // Maps the memory behind `fd`; throws std::system_error.
    explicit QueueConsumer(int fd);
    ~QueueConsumer();
    QueueConsumer(const QueueConsumer &) = delete;
    QueueConsumer &operator=(const QueueConsumer &) = delete;

    bool available() const { return position() != head_; }
    // How far the producer is: the entries before that are whole.
    uint64_t position() const { return header_->tail.load(std::memory_order_acquire); }
    // A context that is gone wants no more work, however much is queued.
    bool closing() const { return closing_word().load(std::memory_order_acquire) != 0; }
    const std::atomic<uint32_t> &closing_word() const { return header_->closing; }
    // The next entry, when there is one before `position`. Its bytes stay until done().
    bool take(Entry &entry, uint64_t position);
    // The entry that take() gave is done with.
    void done();

    // Sleeps until the producer rings the bell, for so long at most; not at all when there is an entry, when the context is closing, or
    // when `may_sleep`, which is asked last, says no. False when the time was up.
    template <typename MaySleep> bool sleep(MaySleep may_sleep, uint64_t at_most_ns = forever) {
        uint32_t bell = header_->bell.load(std::memory_order_acquire);
        header_->asleep.store(1, std::memory_order_seq_cst);
        bool idle = header_->tail.load(std::memory_order_seq_cst) == head_ && header_->closing.load(std::memory_order_seq_cst) == 0;
        const bool in_time = !idle || !may_sleep() || wait_for_bell(bell, at_most_ns);
        header_->asleep.store(0, std::memory_order_relaxed);
        return in_time;
    }

    // To be raised while an entry is under way.
    std::atomic<uint64_t> &beats() { return header_->beats; }
    // A command of the ring begins, and is finished.
    void begin() { header_->begun.fetch_add(1, std::memory_order_relaxed); }
    void finish() { header_->finished.fetch_add(1, std::memory_order_relaxed); }
    // Where the ring lies, plus 1; 0 when there is none any more.
    void tell_ring(uint64_t place) { header_->ring.store(place, std::memory_order_release); }

  private:
    // False when the time was up.
    bool wait_for_bell(uint32_t last_heard, uint64_t at_most_ns);

    uint8_t *memory_ = nullptr;
    QueueHeader *header_ = nullptr;
    uint64_t head_ = 0;
    uint64_t current_ = 0; // size of the entry under way
};

} // namespace apir::virgl
