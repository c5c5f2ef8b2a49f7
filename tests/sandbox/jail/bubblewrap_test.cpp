// SPDX-License-Identifier: Apache-2.0
// Bubblewrap's command line.
#include "sandbox/jail/bubblewrap.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace warpsmith::sandbox
