// SPDX-License-Identifier: Apache-2.0
// Reference counts of the KV cache's blocks. Pure.
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

  /// Takes a free block, with one reference; empty if none is left.
  std::optional<BlockId> take();
  /// Adds a reference to a block in use.
  void share(BlockId block);
  /// Removes a reference; the last one frees the block.
  void drop(BlockId block);

  int64_t free_blocks() const { return static_cast<int64_t>(free_.size()); }
  int64_t total_blocks() const { return static_cast<int64_t>(holders_.size()); }
  int32_t holders(BlockId block) const { return holders_.at(static_cast<size_t>(block)); }

 private:
  std::vector<int32_t> holders_;
  std::vector<BlockId>
      free_;  // a stack: the block freed last is the likeliest in the processor's cache
};

}  // namespace warpsmith::policy
