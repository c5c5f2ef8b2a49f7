// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/profiled_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using cuda::KernelRecord;
using cuda::RecordKind;

/// Two kernels and a copy per call; calls begin 1 ms apart.
std::vector<KernelRecord> calls_of(const std::vector<int64_t>& first_kernel_ns) {
  std::vector<KernelRecord> records;
  int64_t at = 1'700'000'000'000'000'000;
  for (const int64_t ns : first_kernel_ns) {
    records.push_back({.name = "a", .start_ns = at, .duration_ns = ns, .grid = {4, 1, 1}});
    records.push_back({.name = "b", .start_ns = at + 20'000, .duration_ns = 500});
    records.push_back({.kind = RecordKind::copy, .start_ns = at + 30'000, .duration_ns = 700});
    records.back().bytes = 64;
    at += 1'000'000;
  }
  return records;
}

TEST(FoldCallsTest, TakesMediansWithoutTheFirstCall) {
  const auto folded = fold_calls(calls_of({90'000, 3'000, 5'000, 4'000}), 4);
  ASSERT_TRUE(folded);
  ASSERT_EQ(folded->size(), 3U);
  EXPECT_DOUBLE_EQ((*folded)[0].time_us, 4);
  EXPECT_DOUBLE_EQ((*folded)[0].start_us, 0);
  EXPECT_DOUBLE_EQ((*folded)[1].start_us, 20);
  EXPECT_EQ((*folded)[2].name, "copy");
  EXPECT_EQ((*folded)[2].bytes, 64U);
  EXPECT_FALSE((*folded)[2].local_bytes);
  EXPECT_DOUBLE_EQ(total_us({.kernels = *folded}), 4 + 0.5 + 0.7);
}

TEST(FoldCallsTest, DetectsLostRecords) {
  auto records = calls_of({1, 2, 3});
  records.pop_back();
  EXPECT_EQ(fold_calls(records, 3).error().message, "8 records of 3 equal calls");
  records = calls_of({1, 2, 3});
  records[4].name = "c";
  EXPECT_THAT(fold_calls(records, 3).error().message, testing::HasSubstr("differ"));
}

TEST(FoldCallsTest, NoRecordsGiveNoKernels) {
  EXPECT_TRUE(fold_calls({}, 3)->empty());
}

TEST(AddCountersTest, GivesEveryKernelItsCountersAndACopyNone) {
  CallKernels party{.kernels = fold_calls(calls_of({1, 2, 3}), 3).value()};
  add_counters(party, std::vector<cuda::KernelCounters>{{.flops = 1}, {.flops = 2}});
  EXPECT_EQ(party.uncounted, "");
  EXPECT_EQ(party.kernels[0].counters->flops, 1);
  EXPECT_EQ(party.kernels[1].counters->flops, 2);
  EXPECT_FALSE(party.kernels[2].counters);
}

TEST(AddCountersTest, ReportsAWrongNumberOfKernels) {
  CallKernels party{.kernels = fold_calls(calls_of({1, 2, 3}), 3).value()};
  add_counters(party, std::vector<cuda::KernelCounters>(3));
  EXPECT_EQ(party.uncounted, "counters of 3 kernels, expected 2");
  EXPECT_FALSE(party.kernels[0].counters);
  add_counters(party, fail(ErrorCode::unsupported, "no permission"));
  EXPECT_EQ(party.uncounted, "no permission");
}

TEST(RatesTest, AreAmountsOverTheRecordedTime) {
  ProfiledKernel kernel{.time_us = 10};
  EXPECT_FALSE(rates_of(kernel));
  kernel.counters = {.dram_read_bytes = 3e6, .dram_written_bytes = 1e6, .flops = 2e7};
  const auto rates = rates_of(kernel);
  ASSERT_TRUE(rates);
  EXPECT_DOUBLE_EQ(rates->gbytes_per_s, 400);
  EXPECT_DOUBLE_EQ(rates->gflops_per_s, 2000);
  kernel.time_us = 0;
  EXPECT_FALSE(rates_of(kernel));
}

TEST(FoldCallsTest, NamesAreShortAndPrintable) {
  EXPECT_EQ(clean_name("k\n\x1b[31m\xff"), "k??[31m?");
  EXPECT_EQ(clean_name(std::string(5000, 'k')).size(), 200U);
  EXPECT_EQ(clean_name(""), "?");
}

}  // namespace
}  // namespace warpsmith::sandbox
