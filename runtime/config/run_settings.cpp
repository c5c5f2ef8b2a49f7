// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/run_settings.hpp"

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {
constexpr std::array<std::string_view, 6> stage_names{"sft", "warmup", "collect",
                                                      "rft", "value",  "agentic"};
constexpr std::array<std::string_view, 2> mode_names{"async", "sync"};
}  // namespace

std::string_view to_string(Stage stage) noexcept {
  return stage_names[static_cast<size_t>(stage)];
}

std::optional<Stage> stage_named(std::string_view name) noexcept {
  const auto found = std::find(stage_names.begin(), stage_names.end(), name);
  if (found == stage_names.end()) return std::nullopt;
  return static_cast<Stage>(found - stage_names.begin());
}

bool learns_online(Stage stage) noexcept {
  return stage == Stage::warmup || stage == Stage::agentic;
}

bool samples(Stage stage) noexcept {
  return learns_online(stage) || stage == Stage::collect;
}

void describe(Fields& fields, RunSettings& c) {
  fields.require("seed");
  fields.integer("seed", c.seed, {.low = 0});
  fields.text("name", c.name);
  fields.choice_of("stage", c.stage, stage_names);
  fields.texts("stages", c.stages, {});
  fields.choice_of("mode", c.mode, mode_names);
  fields.integer("trajectories", c.trajectories, {.low = 1});
  fields.duration("time_limit", c.time_limit, {.low = std::chrono::seconds{1}});
  fields.path("folder", c.folder);
  fields.integer("threads", c.threads, {.low = 0, .high = 1024});
}

void validate(const RunSettings& c, Complaints& complaints) {
  const bool plain = std::all_of(c.name.begin(), c.name.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
  });
  complaints.require(
      plain && !c.name.starts_with('.'), "run.name",
      "expected letters, digits, '-', '_' and '.', not starting with '.', got \"" + c.name + "\"");
}

}  // namespace warpsmith
