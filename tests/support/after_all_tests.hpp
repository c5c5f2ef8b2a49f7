// SPDX-License-Identifier: Apache-2.0
// Releases what the suites of a program share after all of them, not in the destructor of a static
// object, which may run after the objects that it needs are gone.
#pragma once

#include <gtest/gtest.h>

namespace warpsmith::test_support {

class AfterAllTests final : public ::testing::Environment {
 public:
  explicit AfterAllTests(void (*release)()) : release_(release) {}
  void TearDown() override { release_(); }

 private:
  void (*release_)();
};

/// For the initialiser of a static object: googletest accepts it only before the first test.
inline bool after_all_tests(void (*release)()) {
  (void)::testing::AddGlobalTestEnvironment(new AfterAllTests(release));
  return true;
}

}  // namespace warpsmith::test_support
