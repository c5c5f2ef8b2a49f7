// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/guards.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace warpsmith::sandbox {
namespace {

SharedBuffers two_outputs() {
  TaskSignature signature;
  signature.tensors = {
      {.name = "a", .role = TensorRole::output, .shape = {100}},
      {.name = "b", .role = TensorRole::output, .dtype = Dtype::i64, .shape = {7}}};
  return std::move(*SharedBuffers::outputs(make_layout(signature, 2)));
}

TEST(GuardsTest, PoisonedFloatsAreNotNumbers) {
  std::array<float, 9> values{};
  poison(Dtype::f32, std::as_writable_bytes(std::span{values}));
  for (const float v : values) EXPECT_TRUE(std::isnan(v));
}

TEST(GuardsTest, PoisonedBooleansAreNeitherTrueNorFalse) {
  std::array<uint8_t, 3> values{};
  poison(Dtype::boolean, std::as_writable_bytes(std::span{values}));
  for (const uint8_t v : values) EXPECT_GT(v, 1);
}

TEST(GuardsTest, DetectAChangeOfAnyByteOutsideTheOutputs) {
  const SharedBuffers outputs = two_outputs();
  arm_guards(outputs, 1);
  EXPECT_TRUE(guards_intact(outputs, 1));
  const auto whole = outputs.whole(1);
  const auto is_output = [&](const std::byte* at) {
    return std::ranges::any_of(
        std::array{outputs.tensor(1, 0), outputs.tensor(1, 1)},
        [at](auto of) { return at >= of.data() && at < of.data() + of.size(); });
  };
  for (std::byte& at : whole) {
    const std::byte saved = std::exchange(at, std::byte{0});
    EXPECT_EQ(guards_intact(outputs, 1), is_output(&at)) << &at - whole.data();
    at = saved;
  }
}

TEST(GuardsTest, EraseWhatAnEarlierCallWrote) {
  const SharedBuffers outputs = two_outputs();
  std::ranges::fill(outputs.whole(1), std::byte{1});
  arm_guards(outputs, 1);
  for (const size_t tensor : {0UL, 1UL}) std::ranges::fill(outputs.tensor(1, tensor), guard_value);
  EXPECT_EQ(std::ranges::count(outputs.whole(1), guard_value),
            static_cast<std::ptrdiff_t>(outputs.whole(1).size()));
}

TEST(GuardsTest, ContentHashDependsOnEveryByte) {
  std::vector<std::byte> bytes(200);
  const uint64_t before = content_hash(bytes);
  for (std::byte& b : bytes) {
    b = std::byte{1};
    EXPECT_NE(content_hash(bytes), before);
    b = std::byte{0};
  }
  EXPECT_EQ(content_hash(bytes), before);
  bytes.push_back(std::byte{0});
  EXPECT_NE(content_hash(bytes), before);
}

}  // namespace
}  // namespace warpsmith::sandbox
