// SPDX-License-Identifier: Apache-2.0
#include "actors/run/model_text.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "actors/run/chat_frame.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t max_record_bytes = size_t{1} << 20U;

tl::unexpected<Error> other_text(const std::string& what, const TextModel& reader,
                                 const TextModel& source, const RunPaths& run) {
  return fail(ErrorCode::invalid_config, run.folder.string() + ": its trajectories have another " +
                                             what + " (" + source.folder.string() +
                                             ") than this model (" + reader.folder.string() +
                                             "); collect with this model, or leave the run out");
}

std::filesystem::path record_file(const RunPaths& run) {
  return run.folder / "text.json";
}

/// What text.json holds for tokens of this meaning.
std::string record_of(const std::string& tokenizer_hash, const policy::ChatFrame& frame) {
  const nlohmann::json out{{"tokenizer", tokenizer_hash},
                           {"frame",
                            {frame.system.before, frame.system.after, frame.without_system,
                             frame.user.before, frame.user.after, frame.results.before,
                             frame.results.after, frame.start, frame.end, frame.after}}};
  return out.dump(1) + '\n';
}

/// Nullopt for a run of a version that kept none.
Result<std::optional<std::string>> stored_record_of(const RunPaths& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(record_file(run), ignored)) return std::nullopt;
  auto text = read_text_file(record_file(run), max_record_bytes);
  if (!text) return tl::unexpected(std::move(text.error()));
  return std::optional{std::move(*text)};
}

tl::unexpected<Error> changed_text(const RunPaths& run, const std::filesystem::path& model,
                                   const char* remedy) {
  return fail(ErrorCode::invalid_config,
              run.folder.string() + ": tokenizer.json or the chat template of " + model.string() +
                  " is no longer what its trajectories were recorded with (" +
                  record_file(run).string() + "); restore it, or " + remedy);
}

}  // namespace

Result<void> keep_text(const RunPaths& run, const std::filesystem::path& model,
                       const policy::ChatFrame& frame) {
  const auto hash = hash_of_file(model / "tokenizer.json");
  if (!hash) return tl::unexpected(hash.error());
  const std::string now = record_of(*hash, frame);
  const auto stored = stored_record_of(run);
  if (!stored) return tl::unexpected(stored.error());
  if (!*stored) return write_file_durably(record_file(run), now);
  return **stored == now ? Result<void>{} : changed_text(run, model, "begin a new run");
}

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

Result<void> check_text(const RunPaths& run, const RunConfig& config) {
  const auto stored = stored_record_of(run);
  if (!stored) return tl::unexpected(stored.error());
  if (!*stored) return {};
  const auto text = read_text_model(config);
  if (!text) return tl::unexpected(text.error());
  const bool same = **stored == record_of(text->tokenizer_hash, text->frame);
  return same ? Result<void>{} : changed_text(run, text->folder, "begin a new run");
}

Result<TextModel> text_model_of_run(const RunPaths& run) {
  const auto config = load_run_config(run.config(), {});
  if (!config) return tl::unexpected(config.error());
  auto text = read_text_model(*config);
  if (!text)
    return fail(run.folder.string() + ": the model that it was sampled with", text.error());
  const auto stored = stored_record_of(run);
  if (!stored) return tl::unexpected(stored.error());
  if (!*stored) {
    log::warn(run.folder.string() + ": has no text.json, so that the tokenizer of " +
              text->folder.string() + " is still that of its trajectories is not checked");
  } else if (**stored != record_of(text->tokenizer_hash, text->frame)) {
    return changed_text(run, text->folder, "collect anew");
  }
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
