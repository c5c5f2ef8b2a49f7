// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/value_config.hpp"

namespace warpsmith {

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
