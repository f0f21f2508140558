// Hosts that lack a system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "host_expect.hpp"

namespace apir::test {

// For this process and its children, as older kernels and containers do.
inline void forbid(long call, uint32_t error) {
    sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{4, program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // Not by seccomp(), which may be what is forbidden.
    expect_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0, "seccomp");
}

} // namespace apir::test
