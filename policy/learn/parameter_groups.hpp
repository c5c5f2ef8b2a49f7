// SPDX-License-Identifier: Apache-2.0
// Which parameters learn together: the policy's body, and what belongs to the critic alone.
#pragma once

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"

namespace warpsmith::policy {

inline constexpr size_t policy_group = 0;
inline constexpr size_t critic_group = 1;

/// Two groups, in the order of the constants: they differ in rate and are clipped apart, so that a
/// fresh critic's large gradient does not shrink the policy's.
std::vector<ParameterGroup> parameter_groups(const ActorCritic& networks);

}  // namespace warpsmith::policy
