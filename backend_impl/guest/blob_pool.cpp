#include "blob_pool.hpp"

#include <algorithm>

#include "apir_gen.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

// An attempt to make a blob is an exit of the virtual machine. While there is a blob to wait for, a full window is not asked more often.
constexpr Clock::duration full_for = 100ms;

// One more of them, for as long as it lives.
class Counted {
  public:
    explicit Counted(std::atomic<uint32_t> &count) : count_(count) { count_.fetch_add(1); }
    ~Counted() { count_.fetch_sub(1); }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;

  private:
    std::atomic<uint32_t> &count_;
};

} // namespace

BlobPool::BlobPool(Device &device, size_t size, size_t least, size_t limit)
    : device_(device), size_(size), least_(least), limit_(limit) {}

BlobPool::~BlobPool() {
    for (auto &blob : blobs_) device_.close_blob(*blob);
}

// For one more beside those that are being made: to add it takes no memory.
void BlobPool::reserve_place() {
    blobs_.reserve(blobs_.size() + apart_ + 1);
    free_.reserve(blobs_.size() + apart_ + 1);
}

// Called with the lock held: blobs are made seldom, and two threads must not both take the last of the window.
Blob *BlobPool::make(size_t size, Room room) {
    auto blob = std::make_unique<Blob>();
    reserve_place();
    const Status status = room == Room::at_once ? device_.create_blob(size, *blob) : device_.create_blob_in_time(size, *blob);
    if (!status.ok()) return nullptr;
    blobs_.push_back(std::move(blob));
    return blobs_.back().get();
}

Blob *BlobPool::grow() {
    if (usable_ >= limit_ || (usable_ != 0 && (apart_ != 0 || Clock::now() < full_until_))) return nullptr;
    // Whoever has none to wait for waits for what others have closed.
    const Room room = usable_ == 0 ? Room::in_time : Room::at_once;
    Blob *blob = make(size_, room);
    while (blob == nullptr && usable_ == 0 && size_ / 2 >= least_) {
        size_ = size_ / 2;
        blob = make(size_, Room::at_once); // that was waited for
    }
    if (blob != nullptr) ++usable_;
    else full_until_ = Clock::now() + full_for;
    return blob;
}

BlobPool::Lease BlobPool::take_in_turn(const Deadline &until) {
    std::unique_lock lock(mutex_);
    const Counted waiting(waiting_);
    for (;;) {
        gather();
        if (!free_.empty()) {
            Blob *blob = free_.back();
#if !defined(APIR_PLANT_SHARED_SLOT)
            free_.pop_back();
#endif
            return {*this, blob};
        }
        if (Blob *blob = grow()) return {*this, blob};
        // Nobody waits whose time is up: one that is given back would be told to him, and not to those who have time.
        if (usable_ == 0 || Clock::now() >= until.moment()) return {};
        returned_.wait_until(lock, until.moment());
    }
}

void BlobPool::prepare(size_t count) {
    std::lock_guard lock(mutex_);
    while (usable_ < count) {
        Blob *made = grow();
        if (made == nullptr) return;
        free_.push_back(made);
    }
}

BlobPool::Lease BlobPool::take_beside() {
    std::lock_guard lock(mutex_);
    gather();
    while (free_.size() < 2) {
        Blob *made = grow();
        if (made == nullptr) return {};
        free_.push_back(made);
        returned_.notify_one(); // one of them stays here: whoever waits has no need to any more
    }
    Blob *blob = free_.back();
    free_.pop_back();
    return {*this, blob};
}

bool BlobPool::has_another() {
    if (at_hand_.load() != nullptr) return true;
    std::lock_guard lock(mutex_);
    gather();
    if (!free_.empty()) return true;
    Blob *made = grow();
    if (made == nullptr) return false;
    free_.push_back(made);
    returned_.notify_one();
    return true;
}

bool BlobPool::has_none() {
    std::lock_guard lock(mutex_);
    return usable_ == 0;
}

// One is made without the lock, which `lock` holds before and after. Whoever made none meanwhile may when it is over.
struct BlobPool::Apart {
    Apart(BlobPool &of, std::unique_lock<std::mutex> &held) : pool(of), lock(held) {
        ++pool.apart_;
        lock.unlock();
    }
    ~Apart() {
        lock.lock();
        --pool.apart_;
        pool.returned_.notify_all();
    }
    Apart(const Apart &) = delete;
    Apart &operator=(const Apart &) = delete;

    BlobPool &pool;
    std::unique_lock<std::mutex> &lock;
};

BlobPool::Lease BlobPool::sized(Lease taken, size_t size) {
    if (!taken || taken->size >= size) return taken;
    auto blob = std::make_unique<Blob>();
    std::unique_lock lock(mutex_);
    reserve_place();
    {
        const Apart apart(*this, lock);
        if (!device_.create_blob_in_time(size, *blob).ok()) return {};
    }
    blobs_.push_back(std::move(blob));
    return {*this, blobs_.back().get()};
}

void BlobPool::give_up_free() {
    std::lock_guard lock(mutex_);
    gather();
    for (Blob *each : free_) {
        if (is_ordinary(*each)) --usable_;
        device_.close_blob(*each);
        blobs_.erase(std::find_if(blobs_.begin(), blobs_.end(), [&](const auto &blob) { return blob.get() == each; }));
    }
    free_.clear();
    if (usable_ == 0) returned_.notify_all();
}

bool BlobPool::is_ordinary(const Blob &blob) const {
    return blob.size == (size_.load(std::memory_order_relaxed) + blob_granularity - 1) / blob_granularity * blob_granularity;
}

// With the lock held: the one at hand is like the others.
void BlobPool::gather() {
    if (Blob *blob = at_hand_.exchange(nullptr)) free_.push_back(blob);
}

// False when it is not: it has to be given back with the lock. Whoever begins to wait says so before looking for one at hand, and whoever leaves
// one there looks afterwards whether somebody waits: one of them sees the other.
inline bool BlobPool::keep_at_hand(Blob *blob) {
    Blob *none = nullptr;
#if defined(APIR_PLANT_MISSED_WAITER)
    return is_ordinary(*blob) && at_hand_.compare_exchange_strong(none, blob);
#endif
    if (waiting_.load() != 0 || !is_ordinary(*blob) || !at_hand_.compare_exchange_strong(none, blob)) return false;
    if (waiting_.load() != 0) tell_of_it();
    return true;
}

// Of the one at hand, whoever waits.
void BlobPool::tell_of_it() {
    std::lock_guard lock(mutex_);
    gather();
    returned_.notify_one();
}

void BlobPool::give_back(Blob *blob, bool retired) {
#if !defined(APIR_PLANT_UNLOCKED_POOL)
    if (!retired && keep_at_hand(blob)) return;
#endif
    give_back_in_turn(blob, retired);
}

void BlobPool::give_back_in_turn(Blob *blob, bool retired) {
#if !defined(APIR_PLANT_UNLOCKED_POOL)
    std::lock_guard lock(mutex_);
#endif
    const bool ordinary = is_ordinary(*blob);
    if (retired) {
        if (ordinary) --usable_;
    } else if (ordinary) {
        free_.push_back(blob);
    } else {
        device_.close_blob(*blob);
        blobs_.erase(std::find_if(blobs_.begin(), blobs_.end(), [&](const auto &each) { return each.get() == blob; }));
    }
    // Without a blob that could come back there is nothing to wait for: who is told of it finds no blob, and tells nobody.
    if (usable_ == 0) returned_.notify_all();
    else returned_.notify_one();
}

} // namespace apir::guest
