// SPDX-License-Identifier: Apache-2.0
// [model]: the policy's folder and its initial weights.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

enum class InitialWeights : uint8_t {
  load,    // from model.safetensors in the folder
  random,  // drawn from the run's seed; the folder needs only config.json and tokenizer.json. For
           // run.stage = "sft", and for "agentic" with agent.scripted_turns
};

struct ModelSource {
  std::filesystem::path folder;  // in Hugging Face layout; required
  InitialWeights weights = InitialWeights::load;
};

void describe(Fields& fields, ModelSource& c);
void validate(const ModelSource& c, Complaints& complaints);

}  // namespace warpsmith
