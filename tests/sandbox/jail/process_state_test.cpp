// SPDX-License-Identifier: Apache-2.0
// The parsers of /proc.
#include "sandbox/jail/process_state.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace warpsmith::sandbox {
namespace {

TEST(ProcessStateTest, ReadsStateParentAndThreadsAfterAnyName) {
  const auto state =
      parse_stat("17 (a) R 9 (b) T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 42 0 99\n");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->letter, 'T');
  EXPECT_EQ(state->parent, 1);
  EXPECT_EQ(state->threads, 42);
}

TEST(ProcessStateTest, RefusesCutLines) {
  EXPECT_FALSE(parse_stat(""));
  EXPECT_FALSE(parse_stat("17 (x"));
  EXPECT_FALSE(parse_stat("17 (x) "));
  EXPECT_FALSE(parse_stat("17 (x) T 1 2 3"));
}

TEST(ProcessStateTest, ListsChildrenUntilTheyAreReaped) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  EXPECT_EQ(children_of(::getpid()), std::vector<pid_t>{child});
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(children_of(::getpid()).empty());
}

TEST(ProcessStateTest, ReadsConfinement) {
  const std::string status =
      "Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
      "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
      "Seccomp_filters:\t2\n";
  const ConfinementState state = parse_status(status);
  EXPECT_TRUE(state.no_new_privs);
  EXPECT_TRUE(state.no_capabilities);
  EXPECT_EQ(state.seccomp_filters, 2);
  EXPECT_FALSE(parse_status("CapEff:\t0000000000000001\n").no_capabilities);
  EXPECT_FALSE(parse_status("").no_capabilities);
}

}  // namespace
}  // namespace warpsmith::sandbox
