// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's range profiler that needs no GPU, for chips by name.
#include "runtime/cuda/counter_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/cupti.hpp"

namespace warpsmith::cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StrEq;

class CounterConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto cupti = load_cupti();
    if (!cupti) GTEST_SKIP() << cupti.error().message;
    cupti_.emplace(*cupti);
  }

  std::optional<DynamicLibrary> cupti_;
};

TEST_F(CounterConfigTest, CountsOnEveryGenerationOfDataCentreGpus) {
  for (const char* chip : {"GA100", "AD102", "GH100", "GB100", "GB202"}) {
    const auto config = CounterConfig::make(*cupti_, chip, {});
    ASSERT_TRUE(config) << chip << ": " << config.error().message;
    EXPECT_FALSE(config->image().empty()) << chip;
    EXPECT_THAT(config->metrics(), Contains(StrEq("sm__ops_path_tensor_src_bf16_dst_fp32.sum")));
  }
}

TEST_F(CounterConfigTest, UnknownChipIsNamed) {
  const auto config = CounterConfig::make(*cupti_, "XY123", {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::unsupported);
  EXPECT_THAT(config.error().message, HasSubstr("counters of chip XY123: "));
}

}  // namespace
}  // namespace warpsmith::cuda
