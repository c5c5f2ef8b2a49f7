// SPDX-License-Identifier: Apache-2.0
// How a run's model reads and writes: what makes one run's tokens mean the same in another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/text/chat_turns.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

struct TextModel {
  std::filesystem::path folder;  // of the model
  std::string tokenizer_hash;    // of its tokenizer.json
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;
  std::vector<int32_t> stop_tokens;  // that end a turn
  AgentConfig agent;
};

/// Reads what `config` names; every error names its file.
Result<TextModel> read_text_model(const RunConfig& config);

/// Records in the run's text.json which tokenizer.json and chat template its tokens are of: those
/// of the folder `model`. Fails if the run began with others.
Result<void> keep_text(const RunPaths& run, const std::filesystem::path& model,
                       const policy::ChatFrame& frame);

/// Fails if the model folder of `config`, whose tokenizer.json and chat template the run's next
/// checkpoints copy, has others than text.json records. A run without text.json passes. Writes
/// nothing.
Result<void> check_text(const RunPaths& run, const RunConfig& config);

/// The same for a run on disk, by its own configuration. Fails if its folder's tokenizer.json or
/// chat template is no longer what its tokens were recorded with. The error names the run.
Result<TextModel> text_model_of_run(const RunPaths& run);

/// Fails if tokens of `run` would mean something else to `reader`: another tokenizer, chat
/// template, or syntax of calls. The message names both folders and the remedy.
Result<void> check_same_text(const TextModel& reader, const TextModel& source, const RunPaths& run);

}  // namespace warpsmith::actors
