// SPDX-License-Identifier: Apache-2.0
// A critic on disk: value_head.safetensors, and a model folder if the critic has its own body. Same
// layout as a checkpoint's critic/.
#pragma once

#include <filesystem>
#include <optional>

#include "policy/learn/actor_critic.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// The weights of a critic.
struct CriticWeights {
  ValueHead head;
  std::optional<ModelWeights> body;  // only of a separate critic
};

/// Reads a critic as `critic` describes it, for models of shape `config`. The error names the file,
/// what was expected and what to do: `not_found` without a head or, for a separate critic, without
/// a body; `parse_failed` for another shape.
Result<CriticWeights> read_critic(const std::filesystem::path& folder, const ModelConfig& config,
                                  const CriticConfig& critic);

/// Copies `from` into the storage of the networks' critic.
void assign_critic(ActorCritic& networks, const CriticWeights& from);

/// Writes the critic of `networks`, or one of that head and body, into `folder`, which exists.
Result<void> save_critic(const std::filesystem::path& folder, const ActorCritic& networks);
Result<void> save_critic(const std::filesystem::path& folder, const ValueHead& head,
                         const Transformer* body);

}  // namespace warpsmith::policy
