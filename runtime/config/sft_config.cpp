// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/sft_config.hpp"

namespace warpsmith {

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
  complaints.require(c.context <= c.batch_tokens, "sft.context",
                     "expected at most sft.batch_tokens (" + std::to_string(c.batch_tokens) +
                         "), got " + std::to_string(c.context));
  complaints.require(c.data.empty() || c.script.empty(), "sft.script",
                     "sft.data already names the conversations: set only one of the two");
}

}  // namespace warpsmith
