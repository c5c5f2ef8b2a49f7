// SPDX-License-Identifier: Apache-2.0
// What the suites of a program share is let go when all of them are done, and not by a destructor
// of a static object: what it needs may be gone by then.
#pragma once

#include <gtest/gtest.h>

namespace warpsmith::test_support {

class AfterAllTests final : public ::testing::Environment {
 public:
  explicit AfterAllTests(void (*let_go)()) : let_go_(let_go) {}
  void TearDown() override { let_go_(); }

 private:
  void (*let_go_)();
};

/// For the initialiser of a static object: googletest takes it before the first test only.
inline bool after_all_tests(void (*let_go)()) {
  (void)::testing::AddGlobalTestEnvironment(new AfterAllTests(let_go));
  return true;
}

}  // namespace warpsmith::test_support
