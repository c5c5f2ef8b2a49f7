// SPDX-License-Identifier: Apache-2.0
// Escape attempts of a candidate: raw system calls, made inside the run jail, must be refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::hang_guard;

// Makes the system call in the first input and returns its raw result. Argument −999 stands for the
// address of the second input (a path), −998 for its page.
const char* const caller = R"(
extern "C" void solve(const void* const* in, void* const* out, const long*) {
  const long* c = static_cast<const long*>(in[0]);
  long a[7];
  const long path = reinterpret_cast<long>(in[1]);
  for (int i = 0; i < 7; ++i) a[i] = c[i] == -999 ? path : c[i] == -998 ? path & -4096L : c[i];
  register long r10 asm("r10") = a[4];
  register long r8 asm("r8") = a[5];
  register long r9 asm("r9") = a[6];
  long result;
  asm volatile("syscall" : "=a"(result)
               : "a"(a[0]), "D"(a[1]), "S"(a[2]), "d"(a[3]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  *static_cast<long*>(out[0]) = result;
}
)";

constexpr long text = -999;

class RunIsolationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { artefact = testing::compile_kernel(caller); }
  void SetUp() override {
    TaskSignature signature;
    signature.tensors.push_back({"call", TensorRole::input, Dtype::i64, {7}, {}});
    signature.tensors.push_back({"text", TensorRole::input, Dtype::u8, {256}, {}});
    signature.tensors.push_back({"result", TensorRole::output, Dtype::i64, {}, {}});
    const BufferLayout layout = make_layout(signature, 1);
    inputs_.emplace(std::move(*SharedBuffers::inputs(layout)));
    outputs_.emplace(std::move(*SharedBuffers::outputs(layout)));
    const CpuContestantSpec spec{
        testing::sandbox_program(), artefact, {}, candidate_memory(*inputs_, *outputs_), {}, {}, 1};
    auto contestant = start_cpu_contestant(spec, hang_guard());
    ASSERT_TRUE(contestant) << contestant.error().message;
    contestant_.emplace(std::move(*contestant));
    ASSERT_FALSE(contestant_->load(hang_guard()).fault);
  }
  /// The call's raw result (−errno if refused).
  long call(std::array<long, 7> arguments, const std::string& path = "") {
    const auto words = inputs_->tensor(0, 0);
    std::memcpy(words.data(), arguments.data(), words.size());
    const auto bytes = inputs_->tensor(0, 1);
    std::memset(bytes.data(), 0, bytes.size());
    std::memcpy(bytes.data(), path.data(), std::min(path.size(), bytes.size() - 1));
    const CallResult result = contestant_->call(0, hang_guard());
    EXPECT_FALSE(result.fault) << result.fault->detail;
    long value = 0;
    std::memcpy(&value, outputs_->tensor(0, 2).data(), sizeof value);
    return value;
  }
  static std::string artefact;
  std::optional<SharedBuffers> inputs_, outputs_;
  std::optional<Contestant> contestant_;
};
std::string RunIsolationTest::artefact;

struct Attempt {
  const char* name;
  std::array<long, 7> call;
};

TEST_F(RunIsolationTest, RefusesEveryCallThatAKernelDoesNotNeed) {
  const std::vector<Attempt> attempts{
      {"fork", {SYS_fork}},
      {"vfork", {SYS_vfork}},
      {"clone of a process", {SYS_clone, SIGCHLD}},
      {"clone of a thread", {SYS_clone, CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD}},
      {"execve", {SYS_execve, text, 0, 0}},
      {"ptrace of the parent", {SYS_ptrace, 16, 1}},
      {"memory of another process", {SYS_process_vm_readv, 1}},
      {"kill the parent", {SYS_kill, 1, SIGKILL}},
      {"end as if killed", {SYS_exit_group, 128 + SIGKILL}},
      {"the same, as the kernel cuts it", {SYS_exit_group, 256 + 128 + SIGKILL}},
      {"end its thread as if killed", {SYS_exit, 128 + SIGKILL}},
      {"look like killed", {SYS_tgkill, 1, 1, SIGKILL}},
      {"the same, with bits that the kernel drops", {SYS_tgkill, 1, 1, SIGKILL | (1L << 32)}},
      {"stop every process", {SYS_kill, -1, SIGSTOP}},
      {"new session", {SYS_setsid}},
      {"socket", {SYS_socket, AF_INET, SOCK_STREAM, 0}},
      {"abstract unix socket", {SYS_socket, AF_UNIX, SOCK_STREAM, 0}},
      {"netlink", {SYS_socket, AF_NETLINK, SOCK_RAW, 0}},
      {"bpf", {SYS_bpf}},
      {"perf", {SYS_perf_event_open}},
      {"userfaultfd", {SYS_userfaultfd}},
      {"io_uring", {SYS_io_uring_setup, 8, text}},
      {"keyctl", {SYS_keyctl}},
      {"personality", {SYS_personality, 0x0040000}},
      {"mount", {SYS_mount, text, text, text}},
      {"unshare", {SYS_unshare, CLONE_NEWUSER}},
      {"setns", {SYS_setns}},
      {"prctl", {SYS_prctl, PR_SET_PDEATHSIG, 0}},
      {"another filter", {SYS_seccomp, 1}},
      {"affinity", {SYS_sched_setaffinity}},
      {"scheduler", {SYS_sched_setscheduler}},
      {"set the clock", {SYS_clock_settime}},
      {"adjust the clock", {SYS_adjtimex}},
      {"timer", {SYS_timer_create}},
      {"timer behind a descriptor", {SYS_timerfd_create, 1, 0}},
      {"timer of the process", {SYS_setitimer, 0, text, 0}},
      {"alarm", {SYS_alarm, 1}},
      {"polling set", {SYS_epoll_create1, 0}},
      {"asynchronous reads", {SYS_io_setup, 1, text}},
      {"message queue", {SYS_mq_open, text, 0}},
      {"watched files", {SYS_inotify_init1, 0}},
      {"interval timer", {SYS_setitimer}},
      {"memory file", {SYS_memfd_create, text, 0}},
      {"system V memory", {SYS_shmget, 1, 4096, 01600}},
      {"message queue", {SYS_msgget, 1, 01600}},
      {"open for writing", {SYS_openat, AT_FDCWD, text, O_RDWR | O_CREAT, 0600}},
      {"the old open", {SYS_open, text, O_RDWR}},
      {"folder", {SYS_mkdir, text, 0700}},
      {"symbolic link", {SYS_symlink, text, text}},
      {"raise a limit", {SYS_prlimit64, 0, 6, text}},
      {"terminal", {SYS_ioctl, 0, 0x5412, text}},
      {"pidfd", {SYS_pidfd_open, 1}},
      {"module", {SYS_init_module}},
      {"reboot", {SYS_reboot}},
      {"modify_ldt", {SYS_modify_ldt}},
  };
  for (const Attempt& attempt : attempts) {
    EXPECT_EQ(call(attempt.call, "/tmp/x"), -EPERM) << attempt.name;
  }
  EXPECT_EQ(call({SYS_clone3, text, 88}), -ENOSYS);
}

TEST_F(RunIsolationTest, SeesNoFileOfTheHost) {
  for (const char* path : {"/etc/passwd", "/etc/shadow", "/root", "/home", "/work", "/var", "/sys",
                           "/dev/null", "/dev/shm", "/tmp", "/proc/2", "/usr/bin/env"}) {
    EXPECT_EQ(call({SYS_openat, AT_FDCWD, text, O_RDONLY}, path), -ENOENT) << path;
  }
}

TEST_F(RunIsolationTest, CannotWriteItsOwnMemoryThroughProc) {
  EXPECT_LT(call({SYS_openat, AT_FDCWD, text, O_RDWR}, "/proc/self/mem"), 0);
  EXPECT_LT(call({SYS_openat, AT_FDCWD, text, O_WRONLY}, "/proc/sys/kernel/core_pattern"), 0);
}

TEST_F(RunIsolationTest, InheritsNoDescriptor) {
  for (long fd = 3; fd < 64; ++fd) {
    EXPECT_EQ(call({SYS_lseek, fd, 0, SEEK_CUR}), -EBADF) << "descriptor " << fd;
  }
}

TEST_F(RunIsolationTest, ClosingItsDescriptorsChangesNothing) {
  for (long fd = 0; fd < 3; ++fd) EXPECT_EQ(call({SYS_close, fd}), 0);
  EXPECT_EQ(call({SYS_getpid}), 1);
}

TEST_F(RunIsolationTest, OutputIsDiscarded) {
  EXPECT_EQ(call({SYS_write, 1, text, 20}, "verdict: passed\n"), 20);
  EXPECT_EQ(contestant_->process().kill().out, "");
}

TEST_F(RunIsolationTest, CannotMakeInputsWritable) {
  constexpr long page_of_inputs = -998;
  constexpr long read_write = 3;
  EXPECT_EQ(call({SYS_mprotect, page_of_inputs, 4096, read_write}), -EACCES);
}

}  // namespace
}  // namespace warpsmith::sandbox
