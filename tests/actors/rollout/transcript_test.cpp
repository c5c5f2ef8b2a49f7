// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/transcript.hpp"

#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

TokenChunk chunk_of(std::vector<int32_t> tokens) {
  TokenChunk chunk;
  chunk.log_probs.assign(tokens.size(), -1.0F);
  chunk.versions.assign(tokens.size(), {});
  chunk.tokens = std::move(tokens);
  return chunk;
}

TEST(TranscriptTest, TurnBeginsAfterTheLastMaskedToken) {
  Transcript transcript;
  transcript.add_masked(std::vector<int32_t>{1, 2});
  EXPECT_TRUE(transcript.turn().empty());
  transcript.add_sampled(chunk_of({3}));
  transcript.add_sampled(chunk_of({4, 5}));
  EXPECT_EQ(std::vector<int32_t>(transcript.turn().begin(), transcript.turn().end()),
            (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(transcript.sampled(), 3U);
}

TEST(TranscriptTest, RestoredSegmentsGiveTheSameTranscript) {
  Transcript first;
  first.add_masked(std::vector<int32_t>{1});
  first.add_sampled(chunk_of({2, 3}));
  std::vector<Segment> segments{first.take_segment(5)};
  first.add_masked(std::vector<int32_t>{4});
  first.add_sampled(chunk_of({6}));
  segments.push_back(first.take_segment(5));

  Transcript second;
  ASSERT_TRUE(second.restore(segments));
  EXPECT_EQ(second.tokens(), first.tokens());
  EXPECT_EQ(second.sampled(), 3U);
  EXPECT_EQ(second.segments(), 2U);
  EXPECT_EQ(second.turn().size(), 1U);
  EXPECT_FALSE(second.has_open_segment());
}

TEST(TranscriptTest, SegmentsOfAnotherTrajectoryAndGapsAreRefused) {
  Transcript source;
  source.add_masked(std::vector<int32_t>{1});
  std::vector<Segment> segments{source.take_segment(5)};
  source.add_masked(std::vector<int32_t>{1});
  segments.push_back(source.take_segment(6));
  EXPECT_FALSE(Transcript{}.restore(segments));
  segments.erase(segments.begin());
  EXPECT_FALSE(Transcript{}.restore(segments));
}

}  // namespace
}  // namespace warpsmith::actors
