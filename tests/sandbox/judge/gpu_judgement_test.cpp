// SPDX-License-Identifier: Apache-2.0
// A GPU judges outputs like the host.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include "sandbox/judge/bench.hpp"
#include "tests/sandbox/judge/gpu_stage.hpp"

namespace warpsmith::sandbox {
namespace {

using test::place_of;
using test::tensor_of;

class GpuJudgementTest : public test::GpuTest {};

constexpr std::array all_types{Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::i64,
                               Dtype::i32, Dtype::i16, Dtype::i8,  Dtype::u8,   Dtype::boolean};

/// One output with its reference, and another output to compare it with.
struct Case {
  std::vector<std::byte> output, baseline;
  std::vector<double> expected;
  std::vector<float> spread, profile;
};

/// Random bits, including NaN, infinities and vanishing spreads. For types that can represent them,
/// some values lie near the expected ones.
Case random_case(Dtype dtype, size_t count, std::mt19937_64& random) {
  const uint64_t width = element_bytes(dtype);
  Case c{std::vector<std::byte>(count * width),
         {},
         std::vector<double>(count),
         std::vector<float>(count),
         std::vector<float>((count + 63) / 64)};
  const auto often = [&](uint64_t one_in) { return random() % one_in == 0; };
  for (std::byte& b : c.output) b = static_cast<std::byte>(random());
  for (size_t i = 0; i < count; ++i) {
    double& e = c.expected[i] = std::ldexp(static_cast<double>(random() >> 11U), -60);
    float& s = c.spread[i] = std::ldexp(static_cast<float>(random() >> 40U), -50);
    if (often(100)) s = 0;
    if (often(100)) s = often(2) ? NAN : INFINITY;
    if (often(200)) e = often(2) ? std::nan("") : -HUGE_VAL;
    const double near = e * (1 + static_cast<double>(random() % 1000) * 1e-9);
    const auto narrow = static_cast<float>(near);
    if (dtype == Dtype::f64 && !often(4)) std::memcpy(&c.output[i * 8], &near, 8);
    if (dtype == Dtype::f32 && !often(4)) std::memcpy(&c.output[i * 4], &narrow, 4);
  }
  c.baseline = c.output;
  for (size_t i = 0; i < count / 20; ++i) c.baseline[random() % c.baseline.size()] ^= std::byte{1};
  for (float& p : c.profile) p = often(30) ? NAN : static_cast<float>(random() % 100) * 1e-7F;
  return c;
}

void expect_equal(const ErrorStats& found, const ErrorStats& expected) {
  EXPECT_DOUBLE_EQ(found.worst, expected.worst);
  EXPECT_EQ(found.wrong, expected.wrong);
  EXPECT_EQ(found.nonfinite, expected.nonfinite);
  EXPECT_EQ(found.undefined, expected.undefined);
  EXPECT_EQ(found.undecided, expected.undecided);
  EXPECT_EQ(found.elements, expected.elements);
}

/// The second half of the candidate's output `k` of set 1 reads back as it was written.
void expect_block(const Bench& bench, size_t k, const Case& written) {
  const size_t count = written.expected.size(), first = count / 2;
  const size_t width = written.output.size() / count;
  const auto block = bench.read_block({Side::candidate, 1}, k, first, count - first);
  EXPECT_TRUE(std::ranges::equal(block.output, std::span(written.output).subspan(first * width)));
  const auto same_bits = [](const auto& a, const auto& b) {
    return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  };
  EXPECT_TRUE(same_bits(std::span(block.value), std::span(written.expected).subspan(first)));
  EXPECT_TRUE(same_bits(std::span(block.spread), std::span(written.spread).subspan(first)));
}

TaskSignature with_outputs(const std::vector<TensorSpec>& outputs) {
  TaskSignature signature;
  signature.tensors = {tensor_of(TensorRole::input, Dtype::f32, {3})};
  for (const TensorSpec& spec : outputs) signature.tensors.push_back(spec);
  return signature;
}

/// Two outputs of a type, the second of `count` elements.
TaskSignature pair_of(Dtype dtype, size_t count) {
  return with_outputs({tensor_of(TensorRole::output, dtype, {100}),
                       tensor_of(TensorRole::output, dtype, {static_cast<int64_t>(count)})});
}

TEST_F(GpuJudgementTest, JudgesByReferencesAsTheHostDoes) {
  std::mt19937_64 random(5);
  for (const Dtype dtype : all_types) {
    for (const size_t count : {1UL, 8UL, 13UL, 100'007UL}) {
      const auto bench = bench_of(pair_of(dtype, count));
      const auto places = reference_places(bench->signature());
      const auto result = result_of(*bench);
      const BoundRule paper = bound_for(Numerics::paper, 4);
      ErrorStats candidates, workers, lax;
      for (const size_t k : {0UL, 1UL}) {
        const Case a = random_case(dtype, places[k].count, random);
        const Case b = random_case(dtype, places[k].count, random);
        result.write(places[k].value, a.expected);
        result.write(places[k].spread, a.spread);
        candidate_of(*bench).write(place_of(*bench, 1, k + 1), a.output);
        worker_of(*bench).write(place_of(*bench, 0, k + 1), b.output);
        candidates.add(compare(dtype, a.output, {a.expected, a.spread}, {.c = 10}));
        workers.add(compare(dtype, b.output, {a.expected, a.spread}, {}));
        lax.add(compare(dtype, a.output, {a.expected, a.spread}, paper));
        expect_block(*bench, k, a);
      }
      SCOPED_TRACE(static_cast<int>(dtype));
      expect_equal(bench->compare_with_reference(Side::candidate, 1, {.c = 10}), candidates);
      expect_equal(bench->compare_with_reference(Side::worker, 0, {}), workers);
      expect_equal(bench->compare_with_reference(Side::candidate, 1, paper), lax);
    }
  }
}

TEST_F(GpuJudgementTest, JudgesByTheWorkersOutputsAsTheHostDoes) {
  std::mt19937_64 random(6);
  for (const Dtype dtype : all_types) {
    for (const size_t count : {1UL, 63UL, 65UL, 100'007UL}) {
      const auto bench = bench_of(pair_of(dtype, count));
      std::vector<std::vector<float>> profiles;
      ErrorStats expected;
      for (const size_t k : {0UL, 1UL}) {
        const Case c = random_case(dtype, k == 0 ? 100 : count, random);
        candidate_of(*bench).write(place_of(*bench, 1, k + 1), c.output);
        worker_of(*bench).write(place_of(*bench, 0, k + 1), c.baseline);
        profiles.push_back(c.profile);
        expected.add(compare_with_baseline(dtype, c.output, c.baseline, c.profile, {}));
      }
      SCOPED_TRACE(static_cast<int>(dtype));
      bench->use_profiles(profiles);
      expect_equal(bench->compare_outputs({Side::candidate, 1}, {Side::worker, 0}, {}), expected);
      EXPECT_TRUE(bench->compare_outputs({Side::worker, 0}, {Side::worker, 0}, {}).right());
      bench->copy_outputs({Side::worker, 0}, {Side::candidate, 0});
      EXPECT_TRUE(bench->compare_outputs({Side::candidate, 0}, {Side::worker, 0}, {}).right());
    }
  }
}

TEST_F(GpuJudgementTest, FindsOneWrongElementAnywhere) {
  constexpr size_t count = 70'003;
  const auto bench = bench_of(with_outputs({tensor_of(TensorRole::output, Dtype::i32, {count})}));
  result_of(*bench).clear();
  const auto view = candidate_of(*bench);
  for (const size_t at : {0UL, 7UL, 8UL, 255UL, 40'000UL, count - 1}) {
    const uint64_t place = place_of(*bench, 0, 1) + 4 * at;
    EXPECT_TRUE(bench->compare_with_reference(Side::candidate, 0, {}).right());
    view.write(place, std::vector<int32_t>{-1});
    const ErrorStats stats = bench->compare_with_reference(Side::candidate, 0, {});
    EXPECT_EQ(stats.wrong, 1U) << at;
    EXPECT_EQ(stats.worst, HUGE_VAL) << "the bound is zero there";
    view.write(place, std::vector<int32_t>{0});
  }
}

TEST_F(GpuJudgementTest, RaisesProfilesAsTheHostDoes) {
  constexpr int64_t many = (1LL << 26) + 100;  // blocks of 128
  const auto bench = bench_of(with_outputs({tensor_of(TensorRole::output, Dtype::f32, {1000}),
                                            tensor_of(TensorRole::output, Dtype::u8, {many})}));
  const auto result = result_of(*bench);
  const auto places = reference_places(bench->signature());
  result.clear();
  std::mt19937_64 random(7);
  std::vector<std::vector<float>> found, expected(2);
  for (int round = 0; round < 3; ++round) {
    const Case c = random_case(Dtype::f32, 1000, random);
    result.write(places[0].spread, c.spread);
    result.write(places[1].spread + (many - 1000) * sizeof(float), c.spread);
    bench->raise_profiles(found);
    expected[0].resize(16);
    expected[1].resize((many + 127) / 128);
    for (size_t i = 0; i < 1000; ++i) {
      float& first = expected[0][i / 64];
      float& second = expected[1][(many - 1000 + i) / 128];
      first = raised(first, c.spread[i]), second = raised(second, c.spread[i]);
    }
  }
  ASSERT_EQ(found.size(), 2U);
  for (const size_t k : {0UL, 1UL}) {
    ASSERT_EQ(found[k].size(), expected[k].size());
    for (size_t i = 0; i < found[k].size(); ++i) {
      if (std::isnan(expected[k][i])) {
        ASSERT_TRUE(std::isnan(found[k][i])) << k << ' ' << i;
      } else {
        ASSERT_EQ(found[k][i], expected[k][i]) << k << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
