// SPDX-License-Identifier: Apache-2.0
// Ranks as threads: sums and exchanges, failures and deadlines.
#include "policy/learn/ranks/threaded_group.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "runtime/clock.hpp"

namespace warpsmith::policy {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::unique_ptr<RankGroup> group_of(size_t ranks, milliseconds timeout = milliseconds{120'000}) {
  return make_rank_group({.devices = {ranks, at::Device(at::kCPU)},
                          .threads = 1,
                          .timeout = timeout,
                          .grace = milliseconds{60'000}});
}

/// The message of the failure of `work`.
std::string failure_of(RankGroup& group, const RankGroup::Work& work) {
  try {
    group.run(work);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ThreadedGroupTest, EveryRankWorksOnce) {
  const auto group = group_of(3);
  std::array<std::atomic<int>, 3> calls{};
  for (int i = 0; i < 100; ++i) group->run([&](size_t rank, Collective&) { ++calls[rank]; });
  for (const auto& count : calls) EXPECT_EQ(count, 100);
}

TEST(ThreadedGroupTest, ReduceScatterSumsAndAllGatherCompletes) {
  const auto group = group_of(3);
  std::array<at::Tensor, 3> all;
  for (int round = 0; round < 50; ++round) {
    group->run([&](size_t rank, Collective& collective) {
      const auto part = static_cast<int64_t>(rank) * 2;
      all[rank] = at::arange(6, at::kFloat) + static_cast<double>(rank) * 10;
      at::Tensor own = all[rank].narrow(0, part, 2);
      collective.reduce_scatter(all[rank], own);
      collective.all_gather(own, all[rank]);
    });
    for (const at::Tensor& sum : all) EXPECT_TRUE(sum.equal(at::arange(6, at::kFloat) * 3 + 30));
  }
}

TEST(ThreadedGroupTest, RankThatFailsReleasesTheOthersAndIsNamed) {
  const auto group = group_of(3);
  const auto start = SteadyClock::now();
  const std::string why = failure_of(*group, [](size_t rank, Collective& collective) {
    if (rank == 1) throw std::runtime_error("out of memory");
    at::Tensor all = at::zeros({3});
    at::Tensor own = all.narrow(0, static_cast<int64_t>(rank), 1);
    collective.reduce_scatter(all, own);
  });
  EXPECT_THAT(why, HasSubstr("rank 1 of 3 (cpu): out of memory"));
  EXPECT_LT(SteadyClock::now() - start, milliseconds{30'000}) << "not at the timeout of 120 s";
  EXPECT_EQ(failure_of(*group, [](size_t, Collective&) {}), why) << "no later work succeeds";
}

TEST(ThreadedGroupTest, RankThatIsLateIsNamedAtTheDeadline) {
  std::string why, expected;
  // If the machine stalls, rank 0 is late too; then tries again with more time.
  for (const milliseconds timeout :
       {milliseconds{100}, milliseconds{1'000}, milliseconds{10'000}}) {
    const auto group = group_of(2, timeout);
    why = failure_of(*group, [&](size_t rank, Collective&) {
      if (rank == 1) std::this_thread::sleep_for(3 * timeout);
    });
    expected = "rank 1 of 2 (cpu) did not finish its work within " +
               std::to_string(timeout.count()) + " ms";
    if (why.find(expected) != std::string::npos) break;
  }
  EXPECT_THAT(why, HasSubstr(expected));
}

TEST(ThreadedGroupTest, RankThatSkipsACollectiveEndsTheWaitOfTheOthers) {
  const auto group = group_of(2, milliseconds{100});
  const std::string why = failure_of(*group, [](size_t rank, Collective& collective) {
    if (rank == 1) return;
    at::Tensor all = at::zeros({2});
    at::Tensor own = all.narrow(0, 0, 1);
    collective.reduce_scatter(all, own);
  });
  EXPECT_THAT(why, HasSubstr("rank 0 of 2 (cpu)"));
}

TEST(ThreadedGroupTest, MessagesOfTensorErrorsHaveNoBacktrace) {
  const auto group = group_of(2);
  const std::string why = failure_of(*group, [](size_t rank, Collective&) {
    if (rank == 1) (void)at::zeros({2}).view({3});
  });
  EXPECT_THAT(why, HasSubstr("rank 1 of 2"));
  EXPECT_THAT(why, testing::Not(HasSubstr("frame #0")));
}

}  // namespace
}  // namespace warpsmith::policy
