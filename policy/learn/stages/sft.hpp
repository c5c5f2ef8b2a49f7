// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning: likelihood of the action tokens of given conversations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "policy/learn/adamw.hpp"
#include "policy/learn/stages/sft_plan.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/config/sft_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// (T) tokens, and 1 where the model is to learn to say the token.
struct Conversation {
  std::vector<int32_t> tokens;
  std::vector<uint8_t> mask;
};

struct SftReport {
  int64_t step = 0;  // that was made, from 1
  int64_t steps = 0;
  double loss = 0;  // mean −log p over the step's action tokens, nats, before the update
  double learning_rate = 0;
  double gradient_norm = 0;
  int64_t tokens = 0;  // of the forward, masked ones too
};

/// Owns the model while it learns. The same calls give the same weights.
class SftStage {
 public:
  /// Conversations that are longer than the context, or that hold nothing to learn, are left out.
  /// `invalid_argument` if none is left, or for a token beyond the vocabulary.
  static Result<SftStage> make(const SftConfig& config, Transformer model,
                               std::vector<Conversation> conversations, uint64_t seed);

  bool done() const { return step_ == steps(); }
  int64_t step_number() const { return step_; }
  int64_t steps() const { return static_cast<int64_t>(plan_.batches.size()); }
  int64_t left_out() const { return left_out_; }
  /// One optimiser step. Requires !done().
  SftReport step();
  /// Mean −log p on the conversations that are never trained; empty if there are none.
  std::optional<double> held_out_loss() const;
  const Transformer& model() const { return model_; }

  /// Model, optimiser and position, into an existing folder; `restore` goes on from there.
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
  /// Runs the conversations pack by pack; takes gradients where autograd is on.
  Sum run(const std::vector<size_t>& indices) const;

  SftConfig config_;
  Transformer model_;
  std::vector<Conversation> conversations_;
  SftPlan plan_;
  AdamW optimiser_;
  int64_t step_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace warpsmith::policy
