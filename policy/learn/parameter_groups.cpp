// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/parameter_groups.hpp"

#include <utility>

namespace warpsmith::policy {

std::vector<ParameterGroup> parameter_groups(const ActorCritic& networks) {
  const auto& lora = networks.lora();
  ParameterGroup policy{"policy",
                        lora ? lora->parameters() : networks.actor().weights().parameters()};
  ParameterGroup critic{"critic", networks.value_head().parameters()};
  if (networks.has_own_critic_body()) {
    for (auto& entry : networks.critic_body().weights().parameters()) {
      critic.parameters.push_back(std::move(entry));
    }
  }
  return {std::move(policy), std::move(critic)};
}

}  // namespace warpsmith::policy
