// SPDX-License-Identifier: Apache-2.0
// The blocks of the KV cache: their reference counts, and a tree that finds those of known
// prefixes, so that a common prefix is computed once. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
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

/// A tree whose edges are blocks of tokens, compared by content. Has a reference to each of its
/// blocks. All entries belong to one version of the weights: call `clear` when they change.
class PrefixTree {
  struct Node;

 public:
  using NodeId = int64_t;  // the root is 0; ids are never reused
  /// A node, and the tokens of a block after it.
  using Edge = std::pair<NodeId, std::vector<int32_t>>;

  /// The known beginning of a sequence: a path from the root. Valid until `clear`, and while the
  /// sequence has a reference to each of the path's blocks.
  class Path {
   public:
    int64_t blocks() const { return blocks_; }
    NodeId end() const { return end_; }

   private:
    friend class PrefixTree;
    void extend(Node& node);

    Node* last_ = nullptr;  // null: the root
    NodeId end_ = 0;
    int64_t blocks_ = 0;
  };

  explicit PrefixTree(BlockPool& pool) : pool_(pool) {}
  ~PrefixTree() { clear(); }
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  /// Extends `path` along the known whole blocks of `tokens`. Returns them, with a reference each
  /// for the caller. Never includes the last token, because its logits must be computed.
  std::vector<BlockId> match(std::span<const int32_t> tokens, Path& path);
  /// Extends `path` along the computed `blocks` of a sequence and adds those that are not known
  /// yet. A known block replaces the sequence's own. The first `path.blocks()` belong to the path.
  void insert(std::span<const int32_t> tokens, std::span<BlockId> blocks, Path& path);
  /// Removes the least recently used entry without successors or other references to its block.
  /// Returns false if there is none. Before it, only older entries without successors that are
  /// still referenced are visited.
  bool evict_one();
  void clear();

  size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    NodeId id = 0;
    BlockId block = 0;
    int64_t children = 0;
    uint64_t last_use = 0;
    Node* parent = nullptr;      // null: the root
    const Edge* edge = nullptr;  // that leads here
  };
  using Age = std::pair<uint64_t, NodeId>;

  static Age age_of(const Node& node) { return {node.last_use, node.id}; }
  void add(Node& node, BlockId block, const Path& path);
  void touch(Node& node);

  BlockPool& pool_;
  std::map<Edge, Node> nodes_;
  std::map<Age, Node*> leaves_;  // nodes without children, the least recently used first
  NodeId next_id_ = 1;
  uint64_t now_ = 0;  // counts calls
};

}  // namespace warpsmith::policy
