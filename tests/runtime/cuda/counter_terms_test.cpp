// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/counter_terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace warpsmith::cuda {
namespace {

using ::testing::HasSubstr;

/// Metrics that CUPTI 13 lists for Hopper, with similar ones that must not be counted.
std::vector<std::string> hopper_metrics() {
  const std::string instructions = "smsp__sass_thread_inst_executed_";
  return {"dram__bytes",
          "dram__bytes_read",
          "dram__bytes_write",
          "sm__warps_active",
          instructions + "ops_fadd_fmul_ffma_pred_on",
          instructions + "op_ffma_pred_on",
          instructions + "ops_dadd_dmul_dfma_pred_on",
          instructions + "op_dfma_pred_on",
          instructions + "ops_hadd_hmul_hfma_pred_on",
          instructions + "op_hfma_pred_on",
          "sm__ops_path_tensor_src_fp16",
          "sm__ops_path_tensor_src_tf32_dst_fp32",
          "sm__ops_path_tensor_src_int8",
          "sm__ops_path_tensor_src_fp8_sparsity_on"};
}

KernelCounters counters_for(const std::vector<CounterTerm>& terms,
                            const std::vector<std::pair<std::string, double>>& counted) {
  std::vector<double> values(terms.size());
  for (const auto& [metric, value] : counted) {
    const auto found = std::ranges::find(terms, metric, &CounterTerm::metric);
    if (found == terms.end()) throw std::runtime_error("no term for " + metric);
    values[static_cast<size_t>(found - terms.begin())] = value;
  }
  return counters_of(terms, values);
}

TEST(CounterTermsTest, MultiplyAddsCountTwiceAndHalfInstructionsCountPairs) {
  const auto terms = counter_terms(hopper_metrics());
  ASSERT_TRUE(terms) << terms.error().message;
  const std::string instructions = "smsp__sass_thread_inst_executed_";
  const KernelCounters counters =
      counters_for(*terms, {{instructions + "ops_fadd_fmul_ffma_pred_on.sum", 10},
                            {instructions + "op_ffma_pred_on.sum", 7},
                            {instructions + "ops_hadd_hmul_hfma_pred_on.sum", 100},
                            {instructions + "op_hfma_pred_on.sum", 100},
                            {instructions + "ops_dadd_dmul_dfma_pred_on.sum", 1000},
                            {"sm__ops_path_tensor_src_fp16.sum", 5},
                            {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 3},
                            {"dram__bytes_read.sum", 64},
                            {"dram__bytes_write.sum", 32},
                            {"sm__warps_active.avg.pct_of_peak_sustained_active", 75}});
  EXPECT_DOUBLE_EQ(counters.flops, 10 + 7 + 2 * 100 + 2 * 100 + 1000);
  EXPECT_DOUBLE_EQ(counters.tensor_flops, 8);
  EXPECT_DOUBLE_EQ(counters.dram_read_bytes, 64);
  EXPECT_DOUBLE_EQ(counters.dram_written_bytes, 32);
  EXPECT_DOUBLE_EQ(counters.warps_active, 0.75);
}

TEST(CounterTermsTest, IntegerAndSparseOperationsAreNotCounted) {
  const auto terms = counter_terms(hopper_metrics());
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->size(), 11U);
  for (const CounterTerm& term : *terms) {
    EXPECT_THAT(term.metric, ::testing::Not(HasSubstr("int8")));
    EXPECT_THAT(term.metric, ::testing::Not(HasSubstr("sparsity")));
  }
}

TEST(CounterTermsTest, AcceptsTheOtherNameOfACounter) {
  std::vector<std::string> known = hopper_metrics();
  known[1] = "dram__bytes_op_read";
  known.push_back("smsp__sass_thread_inst_executed_ops_fadd2_fmul2_ffma2_pred_on");
  const auto terms = counter_terms(known);
  ASSERT_TRUE(terms) << terms.error().message;
  const KernelCounters counters = counters_for(
      *terms, {{"dram__bytes_op_read.sum", 9},
               {"smsp__sass_thread_inst_executed_ops_fadd2_fmul2_ffma2_pred_on.sum", 4}});
  EXPECT_DOUBLE_EQ(counters.dram_read_bytes, 9);
  EXPECT_DOUBLE_EQ(counters.flops, 8);
}

TEST(CounterTermsTest, MissingCounterIsNamed) {
  std::vector<std::string> known = hopper_metrics();
  known.erase(known.begin() + 3);
  const auto terms = counter_terms(known);
  ASSERT_FALSE(terms);
  EXPECT_EQ(terms.error().code, ErrorCode::unsupported);
  EXPECT_EQ(terms.error().message, "this GPU has no counter sm__warps_active");
}

}  // namespace
}  // namespace warpsmith::cuda
