// SPDX-License-Identifier: Apache-2.0
// Machines on which bubblewrap makes no jail: the message names the cause and the remedy.
#include "sandbox/jail/jail_remedy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/presets.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using ::testing::HasSubstr;

TEST(JailRemedyTest, EachContainerHasItsOwn) {
  const char* const proc = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
  EXPECT_THAT(jail_remedy(proc, Container::docker), HasSubstr("systempaths=unconfined"));
  EXPECT_THAT(jail_remedy(proc, Container::podman), HasSubstr("unmask=ALL"));
  EXPECT_THAT(jail_remedy(proc, Container::kubernetes), HasSubstr("procMount: Unmasked"));
  EXPECT_THAT(jail_remedy(proc, Container::none), HasSubstr("/proc/self/mountinfo"));
  const char* const none = "bwrap: No permissions to create new namespace";
  EXPECT_THAT(jail_remedy(none, Container::docker), HasSubstr("seccomp=unconfined"));
  EXPECT_THAT(jail_remedy(none, Container::none), HasSubstr("unprivileged_userns_clone=1"));
  EXPECT_EQ(jail_remedy("bwrap: execvp x: No such file", Container::docker), "");
}

constexpr int mounts_nothing = 6;  // an exit code

/// Covers a file of /proc, as container runtimes do, then starts a jail; 7 if the message is
/// right.
int start_with_covered_proc() {
  if (::mount("/dev/null", "/proc/version", nullptr, MS_BIND, nullptr) != 0) {
    return mounts_nothing;
  }
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/true"};
  const auto exit = run_jailed(spec, testing::hang_guard());
  if (exit) return 5;
  const std::string& text = exit.error().message;
  (void)::write(STDERR_FILENO, text.data(), text.size());
  return text.find("Can't mount proc") != std::string::npos &&
                 text.find("; ") != std::string::npos && text.find("/proc") != std::string::npos
             ? 7
             : 4;
}

TEST(JailRemedyTest, ACoveredProcIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  int code = 0;
  EXPECT_EXIT(
      {
        if (::unshare(CLONE_NEWNS) != 0) ::_exit(mounts_nothing);
        (void)::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
        ::_exit(start_with_covered_proc());
      },
      [&](int status) {
        code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return code == 7 || code == mounts_nothing;
      },
      "");
  if (code == mounts_nothing) GTEST_SKIP() << "this machine lets tests mount nothing";
}

}  // namespace
}  // namespace warpsmith::sandbox
