// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/stage_configs.hpp"

#include <fmt/format.h>

#include <array>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 2> invalid_names{"trajectory", "turn"};

}  // namespace

void describe(Fields& fields, SftConfig& c) {
  fields.path("data", c.data);
  fields.path("script", c.script);
  fields.texts("arguments", c.arguments, {});
  fields.integer("epochs", c.epochs, {.low = 1, .high = 10'000});
  fields.integer("batch_tokens", c.batch_tokens, {.low = 64, .high = 1 << 28});
  fields.integer("context", c.context, {.low = 16, .high = 1 << 24});
  fields.real("learning_rate", c.learning_rate, {.low = 0, .high = 1, .above_low = true});
  fields.real("final_rate_share", c.final_rate_share, {.low = 0, .high = 1});
  fields.integer("warmup", c.warmup, {.low = 0, .high = 1 << 20});
  fields.real("weight_decay", c.weight_decay, {.low = 0, .high = 1});
  fields.real("held_out_share", c.held_out_share, {.low = 0, .high = 0.5});
  fields.path("export_to", c.export_to);
}

void validate(const SftConfig& c, Complaints& complaints) {
  complaints.require(
      c.context <= c.batch_tokens, "sft.context",
      fmt::format("expected at most sft.batch_tokens ({}), got {}", c.batch_tokens, c.context));
  complaints.require(c.data.empty() || c.script.empty(), "sft.script",
                     "sft.data already names the conversations: set only one of the two; --set "
                     "sft.script= clears the script of a configuration file");
}

void describe(Fields& fields, CollectConfig& c) {
  fields.integer("samples", c.samples, {.low = 1, .high = 1 << 20});
  fields.flag("greedy", c.greedy);
}

void describe(Fields& fields, RftConfig& c) {
  fields.paths("runs", c.runs);
  fields.integer("per_task", c.per_task, {.low = 1, .high = 1 << 20});
  fields.integer("stall_turns", c.stall_turns, {.low = 0, .high = 10'000});
  fields.flag("repeated_calls", c.repeated_calls);
  fields.choice_of("invalid_calls", c.invalid_calls, invalid_names);
}

void describe(Fields& fields, ValueConfig& c) {
  fields.paths("runs", c.runs);
  fields.real("lambda", c.lambda, {.low = 0, .high = 1});
  fields.integer("epochs", c.epochs, {.low = 1, .high = 10'000});
  fields.integer("batch_tokens", c.batch_tokens, {.low = 64, .high = 1 << 28});
  fields.real("learning_rate", c.learning_rate, {.low = 0, .high = 1, .above_low = true});
  fields.integer("warmup", c.warmup, {.low = 0, .high = 1 << 20});
  fields.real("held_out_share", c.held_out_share, {.low = 0, .high = 0.5, .above_low = true});
  fields.integer("patience", c.patience, {.low = 1, .high = 1 << 20});
}

}  // namespace warpsmith
