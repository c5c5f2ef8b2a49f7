// SPDX-License-Identifier: Apache-2.0
// Which blocks of the KV cache are in use, and by how many. Pure bookkeeping: no tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace warpsmith::policy {

/// Index of a block: 16 consecutive positions of one sequence, in every layer.
using BlockId = int32_t;

/// Positions per block.
inline constexpr int64_t block_tokens = 16;

/// Blocks needed for that many tokens.
constexpr int64_t blocks_for(int64_t tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

/// A fixed number of blocks with reference counts. Several sequences may share a full block.
class BlockPool {
 public:
  explicit BlockPool(int64_t blocks);

  /// A free block with one reference; nothing if none is left.
  std::optional<BlockId> take();
  /// One more holder of a block in use.
  void share(BlockId block);
  /// One holder less; the block is free when none is left.
  void drop(BlockId block);

  int64_t free_blocks() const { return static_cast<int64_t>(free_.size()); }
  int64_t total_blocks() const { return static_cast<int64_t>(holders_.size()); }
  int32_t holders(BlockId block) const { return holders_.at(static_cast<size_t>(block)); }

 private:
  std::vector<int32_t> holders_;
  std::vector<BlockId> free_;  // a stack: the block freed last is taken first, still warm
};

}  // namespace warpsmith::policy
