// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "sandbox/judge/guards.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr StreamKey key{1, 2, 3};
constexpr size_t count = 1 << 16;

std::vector<float> filled(FillRule rule, uint64_t set = 0, size_t elements = count) {
  Keystream stream(key, set, 0);
  std::vector<float> values(elements);
  fill_floats(values, rule, stream);
  return values;
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<float>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const float v : values)
    sum += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(KeystreamTest, MatchesAes256CounterMode) {
  // AES-256 of the zero block under the zero key: dc95c078a2408989ad48a21492842087 (NIST CAVP).
  Keystream stream(StreamKey{}, 0, 0);
  std::array<std::byte, 16> block{};
  stream.fill(block);
  EXPECT_EQ(block[0], std::byte{0xdc});
  EXPECT_EQ(block[15], std::byte{0x87});
}

TEST(KeystreamTest, SetsAndTensorsHaveTheirOwnStreams) {
  std::set<uint64_t> firsts;
  for (uint64_t set = 0; set < 8; ++set) {
    for (uint32_t tensor = 0; tensor < 8; ++tensor) {
      uint64_t first = 0;
      Keystream(key, set, tensor).fill(std::as_writable_bytes(std::span{&first, 1}));
      firsts.insert(first);
    }
  }
  EXPECT_EQ(firsts.size(), 64U);
}

TEST(InputsTest, RepeatForTheSameKeyAndDifferForEverySet) {
  EXPECT_EQ(filled({}), filled({}));
  EXPECT_NE(filled({}, 0), filled({}, 1));
}

TEST(InputsTest, FollowTheirDistributions) {
  EXPECT_NEAR(mean_of(filled({Distribution::normal})), 0, 0.02);
  EXPECT_NEAR(deviation_of(filled({Distribution::normal})), 1, 0.02);
  EXPECT_NEAR(mean_of(filled({Distribution::shifted})), 2.5, 0.02);
  EXPECT_NEAR(deviation_of(filled({Distribution::dense})), 1 / std::sqrt(3.0), 0.01);
  const auto sparse = filled({Distribution::sparse});
  const auto zeros = std::count(sparse.begin(), sparse.end(), 0.0F);
  EXPECT_NEAR(static_cast<double>(zeros) / count, 15.0 / 16, 0.01);
}

TEST(InputsTest, WideCoversItsMagnitudesWithBothSigns) {
  const auto values = filled({Distribution::wide});
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_LT(*low, -128.0F);
  EXPECT_GT(*high, 128.0F);
  EXPECT_LT(*high, 256.0F);
  for (const float v : values) EXPECT_GE(std::fabs(v), 0x1p-8F);
}

TEST(InputsTest, HugePutsOneElementIntoEachRow) {
  const auto values = filled({.distribution = Distribution::huge, .row = 256});
  for (size_t row = 0; row < count; row += 256) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row);
    EXPECT_EQ(std::count_if(first, first + 256, [](float v) { return std::fabs(v) >= 1024.0F; }),
              1);
  }
}

TEST(InputsTest, HugeElementsAreOftenAtTheEndsOfTheirRows) {
  constexpr size_t row = 16;
  const auto values = filled({.distribution = Distribution::huge, .row = row});
  double first = 0, last = 0;
  for (size_t start = 0; start < count; start += row) {
    first += std::fabs(values[start]) >= 1024.0F ? 1 : 0;
    last += std::fabs(values[start + row - 1]) >= 1024.0F ? 1 : 0;
  }
  const double share = 0.25 + 0.5 / row, rows = static_cast<double>(count) / row;
  EXPECT_NEAR(first / rows, share, 0.1);
  EXPECT_NEAR(last / rows, share, 0.1);
}

TEST(InputsTest, KeepToTheirDomain) {
  for (size_t d = 0; d < enum_names<Distribution>.size(); ++d) {
    const auto distribution = static_cast<Distribution>(d);
    for (const float v : filled({distribution, Domain::non_negative, 64})) ASSERT_GE(v, 0.0F);
    for (const float v : filled({distribution, Domain::unit, 64})) {
      ASSERT_GT(v, 0.0F);
      ASSERT_LT(v, 1.0F);
    }
  }
}

TEST(InputsTest, FillEveryElementOfOddSizes) {
  for (const size_t elements : {1UL, 15UL, 4095UL, 4097UL, 8193UL}) {
    const auto values = filled({Distribution::dense}, 0, elements);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0F), 0) << elements;
  }
}

/// By distribution and domain: hashes from the first calibration of the generator.
TEST(InputsTest, HaveTheSameBitsAsAtTheFirstCalibration) {
  constexpr std::array<std::array<uint64_t, 3>, enum_names<Distribution>.size()> expected{
      {{0x6D4406A4E60E4C73ULL, 0x3429F07416F8DADEULL, 0x93CC1D6EF8363088ULL},
       {0x272BF2C2587622BDULL, 0x96873ECCB89D9587ULL, 0xB3F88083AADE50D1ULL},
       {0x9CD57183C2D53C42ULL, 0x90FA56BA16BB3874ULL, 0x629A9C5397A35A0EULL},
       {0x66E885639B7A99C2ULL, 0xF5E67BFEB0B4ECAEULL, 0x93CC1D6EF8363088ULL},
       {0x0ACCF057A545AA66ULL, 0x957BAFAE5D04CDB0ULL, 0x188E1E4BE46E8470ULL},
       {0xFCA978C67B19262FULL, 0xDCF92A3DDC44E40DULL, 0x0C5F35C3E6AB297FULL}}};
  for (size_t d = 0; d < enum_names<Distribution>.size(); ++d) {
    for (size_t m = 0; m < 3; ++m) {
      Keystream stream(key, 7, 3);
      std::vector<float> values(10'007);
      fill_floats(values, {static_cast<Distribution>(d), static_cast<Domain>(m), 129}, stream);
      EXPECT_EQ(content_hash(std::as_bytes(std::span{values})), expected[d][m]) << d << m;
    }
  }
}

TEST(InputsTest, ParametersHaveTheSameBitsAsAtTheFirstCalibration) {
  const auto hash_of = [](const ParameterRule& rule) {
    Keystream stream(key, 7, 3);
    std::vector<float> values(10'007);
    fill_parameter(values, rule, stream);
    return content_hash(std::as_bytes(std::span{values}));
  };
  EXPECT_EQ(hash_of({1, 0, false}), 0x7C61838C2E4192FCULL);
  EXPECT_EQ(hash_of({-2, 0.1, false}), 0x7E7E99D01C74DD99ULL);
  EXPECT_EQ(hash_of({0.25, 0.5, true}), 0x51293757B853406FULL);
}

TEST(InputsTest, ParametersVaryAroundTheirInitialValues) {
  Keystream stream(key, 0, 0);
  std::vector<float> values(count);
  fill_parameter(values, {.mean = 1, .deviation = 0}, stream);
  EXPECT_NEAR(mean_of(values), 1, 0.01);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, 0.5F);
  EXPECT_LE(*high, 1.5F);
  fill_parameter(values, {.mean = -2, .deviation = 0.1}, stream);
  EXPECT_NEAR(deviation_of(values), 0.1, 0.01);
}

}  // namespace
}  // namespace warpsmith::sandbox
