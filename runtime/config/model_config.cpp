// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/model_config.hpp"

#include <fmt/format.h>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 2> weight_names{"load", "random"};

}  // namespace

void describe(Fields& fields, ModelSource& c) {
  fields.require("folder");
  fields.path("folder", c.folder);
  fields.choice_of("weights", c.weights, weight_names);
}

void validate(const ModelSource& c, Complaints& complaints) {
  complaints.require(!complaints.was_set("model.folder") || !c.folder.empty(), "model.folder",
                     "expected a folder in Hugging Face layout, got an empty path");
}

int64_t rows_per_step(const GeneratorConfig& c) {
  if (c.step_rows > 0) return c.step_rows;
  return c.device == ComputeDevice::cuda ? 4096 : 512;
}

void describe(Fields& fields, GeneratorConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.choice_of("device", c.device, device_names);
  fields.integer("gpu", c.gpu, {.low = 0, .high = 63});
  fields.choice_of("precision", c.precision, precision_names);
  fields.integer("step_rows", c.step_rows, {.low = 0, .high = 65'536});
  fields.integer("max_sessions", c.max_sessions, {.low = 1, .high = 65'536});
  fields.integer("max_batch", c.max_batch, {.low = 1, .high = 65'536});
  fields.integer("cache_tokens", c.cache_tokens, {.low = 64, .high = int64_t{1} << 36});
  fields.integer("chunk_tokens", c.chunk_tokens, {.low = 1, .high = 4096});
  fields.flag("prefix_reuse", c.prefix_reuse);
  fields.real("temperature", c.temperature, {.low = 0, .high = 10});
  fields.real("top_p", c.top_p, {.low = 0, .high = 1, .above_low = true});
  fields.integer("top_k", c.top_k, {.low = 0, .high = 1 << 24});
  fields.integer("max_new_tokens", c.max_new_tokens, {.low = 1, .high = 1 << 24});
  fields.duration("pull_timeout", c.pull_timeout, {.low = std::chrono::milliseconds{100}});
}

void validate(const GeneratorConfig& c, Complaints& complaints) {
  complaints.require(c.max_batch <= c.max_sessions, "generator.max_batch",
                     fmt::format("expected at most generator.max_sessions ({}), got {}",
                                 c.max_sessions, c.max_batch));
}

}  // namespace warpsmith
