// SPDX-License-Identifier: Apache-2.0
#include "runtime/codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/describe.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith {
namespace {

Segment sample_segment() {
  const float inf = std::numeric_limits<float>::infinity();
  return {7, 2, {1, 2, 3}, {0, 1, 1}, {0.0F, -inf, NAN}, {{}, {1, 4}, {1, 5}}};
}

TEST(CodecTest, SegmentSurvivesWithNonFiniteLogProbs) {
  const auto back = codec::unpack<Segment>(codec::pack(sample_segment()));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->tokens, sample_segment().tokens);
  EXPECT_EQ(back->versions, sample_segment().versions);
  EXPECT_TRUE(std::isinf(back->log_probs[1]));
  EXPECT_TRUE(std::isnan(back->log_probs[2]));
}

TEST(CodecTest, EveryShorterPrefixIsRejected) {
  const ByteBuffer bytes = codec::pack(sample_segment());
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(codec::unpack<Segment>(bytes.data(), n).has_value()) << n;
  }
}

TEST(CodecTest, HugeLengthIsRejectedBeforeItIsAllocated) {
  ByteBuffer bytes = codec::pack(std::vector<int64_t>{1, 2});
  bytes[7] = 0x10;  // length 2^60 + 2
  EXPECT_FALSE(codec::unpack<std::vector<int64_t>>(bytes).has_value());
}

/// Counts how many objects are made.
struct Counted {
  static inline int made = 0;
  uint64_t number = 0;

  Counted() { ++made; }
  WARPSMITH_RECORD(number)
};

TEST(CodecTest, MakesOnlyAsManyElementsAsTheBytesContain) {
  constexpr size_t bytes_after = 1000;
  ByteBuffer bytes = codec::pack(uint64_t{bytes_after});  // valid if an element took one byte
  bytes.resize(bytes.size() + bytes_after);
  EXPECT_FALSE(codec::unpack<std::vector<Counted>>(bytes).has_value());
  EXPECT_LE(Counted::made, static_cast<int>(bytes_after / sizeof(uint64_t)) + 1);
  EXPECT_FALSE(codec::unpack<std::vector<int64_t>>(bytes).has_value());
}

TEST(CodecTest, NestedVectorsSurvive) {
  using Words = std::vector<std::vector<std::string>>;
  const Words words{{"a", ""}, {}, {"long enough for the heap, yes"}};
  const auto back = codec::unpack<Words>(codec::pack(words));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(*back, words);
}

TEST(CodecTest, RecordWithUnequalArraysIsRejected) {
  Segment broken = sample_segment();
  broken.log_probs.pop_back();
  EXPECT_FALSE(codec::unpack<Segment>(codec::pack(broken)).has_value());
}

TEST(CodecTest, BothAlternativesOfAJudgementSurvive) {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.shapes.push_back({.shape = "4x4", .candidate_ms = 0.5});
  const auto passed = codec::unpack<Judgement>(codec::pack(Judgement{verdict}));
  ASSERT_TRUE(passed.has_value());
  EXPECT_EQ(std::get<Verdict>(*passed).shapes.at(0).candidate_ms, 0.5);
  const auto failed = codec::unpack<Judgement>(codec::pack(Judgement{InfraFailure{}}));
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->index(), 1U);
}

}  // namespace
}  // namespace warpsmith
