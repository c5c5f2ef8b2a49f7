// SPDX-License-Identifier: Apache-2.0
// The optimiser's parameter groups: the policy or its adapters, and what belongs to the critic
// alone.
#pragma once

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"

namespace warpsmith::policy {

inline constexpr size_t policy_group = 0;
inline constexpr size_t critic_group = 1;

/// The two groups, in the order of the constants. They are clipped separately, so that the large
/// gradient of a new critic does not shrink the policy's.
std::vector<ParameterGroup> parameter_groups(const ActorCritic& networks);

}  // namespace warpsmith::policy
