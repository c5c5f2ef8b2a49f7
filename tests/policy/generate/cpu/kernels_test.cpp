// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace warpsmith::policy::kernels {
namespace {

constexpr int64_t inputs = 37, outputs = 75;  // two full panels and a part of a third

/// Numbers in [-1, 1], the same in every run.
std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    seed = seed * 1'664'525U + 1'013'904'223U;
    value = static_cast<float>(seed >> 8U) / static_cast<float>(1U << 23U) - 1.0F;
  }
  return values;
}

class MultiplyTest : public testing::TestWithParam<int64_t> {
 protected:
  std::vector<float> product(int64_t count, Store store) {
    std::vector<float> y(static_cast<size_t>(count * outputs), 1.0F);
    multiply({x_.data(), count, inputs}, packed_, {y.data(), count, outputs}, store);
    return y;
  }
  double expected(int64_t row, int64_t column) const {
    double sum = packed_.bias[static_cast<size_t>(column)];
    for (int64_t k = 0; k < inputs; ++k) {
      sum += static_cast<double>(x_[static_cast<size_t>(row * inputs + k)]) *
             weights_[static_cast<size_t>(column * inputs + k)];
    }
    return sum;
  }

  std::vector<float> x_ = numbers(20 * inputs, 1), weights_ = numbers(outputs * inputs, 2);
  PackedMatrix packed_ = pack_matrix(weights_, outputs, inputs);
};

TEST_P(MultiplyTest, ReplacesOrAddsTheProductWithBias) {
  packed_.bias = numbers(outputs, 3);
  const std::vector<float> replaced = product(GetParam(), Store::replace);
  const std::vector<float> added = product(GetParam(), Store::add);
  for (int64_t i = 0; i < GetParam() * outputs; ++i) {
    const double sum = expected(i / outputs, i % outputs);
    // 38 terms of at most 1, each rounded.
    EXPECT_NEAR(replaced[static_cast<size_t>(i)], sum, 38 * 38 * 0x1p-24) << "element " << i;
    EXPECT_NEAR(added[static_cast<size_t>(i)], sum + 1, 39 * 39 * 0x1p-24) << "element " << i;
  }
}

// A sequence's tokens must not depend on the rest of the batch.
TEST_P(MultiplyTest, ARowDoesNotDependOnTheNumberOfRows) {
  const std::vector<float> alone = product(1, Store::replace);
  std::vector<float> beside = product(GetParam(), Store::replace);
  beside.resize(alone.size());
  EXPECT_EQ(beside, alone);
}

INSTANTIATE_TEST_SUITE_P(Rows, MultiplyTest, testing::Values(1, 2, 3, 5, 6, 7, 8, 13, 20));

}  // namespace
}  // namespace warpsmith::policy::kernels
