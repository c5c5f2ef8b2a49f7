// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/streaming_forward.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <array>

#include "policy/learn/surprise.hpp"

namespace warpsmith::policy {
namespace {

std::optional<SequenceCache> critic_cache(const ActorCritic& networks,
                                          const at::TensorOptions& computed) {
  if (!networks.has_own_critic_body()) return std::nullopt;
  return SequenceCache{networks.config(), computed};
}

}  // namespace

KeptPrefix::KeptPrefix(const ActorCritic& networks)
    : config_(networks.config()),
      computed_(networks.actor().computed().embed.options()),
      policy_(config_, computed_),
      critic_(critic_cache(networks, computed_)) {}

int64_t KeptPrefix::bytes_with(int64_t tokens) const {
  return policy_.bytes_with(tokens) + (critic_ ? critic_->bytes_with(tokens) : 0);
}

int64_t KeptPrefix::host_bytes_with(int64_t tokens) const {
  return policy_.host_bytes_with(tokens) + (critic_ ? critic_->host_bytes_with(tokens) : 0);
}

void KeptPrefix::move_to_host() {
  policy_.move_to_host();
  if (critic_) critic_->move_to_host();
}

void KeptPrefix::restart() {
  const bool was_on_host = policy_.is_on_host();
  policy_ = SequenceCache{config_, computed_};
  if (critic_) critic_ = SequenceCache{config_, computed_};
  if (was_on_host) move_to_host();
  policy_last_ = at::Tensor();
  critic_last_ = at::Tensor();
}

at::Tensor KeptPrefix::continue_body(const Transformer& body, SequenceCache& cache,
                                     at::Tensor& last, const HeldTrajectory& held) const {
  const std::vector<int32_t> tokens(held.tokens.begin() + cache.length(), held.tokens.end());
  const std::array<SequenceCache*, 1> caches{&cache};
  const at::Tensor hidden = body.forward(pack_sequences(std::array{tokens}), caches);
  const at::Tensor rows = last.defined() ? at::cat({last, hidden}, 0) : hidden;
  last = hidden.narrow(0, hidden.size(0) - 1, 1).clone();
  return rows;
}

std::array<at::Tensor, 2> KeptPrefix::continue_bodies(const ActorCritic& networks,
                                                      const HeldTrajectory& held,
                                                      const SideStream& beside) {
  if (!critic_) {
    const at::Tensor rows = continue_body(networks.actor(), policy_, policy_last_, held);
    return {rows, rows};
  }
  critic_->make_room(held.size() - critic_->length());
  at::Tensor values;
  const SideStream::Mark valued = beside.run(
      [&] { values = continue_body(networks.critic_body(), *critic_, critic_last_, held); });
  const at::Tensor rows = continue_body(networks.actor(), policy_, policy_last_, held);
  beside.join(valued);
  return {rows, values};
}

void KeptPrefix::extend(const ActorCritic& networks, HeldTrajectory& held, WeightsMark mark,
                        bool refresh, const SideStream& beside) {
  const at::NoGradGuard no_grad;
  if (held.size() == held.scored) return;
  if (refresh && oldest_updates_ != mark.updates) restart();
  if (length() == 0) oldest_updates_ = mark.updates;
  // Row r is the hidden state at token first + r, which scores the next token.
  const int64_t first = length() == 0 ? 0 : length() - 1;
  const auto [rows, value_rows] = continue_bodies(networks, held, beside);
  const std::vector<int64_t> actions = action_positions(held, held.scored);
  const at::Tensor surprise =
      networks.reads_surprise() ? surprise_rows(surprises(held, held.scored)) : at::Tensor();
  held.scored = held.size();
  if (actions.empty()) return;
  std::vector<int64_t> from;
  std::vector<int64_t> targets;
  for (const int64_t t : actions) {
    from.push_back(t - 1 - first);
    targets.push_back(held.tokens[static_cast<size_t>(t)]);
  }
  const at::Tensor at = index_tensor(from).to(rows.device());
  const CriticRows critic{value_rows.index_select(0, at), surprise};
  const TokenEvaluation scored =
      networks.score(rows.index_select(0, at), critic, index_tensor(targets));
  const bool exact = oldest_updates_ == mark.updates;
  record_values(held, actions, scored.value);
  record_log_probs(held, actions, scored.log_prob, exact ? mark : WeightsMark{.published = false});
}

}  // namespace warpsmith::policy
