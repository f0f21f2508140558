#include "short_turns.hpp"

#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

namespace apir::virgl {
namespace {

// The shortest turn that the kernel grants.
constexpr uint64_t turn_ns = 100'000;
constexpr uint64_t reset_on_fork = 1; // SCHED_FLAG_RESET_ON_FORK

// The kernel's struct sched_attr, its first version: some C libraries have it, with or without linux/sched/types.h.
struct Attributes {
    uint32_t size = sizeof(Attributes);
    uint32_t policy = 0; // SCHED_OTHER
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0; // of SCHED_OTHER: its turn, 0 for the system's own
    uint64_t deadline = 0;
    uint64_t period = 0;
};
static_assert(sizeof(Attributes) == 48);

bool look(Attributes &attributes) { return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0; }
bool set(Attributes attributes) { return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0; }

} // namespace

bool take_short_turns(Heirs heirs) {
    Attributes attributes;
    // Whoever gave QEMU another policy knows why.
    if (!look(attributes) || attributes.policy != 0) return false;
    attributes.runtime = turn_ns;
    // Kernels before 6.12 take the number and forget it.
    if (!set(attributes) || !has_short_turns()) return false;
    if (heirs == Heirs::alike) return true;
    attributes.flags |= reset_on_fork;
    return set(attributes) && has_short_turns();
}

bool has_short_turns() {
    Attributes attributes;
    return look(attributes) && attributes.runtime == turn_ns;
}

} // namespace apir::virgl
