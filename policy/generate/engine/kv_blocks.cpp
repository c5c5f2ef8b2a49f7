// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/kv_blocks.hpp"

#include <algorithm>
#include <stdexcept>

namespace warpsmith::policy {
namespace {

constexpr auto width = static_cast<size_t>(block_tokens);

std::vector<int32_t> block_at(std::span<const int32_t> tokens, int64_t index) {
  const auto part = tokens.subspan(static_cast<size_t>(index) * width, width);
  return {part.begin(), part.end()};
}

}  // namespace

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

void PrefixTree::Path::extend(Node& node) {
  last_ = &node;
  end_ = node.id;
  ++blocks_;
}

std::vector<BlockId> PrefixTree::match(std::span<const int32_t> tokens, Path& path) {
  std::vector<BlockId> found;
  if (tokens.empty()) return found;
  ++now_;
  const auto whole = static_cast<int64_t>((tokens.size() - 1) / width);
  while (path.blocks() < whole) {
    const auto it = nodes_.find({path.end(), block_at(tokens, path.blocks())});
    if (it == nodes_.end()) break;
    touch(it->second);
    pool_.share(it->second.block);
    found.push_back(it->second.block);
    path.extend(it->second);
  }
  return found;
}

void PrefixTree::insert(std::span<const int32_t> tokens, std::span<BlockId> blocks, Path& path) {
  ++now_;
  const auto whole = static_cast<int64_t>(std::min(tokens.size() / width, blocks.size()));
  while (path.blocks() < whole) {
    BlockId& own = blocks[static_cast<size_t>(path.blocks())];
    const auto [it, added] = nodes_.try_emplace({path.end(), block_at(tokens, path.blocks())});
    Node& node = it->second;
    if (added) {
      node.edge = &it->first;
      add(node, own, path);
    } else if (node.block != own) {
      pool_.share(node.block);
      pool_.drop(own);
      own = node.block;
    }
    touch(node);
    path.extend(node);
  }
}

void PrefixTree::add(Node& node, BlockId block, const Path& path) {
  node.id = next_id_++;
  node.block = block;
  node.parent = path.last_;
  pool_.share(block);
  if (node.parent != nullptr && node.parent->children++ == 0) leaves_.erase(age_of(*node.parent));
}

void PrefixTree::touch(Node& node) {
  if (node.children == 0) leaves_.erase(age_of(node));
  node.last_use = now_;
  if (node.children == 0) leaves_.emplace(age_of(node), &node);
}

bool PrefixTree::evict_one() {
  const auto oldest = std::find_if(leaves_.begin(), leaves_.end(), [this](const auto& leaf) {
    return pool_.holders(leaf.second->block) == 1;
  });
  if (oldest == leaves_.end()) return false;
  const Node& node = *oldest->second;
  Node* const parent = node.parent;
  pool_.drop(node.block);
  leaves_.erase(oldest);
  nodes_.erase(nodes_.find(*node.edge));
  if (parent != nullptr && --parent->children == 0) leaves_.emplace(age_of(*parent), parent);
  return true;
}

void PrefixTree::clear() {
  for (const auto& [edge, node] : nodes_) pool_.drop(node.block);
  leaves_.clear();
  nodes_.clear();
}

}  // namespace warpsmith::policy
