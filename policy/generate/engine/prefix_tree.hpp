// SPDX-License-Identifier: Apache-2.0
// Finds full blocks of earlier sequences by their tokens, so that a common prefix is computed once.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "policy/generate/engine/block_pool.hpp"

namespace warpsmith::policy {

/// A tree whose edges are blocks of tokens, compared by content. Has a reference to each of its
/// blocks. All entries belong to one version of the weights: call `clear` when they change.
class PrefixTree {
 public:
  explicit PrefixTree(BlockPool& pool) : pool_(pool) {}
  ~PrefixTree() { clear(); }
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// The blocks of the longest known prefix of whole blocks, with a reference each for the caller.
  /// Never includes the last token, because its logits must be computed.
  std::vector<BlockId> match(std::span<const int32_t> tokens);
  /// Adds the full blocks of a computed sequence that are not known yet.
  void insert(std::span<const int32_t> tokens, std::span<const BlockId> blocks);
  /// Removes the least recently used entry without successors or other references to its block.
  /// Returns false if there is none.
  bool evict_one();
  void clear();

  size_t size() const { return nodes_.size(); }

 private:
  using NodeId = int64_t;  // the root is 0
  using Edge = std::pair<NodeId, std::vector<int32_t>>;
  struct Node {
    NodeId id = 0;
    BlockId block = 0;
    int64_t children = 0;
    uint64_t last_use = 0;
    Edge const* parent_edge = nullptr;  // of the parent; null below the root
  };

  BlockPool& pool_;
  std::map<Edge, Node> nodes_;
  NodeId next_id_ = 1;
  uint64_t now_ = 0;  // counts calls
};

}  // namespace warpsmith::policy
