// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/sft.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/model/log_probs.hpp"
#include "policy/model/transformer.hpp"

namespace warpsmith::policy {
namespace {

// Tokens per forward pass: on a CPU more would not fit into the cache, on a GPU fewer would leave
// it idle.
constexpr int64_t pack_tokens_cpu = 2048;
constexpr int64_t pack_tokens_gpu = 16384;
constexpr double gradient_clip = 1.0;

bool has_action(const Conversation& c) {
  return c.tokens.size() > 1 && std::find(c.mask.begin() + 1, c.mask.end(), 1) != c.mask.end();
}

bool is_too_long(const Conversation& c, int64_t context) {
  return static_cast<int64_t>(c.tokens.size()) > context;
}

std::vector<int64_t> sizes_of(const std::vector<Conversation>& conversations) {
  std::vector<int64_t> sizes;
  sizes.reserve(conversations.size());
  for (const Conversation& c : conversations)
    sizes.push_back(static_cast<int64_t>(c.tokens.size()));
  return sizes;
}

Result<void> check(const std::vector<Conversation>& conversations, int64_t vocab) {
  for (size_t i = 0; i < conversations.size(); ++i) {
    const Conversation& c = conversations[i];
    const std::string place = fmt::format("conversation {}", i);
    if (c.tokens.size() != c.mask.size()) {
      return fail(ErrorCode::invalid_argument, place + ": tokens and mask differ in length");
    }
    for (const int32_t token : c.tokens) {
      if (token >= 0 && token < vocab) continue;
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: token {} is outside the vocabulary of {}", place, token, vocab));
    }
  }
  return {};
}

}  // namespace

ConversationCounts count_conversations(const std::vector<Conversation>& all, int64_t context) {
  ConversationCounts counts;
  for (const Conversation& c : all) {
    ++(!has_action(c) ? counts.untrained : is_too_long(c, context) ? counts.too_long : counts.kept);
  }
  return counts;
}

std::string counts_text(const ConversationCounts& counts, int64_t context) {
  std::string reasons;
  const auto add = [&](int64_t count, const std::string& reason) {
    if (count > 0) reasons += fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", count, reason);
  };
  add(counts.untrained, "without an assistant message to train on");
  add(counts.too_long, fmt::format("longer than sft.context ({} tokens)", context));
  return fmt::format("{} conversation{} kept, {} left out{}", counts.kept,
                     counts.kept == 1 ? "" : "s", counts.left_out(), reasons);
}

Result<void> require_kept(const ConversationCounts& counts, int64_t context) {
  if (counts.kept > 0) return {};
  const std::string found =
      counts.left_out() == 0 ? "there are no conversations" : counts_text(counts, context);
  const std::string remedy = counts.too_long > 0
                                 ? "raise sft.context, or add conversations that fit"
                                 : "add conversations with messages of role assistant";
  return fail(ErrorCode::invalid_argument, "nothing to learn from: " + found + "; " + remedy);
}

int64_t SftStage::pack_tokens(ComputeDevice device) {
  return device == ComputeDevice::cuda ? pack_tokens_gpu : pack_tokens_cpu;
}

Result<SftStage> SftStage::make(const SftConfig& config, Transformer model,
                                std::vector<Conversation> conversations, uint64_t seed) {
  TRY_VOID(check(conversations, model.config().vocab));
  const ConversationCounts counts = count_conversations(conversations, config.context);
  TRY_VOID(require_kept(counts, config.context));
  std::erase_if(conversations, [&](const Conversation& c) {
    return !has_action(c) || is_too_long(c, config.context);
  });
  SftStage stage{config, std::move(model), std::move(conversations), seed};
  stage.counts_ = counts;
  return stage;
}

SftStage::SftStage(const SftConfig& config, Transformer model,
                   std::vector<Conversation> conversations, uint64_t seed)
    : config_(config),
      model_(std::move(model)),
      conversations_(std::move(conversations)),
      plan_(plan_batches(sizes_of(conversations_), {.seed = seed,
                                                    .epochs = config.epochs,
                                                    .batch_tokens = config.batch_tokens,
                                                    .held_out_share = config.held_out_share})),
      optimiser_({.weight_decay = config.weight_decay, .gradient_clip = gradient_clip},
                 {{"policy", model_.weights().parameters()}}) {
  model_.weights().require_grad();
}

SftStage::Sum SftStage::run(const std::vector<size_t>& indices) const {
  Sum sum;
  std::vector<MaskedTokens> pack;
  int64_t packed = 0;
  const bool gpu = model_.weights().embed.is_cuda();
  const int64_t most = pack_tokens(gpu ? ComputeDevice::cuda : ComputeDevice::cpu);
  const auto flush = [&] {
    if (pack.empty()) return;
    const ActionPack plan = plan_actions(pack);
    const at::Tensor hidden = model_.forward(plan.batch);
    const at::Tensor rows = hidden.index_select(0, plan.rows.to(hidden.device()));
    const at::Tensor loss = token_log_probs(rows, model_.head(), plan.targets.to(hidden.device()))
                                .log_probs.sum()
                                .neg();
    if (at::GradMode::is_enabled()) loss.backward();
    sum.loss += loss.item<double>();
    sum.actions += plan.targets.size(0);
    sum.tokens += plan.batch.tokens.size(0);
    pack.clear();
    packed = 0;
  };
  for (const size_t i : indices) {
    const Conversation& c = conversations_[i];
    if (packed + static_cast<int64_t>(c.tokens.size()) > most) flush();
    pack.push_back({c.tokens, c.mask});
    packed += static_cast<int64_t>(c.tokens.size());
  }
  flush();
  return sum;
}

SftReport SftStage::step() {
  assert(!done() && "sft: step() after the last step");
  const Sum sum = run(plan_.batches[static_cast<size_t>(step_)]);
  const double scale = 1.0 / static_cast<double>(sum.actions);
  const double rate = config_.learning_rate *
                      cosine_share(step_, steps(), config_.warmup, config_.final_rate_share);
  const double norm = optimiser_.step(0, rate, scale);
  model_.refresh();
  ++step_;
  return {step_, steps(), sum.loss * scale, rate, norm, sum.tokens};
}

std::optional<double> SftStage::held_out_loss() const {
  if (plan_.held_out.empty()) return std::nullopt;
  const at::NoGradGuard no_grad;
  const Sum sum = run(plan_.held_out);
  return sum.loss / static_cast<double>(sum.actions);
}

Result<void> SftStage::save(const std::filesystem::path& folder) const {
  TRY_VOID(save_hf_model(folder, model_));
  WeightMap state = optimiser_.state();
  state["step"] = at::full({1}, static_cast<double>(step_), at::kDouble);
  return write_safetensors(folder / "optimizer.safetensors", state);
}

Result<void> SftStage::restore(const std::filesystem::path& folder) {
  TRY(auto weights, read_hf_weights(folder));
  if (auto r = assign_weights(model_.config(), weights, model_.weights()); !r) {
    return fail(folder.string(), r.error());
  }
  model_.refresh();
  TRY(auto state, read_safetensors(folder / "optimizer.safetensors"));
  if (auto r = optimiser_.restore(state); !r) return fail(folder.string(), r.error());
  const auto step = state.find("step");
  const double at = step == state.end() ? -1 : step->second.item<double>();
  if (at > static_cast<double>(steps())) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{}: the checkpoint is of step {:.0f}, but the conversations, sft.epochs "
                    "and sft.batch_tokens make {} steps; resume with the values that the "
                    "run began with, or raise sft.epochs",
                    folder.string(), at, steps()));
  }
  if (!(at >= 0)) {
    return fail(ErrorCode::parse_failed,
                folder.string() + ": optimizer.safetensors has no number of steps");
  }
  step_ = static_cast<int64_t>(at);
  return {};
}

}  // namespace warpsmith::policy
