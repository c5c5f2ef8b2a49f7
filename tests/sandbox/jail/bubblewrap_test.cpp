// SPDX-License-Identifier: Apache-2.0
// Bubblewrap's command line.
#include "sandbox/jail/bubblewrap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>

#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/presets.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

std::vector<std::string> arguments_of(const JailSpec& spec) {
  BubblewrapDescriptors descriptors;
  descriptors.files = {{"/kernel.so", 59}};
  return bubblewrap_arguments(spec, "bwrap", descriptors);
}

size_t place_of(const std::vector<std::string>& args, const std::string& what) {
  return static_cast<size_t>(std::find(args.begin(), args.end(), what) - args.begin());
}

TEST(BubblewrapTest, TheCommandComesLastAndVerbatim) {
  JailSpec spec;
  spec.argv = {"/bin/sh", "-c", "--bind / /"};
  const auto args = arguments_of(spec);
  const size_t end = place_of(args, "--");
  ASSERT_EQ(args.size(), end + 4);
  EXPECT_EQ(args[end + 3], "--bind / /");
}

TEST(BubblewrapTest, OnlyListedDevicesAreShown) {
  JailSpec spec;
  spec.kind = JailKind::launch;
  spec.argv = {"/runner"};
  spec.devices = {"/dev/nvidia3"};
  const auto args = arguments_of(spec);
  const size_t at = place_of(args, "--dev-bind");
  ASSERT_LT(at + 2, args.size());
  EXPECT_EQ(args[at + 1], "/dev/nvidia3");
  EXPECT_EQ(args[at + 2], "/dev/nvidia3");
}

TEST(BubblewrapTest, BindsComeAfterTheTmpfsThatWouldHideThem) {
  JailSpec spec;
  spec.kind = JailKind::shell;
  spec.argv = {"/bin/sh"};
  spec.read_only = {{"/tmp/venv", "/tmp/venv"}};
  const auto args = arguments_of(spec);
  EXPECT_LT(place_of(args, "--tmpfs"), place_of(args, "--ro-bind"));
}

/// They would be made in a folder that is read-only by then.
TEST(BubblewrapTest, LinksComeBeforeTheBinds) {
  JailSpec spec;
  spec.argv = {"/bin/sh"};
  spec.read_only = {{"/opt/py", "/opt/py"}};
  spec.links = {{"/bin/python", "/opt/py/bin/python3"}};
  const auto args = arguments_of(spec);
  const size_t at = place_of(args, "--symlink");
  ASSERT_LT(at, place_of(args, "--ro-bind"));
  const auto last = args.begin() + static_cast<std::ptrdiff_t>(place_of(args, "--ro-bind"));
  EXPECT_EQ(std::vector<std::string>(last - 2, last),
            (std::vector<std::string>{"/opt/py/bin/python3", "/bin/python"}));
}

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
