// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/rollout_config.hpp"

#include <array>

namespace warpsmith {
namespace {
constexpr std::array<std::string_view, 3> reward_names{"milestone", "speedup", "log_speedup"};
}  // namespace

void describe(Fields& fields, RolloutConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.integer("concurrent", c.concurrent, {.low = 1, .high = 65'536});
  fields.choice_of("reward", c.reward, reward_names);
  fields.real("overlong_penalty", c.overlong_penalty, {.low = 0, .high = 10});
  fields.integer("infra_retries", c.infra_retries, {.low = 0, .high = 100});
  fields.duration("generate_timeout", c.generate_timeout, {.low = std::chrono::seconds{1}});
}

void validate(const RolloutConfig&, Complaints&) {}

}  // namespace warpsmith
