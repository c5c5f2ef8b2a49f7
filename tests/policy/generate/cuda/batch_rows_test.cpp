// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/batch_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace warpsmith::policy::cuda {
namespace {

using testing::ElementsAre;

const SamplingParams warm{.temperature = 0.5, .top_p = 0.9, .top_k = 7};
const SamplingParams greedy{.temperature = 0};

TEST(BatchRowsTest, ConsecutivePositionsOfOneBlockListAreOneSequence) {
  const std::vector<BlockId> prompt{5, 2}, other{9};
  const std::vector<DecodeRow> rows{
      {.token = 30, .position = 15, .blocks = prompt},
      {.token = 31, .position = 16, .blocks = prompt},
      {.token = 32, .position = 17, .blocks = prompt, .sample = &warm, .uniform = 0.25},
      {.from_sample = 1, .position = 3, .blocks = other, .sample = &greedy}};
  const BatchRows batch = pack_rows(rows);
  EXPECT_THAT(batch.tokens, ElementsAre(30, 31, 32, 0));
  EXPECT_THAT(batch.from_samples, ElementsAre(-1, -1, -1, 1));
  EXPECT_THAT(batch.slots, ElementsAre(5 * 16 + 15, 2 * 16, 2 * 16 + 1, 9 * 16 + 3));
  EXPECT_THAT(batch.sequences, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(batch.row_starts, ElementsAre(0, 3, 4));
  EXPECT_THAT(batch.block_starts, ElementsAre(0, 2, 3));
  EXPECT_THAT(batch.blocks, ElementsAre(5, 2, 9));
  EXPECT_THAT(batch.last_lengths, ElementsAre(2, 4));
  EXPECT_THAT(batch.sampled_rows, ElementsAre(2, 3));
  EXPECT_FALSE(batch.only_decodes());
  EXPECT_EQ(batch.orders[0].inverse_temperature, 2);
  EXPECT_EQ(batch.orders[0].top_k, 7);
  EXPECT_EQ(batch.orders[0].uniform, 0.25);
  EXPECT_EQ(batch.orders[1].greedy, 1);
}

TEST(BatchRowsTest, BlocksThatARowDoesNotReachAreLeftOut) {
  const std::vector<BlockId> blocks{1, 2, 3};
  const std::vector<DecodeRow> rows{{.position = 15, .blocks = blocks, .sample = &warm}};
  EXPECT_THAT(pack_rows(rows).blocks, ElementsAre(1));
}

TEST(BatchRowsTest, SequencesAtTheSamePositionStaySeparate) {
  const std::vector<BlockId> one{1}, two{2};
  const std::vector<DecodeRow> rows{{.position = 4, .blocks = one, .sample = &warm},
                                    {.position = 5, .blocks = two, .sample = &warm}};
  const BatchRows batch = pack_rows(rows);
  EXPECT_EQ(batch.sequence_count(), 2);
  EXPECT_TRUE(batch.only_decodes());
}

TEST(BatchRowsTest, PaddingIsGreedyRowsOnTheScratchBlock) {
  const std::vector<BlockId> one{1};
  const std::vector<DecodeRow> rows{{.position = 4, .blocks = one, .sample = &warm}};
  BatchRows batch = pack_rows(rows);
  pad_to(batch, 3, 77);
  EXPECT_TRUE(batch.only_decodes());
  EXPECT_EQ(batch.rows(), 3);
  EXPECT_THAT(batch.blocks, ElementsAre(1, 77, 77));
  EXPECT_THAT(batch.slots, ElementsAre(20, 77 * 16, 77 * 16));
  EXPECT_THAT(batch.last_lengths, ElementsAre(5, 1, 1));
  EXPECT_EQ(batch.orders[2].greedy, 1);
}

TEST(BatchRowsTest, GraphSizesGrowSlowlyAndEndWithTheLargestBatch) {
  const auto sizes = graph_sizes(300);
  EXPECT_EQ(sizes.front(), 1);
  EXPECT_EQ(sizes.back(), 300);
  for (size_t i = 1; i < sizes.size(); ++i) {
    EXPECT_LE(sizes[i], 2 * sizes[i - 1]);
    if (sizes[i - 1] < 64) continue;
    EXPECT_LE(sizes[i] * 4, sizes[i - 1] * 5);
  }
  EXPECT_EQ(graph_size_for(sizes, 1), 1);
  EXPECT_EQ(graph_size_for(sizes, 3), 4);
  EXPECT_EQ(graph_size_for(sizes, 64), 64);
  EXPECT_EQ(graph_size_for(sizes, 300), 300);
  EXPECT_EQ(graph_size_for(sizes, 301), 0);
  EXPECT_EQ(graph_size_for({}, 1), 0);
  EXPECT_THAT(graph_sizes(1), ElementsAre(1));
}

TEST(BatchRowsTest, ArraysDoNotOverlapInTheBuffer) {
  const std::vector<BlockId> one{11, 12}, two{13};
  const std::vector<DecodeRow> rows{{.token = 1, .position = 20, .blocks = one, .sample = &warm},
                                    {.token = 2, .position = 3, .blocks = two, .sample = &warm}};
  const BatchRows batch = pack_rows(rows);
  const BatchLayout layout(2, 2, 2);
  std::vector<std::byte> buffer(static_cast<size_t>(layout.bytes(3)));
  write_batch(batch, layout, buffer.data());
  const auto at = [&](int64_t offset, int64_t index) {
    int32_t value = 0;
    std::memcpy(&value, buffer.data() + offset + 4 * index, sizeof value);
    return value;
  };
  EXPECT_EQ(at(layout.tokens, 1), 2);
  EXPECT_EQ(at(layout.positions, 0), 20);
  EXPECT_EQ(at(layout.slots, 1), 13 * 16 + 3);
  EXPECT_EQ(at(layout.block_starts, 2), 3);
  EXPECT_EQ(at(layout.sampled_rows, 1), 1);
  EXPECT_EQ(at(layout.blocks, 2), 13);
  SampleOrder order;
  std::memcpy(&order, buffer.data() + layout.orders, sizeof order);
  EXPECT_EQ(order.top_k, 7);
}

}  // namespace
}  // namespace warpsmith::policy::cuda
