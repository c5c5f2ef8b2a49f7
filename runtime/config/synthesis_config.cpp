// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/synthesis_config.hpp"

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {
constexpr std::array<std::string_view, 2> curriculum_names{"rounds", "headroom"};
}  // namespace

void describe(Fields& fields, SynthesisConfig& c) {
  fields.paths("tasks", c.tasks);
  fields.paths("held_out", c.held_out);
  fields.choice_of("curriculum", c.curriculum, curriculum_names);
  fields.integer("max_tasks", c.max_tasks, {.low = 1, .high = 10'000'000});
}

void validate(const SynthesisConfig& c, Complaints& complaints) {
  complaints.require(!c.tasks.empty(), "synthesis.tasks",
                     "expected at least one folder or file of tasks");
  for (const auto& path : c.held_out) {
    const bool trained = std::find(c.tasks.begin(), c.tasks.end(), path) != c.tasks.end();
    complaints.require(!trained, "synthesis.held_out",
                       path.string() + " is also in synthesis.tasks, so it is not held out");
  }
}

}  // namespace warpsmith
