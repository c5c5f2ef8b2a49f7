// SPDX-License-Identifier: Apache-2.0
#include "policy/model/libtorch_runtime.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace warpsmith::policy {
namespace {

TEST(ThreadsTest, AThreadKeepsItsNumberWhenAnotherThreadSetsOne) {
  const int before = at::get_num_threads();
  std::promise<void> is_set;
  std::promise<void> other_is_set;
  int seen = 0;
  std::thread learner([&] {
    use_threads(3);
    is_set.set_value();
    other_is_set.get_future().wait();
    seen = at::get_num_threads();
  });
  is_set.get_future().wait();
  std::thread generator([] { use_threads(2); });
  generator.join();
  other_is_set.set_value();
  learner.join();
  EXPECT_EQ(seen, 3);
  use_threads(before);
}

}  // namespace
}  // namespace warpsmith::policy
