// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/retry_policy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace warpsmith::sandbox {
namespace {

/// Tries that fail one after another, and what follows each. The first try has two further
/// baselines.
struct Row {
  const char* name;
  std::vector<FailedTry> tries;
  std::vector<RetryDecision> next;
};

constexpr FailedTry failed(Blame blame, size_t baselines = 2) {
  return {.blame = blame, .baselines = baselines};
}
constexpr FailedTry late(Blame blame, size_t baselines = 2) {
  return {.blame = blame, .time_left = false, .baselines = baselines};
}
constexpr FailedTry ended(size_t baselines = 2) {
  return {.blame = Blame::machine, .baselines = baselines, .ended_worker = true};
}

constexpr FailedTry machine = failed(Blame::machine);
constexpr FailedTry noisy{.blame = Blame::machine, .baselines = 2, .noise = true};

const std::vector<Row>& table() {
  static const std::vector<Row> rows{
      {"a candidate gets a verdict", {failed(Blame::candidate)}, {RetryDecision::verdict}},
      {"also after the deadline", {late(Blame::candidate)}, {RetryDecision::verdict}},
      {"a task is refused", {failed(Blame::task)}, {RetryDecision::refusal}},
      {"also after the deadline", {late(Blame::task)}, {RetryDecision::refusal}},
      {"a passed deadline is a failure", {late(Blame::deadline)}, {RetryDecision::failure}},
      {"and is never tried again", {failed(Blame::deadline)}, {RetryDecision::failure}},
      {"the machine is tried again once",
       {machine, machine},
       {RetryDecision::retry, RetryDecision::failure}},
      {"but not without time", {late(Blame::machine)}, {RetryDecision::failure}},
      {"the second failure decides",
       {machine, failed(Blame::task)},
       {RetryDecision::retry, RetryDecision::refusal}},
      {"a worker may end by chance",
       {ended(), machine},
       {RetryDecision::retry, RetryDecision::failure}},
      {"a task that ends a fresh worker is refused",
       {machine, ended()},
       {RetryDecision::retry, RetryDecision::refusal}},
      {"a dropped baseline uses up no retry",
       {failed(Blame::machine, 1), failed(Blame::machine, 0), failed(Blame::machine, 0), ended(0)},
       {RetryDecision::retry, RetryDecision::retry, RetryDecision::retry, RetryDecision::refusal}},
      {"a baseline that ends a fresh worker is dropped, and the task is not refused",
       {ended(), ended(1), failed(Blame::machine, 1)},
       {RetryDecision::retry, RetryDecision::retry, RetryDecision::failure}},
      {"noise is tried again twice",
       {noisy, noisy, noisy},
       {RetryDecision::retry, RetryDecision::retry, RetryDecision::failure}},
      {"together with a fault of the machine",
       {noisy, machine, noisy, machine},
       {RetryDecision::retry, RetryDecision::retry, RetryDecision::retry, RetryDecision::failure}},
      {"a dropped baseline needs time, too", {late(Blame::machine, 1)}, {RetryDecision::failure}},
  };
  return rows;
}

TEST(RetryPolicyTest, FollowsTheTable) {
  for (const Row& row : table()) {
    RetryPolicy policy(2);
    for (size_t i = 0; i < row.tries.size(); ++i) {
      EXPECT_EQ(policy.after(row.tries[i]), row.next[i]) << row.name << ", try " << i + 1;
    }
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
