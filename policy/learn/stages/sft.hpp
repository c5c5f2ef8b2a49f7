// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning (SFT): maximises the likelihood of the action tokens of conversations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "policy/learn/adamw.hpp"
#include "policy/learn/stages/batch_plan.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/config/stage_configs.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// (T) tokens, and a mask that is 1 for action tokens.
struct Conversation {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> mask;
};

/// How many conversations can be learned from, and why the others are left out.
struct ConversationCounts {
  int64_t kept = 0;
  int64_t untrained = 0;  // no token of a message that is trained on, after the first token
  int64_t too_long = 0;   // more than sft.context tokens

  int64_t left_out() const { return untrained + too_long; }
};

ConversationCounts count_conversations(const std::vector<Conversation>& all, int64_t context);

/// "5 conversations kept, 2 left out: 1 without an assistant message to train on, 1 longer than
/// sft.context (1024 tokens)".
std::string counts_text(const ConversationCounts& counts, int64_t context);

/// Fails with `invalid_argument` and the reasons if no conversation is kept.
Result<void> require_kept(const ConversationCounts& counts, int64_t context);

struct SftReport {
  int64_t step = 0;  // counted from 1
  int64_t steps = 0;
  double loss = 0;  // mean −log p over the step's action tokens, nats, before the update
  double learning_rate = 0;
  double gradient_norm = 0;
  int64_t tokens = 0;  // of the forward pass, including masked ones
};

/// Owns the model during training. The same calls give the same weights.
class SftStage {
 public:
  /// Tokens of one forward pass, if no conversation is longer.
  static int64_t pack_tokens(ComputeDevice device);

  /// Leaves conversations out as `count_conversations` says. `invalid_argument` if none is left, or
  /// for a token beyond the vocabulary.
  static Result<SftStage> make(const SftConfig& config, Transformer model,
                               std::vector<Conversation> conversations, uint64_t seed);

  bool done() const { return step_ == steps(); }
  int64_t step_number() const { return step_; }
  int64_t steps() const { return static_cast<int64_t>(plan_.batches.size()); }
  const ConversationCounts& counts() const { return counts_; }
  /// One optimiser step. Requires !done().
  SftReport step();
  /// Mean −log p over the held-out conversations; empty if there are none.
  std::optional<double> held_out_loss() const;
  const Transformer& model() const { return model_; }

  /// Writes model, optimiser and step into an existing folder; `restore` continues from it.
  Result<void> save(const std::filesystem::path& folder) const;
  Result<void> restore(const std::filesystem::path& folder);

 private:
  struct Sum {
    double loss = 0;
    int64_t actions = 0;
    int64_t tokens = 0;
  };
  SftStage(const SftConfig& config, Transformer model, std::vector<Conversation> conversations,
           uint64_t seed);
  /// Runs the conversations pack by pack; adds gradients if autograd is on.
  Sum run(const std::vector<size_t>& indices) const;

  SftConfig config_;
  Transformer model_;
  std::vector<Conversation> conversations_;
  BatchPlan plan_;
  AdamW optimiser_;
  int64_t step_ = 0;
  ConversationCounts counts_;
};

}  // namespace warpsmith::policy
