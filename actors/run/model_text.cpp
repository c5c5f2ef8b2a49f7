// SPDX-License-Identifier: Apache-2.0
#include "actors/run/model_text.hpp"

#include <utility>

#include "actors/run/chat_frame.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

tl::unexpected<Error> other_text(const std::string& what, const TextModel& reader,
                                 const TextModel& source, const RunPaths& run) {
  return fail(ErrorCode::invalid_config, run.folder.string() + ": its trajectories have another " +
                                             what + " (" + source.folder.string() +
                                             ") than this model (" + reader.folder.string() +
                                             "); collect with this model, or leave the run out");
}

}  // namespace

Result<TextModel> read_text_model(const RunConfig& config) {
  TextModel text{.folder = config.model.folder, .agent = config.agent};
  auto tokenizer = policy::read_tokenizer(text.folder);
  if (!tokenizer) return tl::unexpected(std::move(tokenizer.error()));
  auto hash = hash_of_file(text.folder / "tokenizer.json");
  if (!hash) return tl::unexpected(std::move(hash.error()));
  auto frame = chat_frame(config.agent, *tokenizer, text.folder);
  if (!frame) return tl::unexpected(std::move(frame.error()));
  auto model = policy::read_hf_config(text.folder);
  if (!model) return tl::unexpected(std::move(model.error()));
  end_turns_by(*frame, *tokenizer, *model);
  text.stop_tokens.assign(model->eos_tokens.begin(), model->eos_tokens.end());
  text.tokenizer_hash = std::move(*hash);
  text.frame = std::move(*frame);
  text.tokenizer = std::make_shared<const policy::Tokenizer>(std::move(*tokenizer));
  return text;
}

Result<TextModel> text_model_of_run(const RunPaths& run) {
  const auto config = load_run_config(run.config(), {});
  if (!config) return tl::unexpected(config.error());
  auto text = read_text_model(*config);
  if (!text)
    return fail(run.folder.string() + ": the model that it was sampled with", text.error());
  return text;
}

Result<void> check_same_text(const TextModel& reader, const TextModel& source,
                             const RunPaths& run) {
  if (reader.tokenizer_hash != source.tokenizer_hash) {
    return other_text("tokenizer.json", reader, source, run);
  }
  if (!(reader.frame == source.frame)) return other_text("chat template", reader, source, run);
  if (reader.agent.syntax != source.agent.syntax) {
    return other_text("agent.syntax", reader, source, run);
  }
  return {};
}

}  // namespace warpsmith::actors
