// Fences of our contexts between their making and the moment when QEMU is told that they are complete, which is when it polls: after
// each round of its control queue and, while there are any, every 10 ms.
//
// A submission that the guest fenced is answered to the guest's kernel, with an interrupt, when its fence is complete; one without a fence is
// answered at once. An interrupt costs an emulated guest tens of microseconds of a virtual processor, mostly that of the thread whose reply
// is about to come. Nothing of ours waits for fences, so those of unawaited_ring are kept until there is a bunch of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include <apir_gen.hpp>

namespace apir::virgl {

struct Fence {
    uint32_t context;
    uint32_t ring;
    uint64_t id;
};

class HeldFences {
  public:
    // Each one keeps an entry of the guest's control queue, which has 256, and the submission's memory.
    static constexpr size_t bunch = 16;
    // Looked at when QEMU polls: some 15 ms at most.
    static constexpr uint64_t longest_ns = 5'000'000;

    void add(const Fence &fence, uint64_t now_ns) {
        if (fences_.empty()) since_ns_ = now_ns;
        fences_.push_back(fence);
        if (fence.ring != unawaited_ring) awaited_ = true;
    }

    // Calls tell(fence) for all of them, in the order of their making, when it is time to: somebody may wait for one, there is a bunch, or the
    // oldest is old enough.
    template <typename Tell> void poll(uint64_t now_ns, Tell tell) {
        if (!awaited_ && fences_.size() < bunch && now_ns - since_ns_ < longest_ns) return;
        awaited_ = false;
        while (!fences_.empty()) {
            const Fence fence = fences_.front();
            fences_.pop_front();
            tell(fence);
        }
    }

    void clear() {
        fences_.clear();
        awaited_ = false;
    }

  private:
    std::deque<Fence> fences_;
    uint64_t since_ns_ = 0; // when the oldest was made
    bool awaited_ = false;
};

} // namespace apir::virgl
