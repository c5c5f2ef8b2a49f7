// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/critic_folder.hpp"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "policy/format/hf_folder.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/learn/critic_head.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;

constexpr const char* head_file = "value_head.safetensors";
constexpr const char* remedy =
    "; set learner.critic.folder to a critic of this model with this learner.critic.kind and "
    "learner.critic.surprise, or leave it empty";

/// Adds the remedy to an error that names its file.
tl::unexpected<Error> unfit(Error error) {
  error.message += remedy;
  return tl::unexpected(std::move(error));
}

/// The error for a readable file of another model.
tl::unexpected<Error> unfit(const fs::path& file, Error error) {
  error.message = file.string() + ": " + error.message;
  return unfit(std::move(error));
}

Result<ModelWeights> read_body(const fs::path& folder, const ModelConfig& config) {
  const auto map = read_hf_weights(folder);
  if (!map) return unfit(map.error());
  auto body = weights_from_map(config, *map);
  if (!body) return unfit(folder, std::move(body.error()));
  return body;
}

}  // namespace

Result<CriticWeights> read_critic(const fs::path& folder, const ModelConfig& config,
                                  const CriticConfig& how) {
  const auto map = read_safetensors(folder / head_file);
  if (!map) return unfit(map.error());
  auto head = value_head_from_map(head_width(config, how), *map);
  if (!head) return unfit(folder / head_file, std::move(head.error()));
  CriticWeights critic{std::move(*head), std::nullopt};
  if (how.kind == CriticKind::shared) return critic;
  TRY(auto body, read_body(folder, config));
  critic.body = std::move(body);
  return critic;
}

void assign_critic(ActorCritic& networks, const CriticWeights& from) {
  const at::NoGradGuard no_grad;
  networks.value_head().weight.copy_(from.head.weight);
  networks.value_head().bias.copy_(from.head.bias);
  if (!networks.has_own_critic_body() || !from.body) return;
  const auto to = networks.critic_body().weights().parameters();
  const auto source = from.body->parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i].second.copy_(source[i].second);
  networks.refresh();
}

Result<void> save_critic(const fs::path& folder, const ActorCritic& networks) {
  return save_critic(folder, networks.value_head(),
                     networks.has_own_critic_body() ? &networks.critic_body() : nullptr);
}

Result<void> save_critic(const fs::path& folder, const ValueHead& head, const Transformer* body) {
  if (body != nullptr) {
    TRY_VOID(save_hf_model(folder, *body));
  }
  return write_safetensors(folder / head_file, value_head_to_map(head));
}

}  // namespace warpsmith::policy
