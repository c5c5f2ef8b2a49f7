// SPDX-License-Identifier: Apache-2.0
// What `serve` reads of a model folder, and the engine that it makes of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "commands/serve/engine_loop.hpp"
#include "commands/serve/served_text.hpp"
#include "policy/model/config.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::commands {

struct ServedModelOptions {
  std::filesystem::path folder;            // in Hugging Face layout
  std::string name;                        // empty: the folder's
  std::optional<int> gpu;                  // none: on the CPU
  std::string chat_template = "auto";      // as agent.chat_template
  std::string tool_syntax = "auto";        // the chat template's own; or "hermes", "xml"
  int64_t context = 0;                     // tokens of a sequence; 0: the model's positions
  std::string context_from = "--context";  // the option or key that sets it
  int64_t cache_tokens = 0;                // keys and values in all; 0: default_cache_tokens
  int64_t sessions = 64;
};

struct ServedModel {
  ServedText text;
  policy::ModelConfig config;
  policy::ModelWeights weights;
  policy::EngineConfig engine;
  std::optional<int> gpu;
};

/// Every error names its file or option.
Result<ServedModel> load_served_model(const ServedModelOptions& options);

/// Makes an engine of the model, with its weights. `model` must outlive the maker.
EngineMaker engine_maker(const ServedModel& model);

}  // namespace warpsmith::commands
