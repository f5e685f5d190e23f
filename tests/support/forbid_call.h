#pragma once

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstdint>

namespace plimsoll {

/// Makes a system call fail with this error for the calling thread, from now on.
inline void forbid_call(uint32_t call, uint32_t error) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // The number of the call.
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{4, code};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

}  // namespace plimsoll
