// SPDX-License-Identifier: Apache-2.0
// The text format of a run's model (tokenizer and chat template), and a check that the tokens of
// one run have the same meaning in another.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/text/chat_format.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/rollout_config.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// The frame that `agent.chat_template` names; for "auto", the one of the folder's own template.
/// `invalid_config` says what to set if there is no usable template.
Result<policy::ChatFrame> chat_frame(const AgentConfig& agent, const policy::Tokenizer& tokenizer,
                                     const std::filesystem::path& folder);

/// The syntax in which the folder's own chat template writes tool calls; `hermes` if it writes none
/// or if there is no template.
Result<ToolSyntax> tool_syntax_of(const std::filesystem::path& folder);

/// Adds the token that ends a turn to the model's stop tokens, so that its exported copies stop
/// too.
void end_turns_by(const policy::ChatFrame& frame, const policy::Tokenizer& tokenizer,
                  policy::ModelConfig& model);

/// The inputs that determine the meaning of a run's tokens.
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

/// Records the tokenizer.json and chat template of the folder `model` in the run's text.json. Fails
/// if the run began with others.
Result<void> keep_text(const RunPaths& run, const std::filesystem::path& model,
                       const policy::ChatFrame& frame);

/// Fails if the model folder of `config` has another tokenizer.json or chat template than text.json
/// records, since the run's next checkpoints would copy them. A run without text.json passes.
/// Writes nothing.
Result<void> check_text(const RunPaths& run, const RunConfig& config);

/// The same for a run on disk, by its own configuration. Fails if its folder's tokenizer.json or
/// chat template has changed since its tokens were recorded. The error names the run.
Result<TextModel> text_model_of_run(const RunPaths& run);

/// Fails if tokens of `run` would have another meaning for `reader`, because its tokenizer, chat
/// template or call syntax differs. The message names both folders and the remedy.
Result<void> check_same_text(const TextModel& reader, const TextModel& source, const RunPaths& run);

}  // namespace warpsmith::actors
