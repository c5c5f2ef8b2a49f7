// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/seed.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

TEST(SeedTest, DiffersAtEveryDraw) {
  const auto first = draw_seed(), second = draw_seed();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->reveal(), second->reveal());
  EXPECT_NE(first->key(), second->key());
}

TEST(SeedTest, RevealsSeedAndSalt) {
  const SecretSeed seed{.seed = 0x0123456789abcdefULL, .salt = {1, 2, 3}};
  EXPECT_EQ(seed.reveal(), "0123456789abcdef01020300000000000000000000000000");
}

TEST(SeedTest, TheKeyDependsOnTheSalt) {
  EXPECT_NE((SecretSeed{.seed = 7, .salt = {1}}.key()), (SecretSeed{.seed = 7, .salt = {2}}.key()));
}

}  // namespace
}  // namespace warpsmith::sandbox
