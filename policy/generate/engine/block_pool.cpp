// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/block_pool.hpp"

#include <stdexcept>

namespace warpsmith::policy {

BlockPool::BlockPool(int64_t blocks) : holders_(static_cast<size_t>(blocks), 0) {
  free_.reserve(holders_.size());
  for (int64_t i = blocks - 1; i >= 0; --i) free_.push_back(static_cast<BlockId>(i));
}

std::optional<BlockId> BlockPool::take() {
  if (free_.empty()) return std::nullopt;
  const BlockId block = free_.back();
  free_.pop_back();
  holders_[static_cast<size_t>(block)] = 1;
  return block;
}

void BlockPool::share(BlockId block) {
  int32_t& holders = holders_.at(static_cast<size_t>(block));
  if (holders == 0) throw std::logic_error("block pool: a free block cannot be shared");
  ++holders;
}

void BlockPool::drop(BlockId block) {
  int32_t& holders = holders_.at(static_cast<size_t>(block));
  if (holders == 0) throw std::logic_error("block pool: a free block cannot be dropped");
  if (--holders == 0) free_.push_back(block);
}

}  // namespace warpsmith::policy
