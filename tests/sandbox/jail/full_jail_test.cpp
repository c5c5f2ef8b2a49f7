// SPDX-License-Identifier: Apache-2.0
// A missing primitive lowers the trust class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/driver.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

using Report = std::map<std::string, std::string>;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Report full_report() {
  return {{"capabilities", "none"},
          {"core", "pinned to 0"},
          {"core_account", "schedstat"},
          {"core_dumps", "none"},
          {"cpu_time", "rlimit, 60 s"},
          {"file_size", "rlimit, 67108864 bytes"},
          {"memory", "cgroup v1, 2147483648 bytes"},
          {"namespaces", "user,pid,mnt,net,ipc,uts,cgroup"},
          {"no_new_privs", "yes"},
          {"proc", "own"},
          {"processes", "seccomp, one task"},
          {"root", "read-only, listed paths"},
          {"seccomp", seccomp_name(JailKind::run)},
          {"shm", "none"},
          {"tmp", "none"}};
}

Report with(const std::string& primitive, const std::string& in_force) {
  Report report = full_report();
  report[primitive] = in_force;
  return report;
}

TEST(FullJailTest, IsFullWithEitherVersionOfCgroups) {
  EXPECT_TRUE(is_full_jail(full_report()));
  EXPECT_TRUE(is_full_jail(with("memory", "cgroup v2, 536870912 bytes")));
}

TEST(FullJailTest, ContractHostMayHaveThreadsAndNeedsItsOwnFilter) {
  Report report = with("processes", "cgroup v1, 256 tasks");
  EXPECT_FALSE(is_full_jail(report, JailKind::host)) << "the filter of another kind";
  report["seccomp"] = seccomp_name(JailKind::host);
  EXPECT_TRUE(is_full_jail(report, JailKind::host));
  EXPECT_FALSE(is_full_jail(report));
}

TEST(FullJailTest, AnRlimitDoesNotReplaceACgroup) {
  const Report report = with("memory", "rlimit, 2147483648 bytes of addresses");
  EXPECT_FALSE(is_full_jail(report));
  EXPECT_THAT(missing_primitives(report), ElementsAre("memory"));
}

TEST(FullJailTest, NamesEachMissingPrimitive) {
  const Report fallbacks{{"capabilities", "some"},
                         {"core_account", "none"},
                         {"namespaces", "user,pid,mnt,net,ipc,uts"},
                         {"no_new_privs", "no"},
                         {"processes", "rlimit"},
                         {"seccomp", "none"}};
  for (const auto& [primitive, in_force] : fallbacks) {
    EXPECT_THAT(missing_primitives(with(primitive, in_force)), ElementsAre(primitive));
  }
  EXPECT_THAT(missing_primitives(with("seccomp", seccomp_name(JailKind::shell))),
              ElementsAre("seccomp"));
}

TEST(FullJailTest, APrimitiveWithoutAReportIsMissing) {
  Report report = full_report();
  for (const char* primitive : {"memory", "namespaces", "seccomp"}) report.erase(primitive);
  EXPECT_THAT(missing_primitives(report), ElementsAre("memory", "namespaces", "seccomp"));
  EXPECT_EQ(missing_primitives({}).size(), 10U);
}

TEST(FullJailTest, ALauncherNeedsItsDevicesAndMayHaveThreads) {
  Report report = with("seccomp", seccomp_name(JailKind::launch));
  report["processes"] = "cgroup v2, 64 tasks";
  report["core_account"] = "none";
  report["host_memory"] = cuda::host_memory_out_of_reach;
  EXPECT_THAT(missing_primitives(report, JailKind::launch), ElementsAre("devices"));
  report["devices"] = "/dev/nvidiactl /dev/nvidia0";
  EXPECT_THAT(missing_primitives(report, JailKind::launch), ElementsAre());
  report["memory"] = "not limited: a GPU's driver, and no cgroup";
  EXPECT_THAT(missing_primitives(report, JailKind::launch), ElementsAre("memory"));
}

TEST(FullJailTest, ALauncherWhoseMemoryKernelsCanReachLacksAPrimitive) {
  Report report = with("seccomp", seccomp_name(JailKind::launch));
  report["devices"] = "/dev/nvidiactl /dev/nvidia0";
  EXPECT_THAT(missing_primitives(report, JailKind::launch), ElementsAre("host_memory"));
  report["host_memory"] = cuda::host_memory_within_reach;
  EXPECT_THAT(missing_primitives(report, JailKind::launch), ElementsAre("host_memory"));
  report["host_memory"] = cuda::host_memory_out_of_reach;
  EXPECT_TRUE(is_full_jail(report, JailKind::launch));
}

TEST(FullJailTest, TheJailsOwnChoicesDoNotMatter) {
  Report report = full_report();
  for (const char* primitive : {"core", "cpu_time", "file_size", "shm", "tmp"}) {
    report.erase(primitive);
  }
  EXPECT_THAT(missing_primitives(report), IsEmpty());
}

}  // namespace
}  // namespace warpsmith::sandbox
