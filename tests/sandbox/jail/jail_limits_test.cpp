// SPDX-License-Identifier: Apache-2.0
// Control groups of versions 1 and 2.
#include "sandbox/jail/jail_limits.hpp"

#include <gtest/gtest.h>

#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

TEST(CgroupTest, FindsVersionOneControllersAndOurGroup) {
  const auto mounts = parse_cgroup_mounts(
      "30 29 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
      "31 29 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
      "32 29 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n",
      "9:pids:/\n4:memory:/api/abc\n0::/\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_TRUE(mounts[0].memory);
  EXPECT_EQ(mounts[0].folder, "/sys/fs/cgroup/memory/api/abc");
  EXPECT_TRUE(mounts[1].pids);
  EXPECT_EQ(mounts[1].folder, "/sys/fs/cgroup/pids");
}

TEST(CgroupTest, FindsVersionTwoBelowTheMountsRoot) {
  const auto mounts =
      parse_cgroup_mounts("30 29 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n",
                          "0::/docker/x/inner\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_TRUE(mounts[0].v2);
  EXPECT_EQ(mounts[0].folder, "/sys/fs/cgroup/inner");
  EXPECT_EQ(mounts[0].top, "/sys/fs/cgroup");
}

TEST(CgroupTest, IgnoresPathsThatLeaveTheMount) {
  const auto mounts = parse_cgroup_mounts("30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
                                          "0::/../../etc\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].folder, "/sys/fs/cgroup");
}

TEST(CgroupTest, NamesTheLimitsThatAreMissing) {
  EXPECT_TRUE(all_in_force({{"memory", "x"}, {"processes", "y"}}).has_value());
  const auto none = all_in_force({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
  EXPECT_NE(none.error().message.find("limits memory and processes:"), std::string::npos);
  const auto half = all_in_force({{"memory", "x"}});
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("limits processes:"), std::string::npos);
}

TEST(CgroupTest, AJailThatRequiresThemStartsOnlyWithThem) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/true"};
  spec.limits.cgroup_required = true;
  const auto jail = JailedProcess::start(spec);
  const auto here = probe_cgroups();
  EXPECT_EQ(jail.has_value(), here.has_value());
  if (!here) {
    EXPECT_EQ(jail.error().message, here.error().message);
  }
}

TEST(CgroupTest, SurvivesGarbage) {
  EXPECT_TRUE(parse_cgroup_mounts("nonsense\n- -\n\n", ":::\n").empty());
}

}  // namespace
}  // namespace warpsmith::sandbox
