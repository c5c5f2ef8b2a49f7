// SPDX-License-Identifier: Apache-2.0
// Contents on a GPU follow the host's rules applied to ChaCha20's words, bit for bit.
#include <bit>

#include "sandbox/judge/element_types.hpp"
#include "tests/sandbox/judge/gpu_stage.hpp"
#include "tests/sandbox/judge/reference_stream.hpp"

namespace warpsmith::sandbox {
namespace {

using test::place_of;
using test::ReferenceStream;
using test::tensor_of;
using test::test_key;

class GpuContentsTest : public test::GpuTest {};

constexpr uint64_t number = 0xABCDEF0123ULL;
constexpr int64_t rows = 39, row = 129;  // not multiples of a tile or of four elements
constexpr std::array float_types{Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16};

/// The result of the host's rules on the words of one tensor.
class Expected {
 public:
  Expected(uint64_t set, uint32_t tensor)
      : planes_{ReferenceStream{test_key, set, tensor, 0},
                {test_key, set, tensor, 1},
                {test_key, set, tensor, 2},
                {test_key, set, tensor, huge_plane}} {}

  float drawn(Distribution distribution, uint64_t i) {
    switch (distribution) {
      case Distribution::dense:
        return dense_value(planes_[0].of_element(i));
      case Distribution::wide:
        return wide_value(planes_[0].of_element(i));
      case Distribution::sparse:
        return sparse_value(planes_[0].of_element(i), low(planes_[1].of_element(i)));
      case Distribution::shifted:
        return normal(i) + shift;
      case Distribution::normal:
      case Distribution::huge:
        break;
    }
    return normal(i);
  }

  std::vector<float> input(Distribution distribution, Domain domain, uint64_t count,
                           uint64_t length) {
    std::vector<float> values(count);
    for (uint64_t i = 0; i < count; ++i) values[i] = restricted(domain, drawn(distribution, i));
    if (distribution != Distribution::huge || domain == Domain::unit || length < 2) return values;
    for (uint64_t r = 0; r * length < count; ++r) {
      const auto word = [&](uint32_t k) { return planes_[3].word(r, k); };
      values.at(r * length + place_of_huge(word(0), word(2), length)) = huge_value(domain, word(1));
    }
    return values;
  }

  std::vector<float> parameter(const ParameterRule& rule, uint64_t count) {
    const auto distribution = rule.deviation == 0 ? Distribution::dense : Distribution::normal;
    std::vector<float> values(count);
    for (uint64_t i = 0; i < count; ++i) values[i] = parameter_value(rule, drawn(distribution, i));
    return values;
  }

 private:
  static uint16_t low(uint32_t word) { return static_cast<uint16_t>(word & 0xFFFFU); }
  static uint16_t high(uint32_t word) { return static_cast<uint16_t>(word >> 16U); }
  float normal(uint64_t i) {
    const uint32_t a = planes_[0].of_element(i), b = planes_[1].of_element(i);
    return normal_value(low(a) + high(a) + low(b) + high(b), low(planes_[2].of_element(i)));
  }

  std::array<ReferenceStream, 4> planes_;
};

/// `values` as elements of `dtype`.
std::vector<std::byte> as_elements(Dtype dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes;
  const auto append = [&](auto element) {
    const auto made = std::bit_cast<std::array<std::byte, sizeof element>>(element);
    bytes.insert(bytes.end(), made.begin(), made.end());
  };
  for (const float v : values) {
    if (dtype == Dtype::f32) append(v);
    if (dtype == Dtype::f64) append(static_cast<double>(v));
    if (dtype == Dtype::f16) append(float_to_half(v));
    if (dtype == Dtype::bf16) append(float_to_bfloat(v));
  }
  return bytes;
}

TaskSignature of_every_type(TensorRole role) {
  TaskSignature signature;
  for (const Dtype dtype : float_types) {
    signature.tensors.push_back(tensor_of(role, dtype, {rows, row}));
  }
  signature.tensors.push_back(tensor_of(TensorRole::output, Dtype::f32, {1}));
  return signature;
}

TEST_F(GpuContentsTest, InputsFollowTheHostsRulesForEveryTypeAndDistribution) {
  const auto bench = bench_of(of_every_type(TensorRole::input));
  const auto view = inputs_of(*bench);
  for (size_t d = 0; d < enum_names<Distribution>.size(); ++d) {
    for (const Domain domain : {Domain::free, Domain::non_negative, Domain::unit}) {
      const auto distribution = static_cast<Distribution>(d);
      const std::vector<InputRule> rules(float_types.size(), InputRule{.domain = domain});
      bench->fill(1, {test_key, number, distribution}, rules);
      for (size_t i = 0; i < float_types.size(); ++i) {
        const auto values =
            Expected{number, static_cast<uint32_t>(i)}.input(distribution, domain, rows * row, row);
        const auto expected = as_elements(float_types[i], values);
        ASSERT_EQ(view.read(place_of(*bench, 1, i), expected.size()), expected)
            << to_string(distribution) << ' ' << to_string(domain) << ' ' << i;
      }
    }
  }
}

TEST_F(GpuContentsTest, ParametersFollowTheHostsRulesForEveryType) {
  const auto bench = bench_of(of_every_type(TensorRole::parameter));
  const auto view = inputs_of(*bench);
  for (const ParameterRule& rule : {ParameterRule{1, 0, false}, ParameterRule{-2, 0.1, false},
                                    ParameterRule{0.25, 0.5, true}}) {
    const std::vector<InputRule> rules(float_types.size(),
                                       InputRule{.parameter = true,
                                                 .mean = rule.mean,
                                                 .deviation = rule.deviation,
                                                 .non_negative = rule.non_negative});
    bench->fill(0, {test_key, number, Distribution::huge}, rules);
    for (size_t i = 0; i < float_types.size(); ++i) {
      const auto values = Expected{number, static_cast<uint32_t>(i)}.parameter(rule, rows * row);
      const auto expected = as_elements(float_types[i], values);
      ASSERT_EQ(view.read(place_of(*bench, 0, i), expected.size()), expected) << rule.mean << i;
    }
  }
}

TEST_F(GpuContentsTest, FillWritesOnlyTheTensor) {
  TaskSignature signature;
  signature.tensors = {tensor_of(TensorRole::input, Dtype::f32, {}),
                       tensor_of(TensorRole::input, Dtype::i32, {5}),
                       tensor_of(TensorRole::input, Dtype::f16, {3, 7}),
                       tensor_of(TensorRole::input, Dtype::f32, {0, 4}),
                       tensor_of(TensorRole::output, Dtype::f32, {1})};
  const auto bench = bench_of(signature);
  const auto view = inputs_of(*bench);
  view.clear(0xEE);
  const std::vector<InputRule> rules{{}, {.drawn = true}, {}, {}};
  bench->fill(1, {test_key, number, Distribution::huge}, rules);
  auto bytes = view.read(0, view.bytes());
  const auto erase = [&](size_t tensor) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place_of(*bench, 1, tensor));
    std::fill_n(at, bench->layout().slots[tensor].bytes, std::byte{0xEE});
  };
  EXPECT_NE(std::count(bytes.begin(), bytes.end(), std::byte{0xEE}),
            static_cast<std::ptrdiff_t>(bytes.size()));
  erase(0), erase(2);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0xEE}),
            static_cast<std::ptrdiff_t>(bytes.size()));
}

TEST_F(GpuContentsTest, ContentsDifferBetweenSetsTensorsAndKeys) {
  TaskSignature signature;
  signature.tensors = {tensor_of(TensorRole::input, Dtype::f32, {4}),
                       tensor_of(TensorRole::input, Dtype::f32, {4}),
                       tensor_of(TensorRole::output, Dtype::f32, {1})};
  const auto bench = bench_of(signature);
  const auto view = inputs_of(*bench);
  const StreamKey other{1};
  const auto first_of = [&](const StreamKey& key, uint64_t set, size_t tensor) {
    bench->fill(0, {key, set, Distribution::dense}, std::vector<InputRule>(2));
    return view.read<float>(place_of(*bench, 0, tensor), 1).front();
  };
  const float value = first_of(test_key, 1, 0);
  EXPECT_EQ(first_of(test_key, 1, 0), value);
  EXPECT_NE(first_of(test_key, 1, 1), value);
  EXPECT_NE(first_of(test_key, 2, 0), value);
  EXPECT_NE(first_of(test_key, 1ULL << 40U | 1, 0), value);
  EXPECT_NE(first_of(other, 1, 0), value);
}

TEST_F(GpuContentsTest, TensorsMayHaveMoreElementsThan2To31) {
  constexpr int64_t elements = (1LL << 31) + 1001;
  TaskSignature signature;
  signature.tensors = {tensor_of(TensorRole::input, Dtype::f16, {elements}),
                       tensor_of(TensorRole::output, Dtype::u8, {elements})};
  constexpr uint64_t needed = 48'000'000'000;
  if (verifier_->free_memory() < needed) GTEST_SKIP() << "needs 48 GB of free device memory";
  const auto bench = bench_of(signature);
  bench->fill(1, {test_key, number, Distribution::normal}, std::vector<InputRule>(1));
  Expected expected{number, 0};
  std::vector<float> tail(2000);
  for (uint64_t i = 0; i < tail.size(); ++i) {
    tail[i] = expected.drawn(Distribution::normal, elements - tail.size() + i);
  }
  const uint64_t place = place_of(*bench, 1, 0) + 2 * (elements - tail.size());
  EXPECT_EQ(inputs_of(*bench).read(place, 2 * tail.size()), as_elements(Dtype::f16, tail));

  result_of(*bench).clear();
  const uint64_t last = place_of(*bench, 1, 1) + elements - 1;
  candidate_of(*bench).write(last, std::vector<uint8_t>{1});
  const ErrorStats stats = bench->compare_with_reference(Side::candidate, 1, {});
  EXPECT_EQ(stats.wrong, 1U);
  EXPECT_EQ(stats.elements, static_cast<size_t>(elements));
  bench->reset(1);
  EXPECT_EQ(candidate_of(*bench).read<uint8_t>(last, 2), (std::vector<uint8_t>{0xA5, 0xC7}));
}

}  // namespace
}  // namespace warpsmith::sandbox
