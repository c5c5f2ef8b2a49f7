// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/prefix_tree.hpp"

namespace warpsmith::policy {
namespace {

std::vector<int32_t> block_at(std::span<const int32_t> tokens, size_t index) {
  constexpr auto width = static_cast<size_t>(block_tokens);
  const auto part = tokens.subspan(index * width, width);
  return {part.begin(), part.end()};
}

}  // namespace

std::vector<BlockId> PrefixTree::match(std::span<const int32_t> tokens) {
  std::vector<BlockId> found;
  if (tokens.empty()) return found;
  ++now_;
  const size_t whole = (tokens.size() - 1) / static_cast<size_t>(block_tokens);
  NodeId parent = 0;
  for (size_t i = 0; i < whole; ++i) {
    const auto it = nodes_.find({parent, block_at(tokens, i)});
    if (it == nodes_.end()) break;
    it->second.last_use = now_;
    pool_.share(it->second.block);
    found.push_back(it->second.block);
    parent = it->second.id;
  }
  return found;
}

void PrefixTree::insert(std::span<const int32_t> tokens, std::span<const BlockId> blocks) {
  ++now_;
  const size_t whole = tokens.size() / static_cast<size_t>(block_tokens);
  Node* parent = nullptr;
  const Edge* parent_edge = nullptr;
  for (size_t i = 0; i < whole; ++i) {
    const NodeId parent_id = parent == nullptr ? 0 : parent->id;
    auto [it, added] = nodes_.try_emplace({parent_id, block_at(tokens, i)});
    Node& node = it->second;
    node.last_use = now_;
    if (added) {
      node.id = next_id_++;
      node.block = blocks[i];
      node.parent_edge = parent_edge;
      pool_.share(node.block);
      if (parent != nullptr) ++parent->children;
    }
    parent = &node;
    parent_edge = &it->first;
  }
}

bool PrefixTree::evict_one() {
  auto oldest = nodes_.end();
  for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
    const Node& node = it->second;
    if (node.children > 0 || pool_.holders(node.block) > 1) continue;
    if (oldest == nodes_.end() || node.last_use < oldest->second.last_use) oldest = it;
  }
  if (oldest == nodes_.end()) return false;
  pool_.drop(oldest->second.block);
  if (const Edge* edge = oldest->second.parent_edge) --nodes_.find(*edge)->second.children;
  nodes_.erase(oldest);
  return true;
}

void PrefixTree::clear() {
  for (const auto& [edge, node] : nodes_) pool_.drop(node.block);
  nodes_.clear();
}

}  // namespace warpsmith::policy
