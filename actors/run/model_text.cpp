// SPDX-License-Identifier: Apache-2.0
#include "actors/run/model_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "actors/base/script.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/text/chat_format.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "runtime/environment.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds render_timeout{60};
constexpr size_t max_record_bytes = size_t{1} << 20U;

/// The folder's chat template on known conversations, as JSON.
Result<std::string> renderings_of(const std::filesystem::path& folder) {
  const auto script = source_folder() / "scripts/render_chat_template.py";
  return run_script(script, {folder.string()}, render_timeout);
}

Result<policy::ChatFrame> frame_of_folder(const std::filesystem::path& folder,
                                          const policy::Tokenizer& tokenizer) {
  TRY(const auto renderings, renderings_of(folder));
  return policy::frame_of_renderings(renderings, tokenizer);
}

tl::unexpected<Error> different_text(const std::string& what, const TextModel& reader,
                                     const TextModel& source, const RunPaths& run) {
  return fail(ErrorCode::invalid_config, run.folder.string() + ": its trajectories have another " +
                                             what + " (" + source.folder.string() +
                                             ") than this model (" + reader.folder.string() +
                                             "); collect with this model, or leave the run out");
}

std::filesystem::path record_file(const RunPaths& run) {
  return run.folder / "text.json";
}

/// The content of text.json for tokens of this meaning.
std::string record_of(const std::string& tokenizer_hash, const policy::ChatFrame& frame) {
  const nlohmann::json out{{"tokenizer", tokenizer_hash},
                           {"frame",
                            {frame.system.before, frame.system.after, frame.without_system,
                             frame.user.before, frame.user.after, frame.results.before,
                             frame.results.after, frame.start, frame.end, frame.after}}};
  return out.dump(1) + '\n';
}

/// Nullopt for a run of a version that did not write text.json.
Result<std::optional<std::string>> stored_record_of(const RunPaths& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(record_file(run), ignored)) return std::nullopt;
  TRY(auto text, read_text_file(record_file(run), max_record_bytes));
  return std::optional{std::move(text)};
}

tl::unexpected<Error> changed_text(const RunPaths& run, const std::filesystem::path& model,
                                   const char* remedy) {
  return fail(ErrorCode::invalid_config,
              run.folder.string() + ": tokenizer.json or the chat template of " + model.string() +
                  " is no longer what its trajectories were recorded with (" +
                  record_file(run).string() + "); restore it, or " + remedy);
}

}  // namespace

Result<policy::ChatFrame> chat_frame(const AgentConfig& agent, const policy::Tokenizer& tokenizer,
                                     const std::filesystem::path& folder) {
  auto frame = agent.chat_template == "auto" ? frame_of_folder(folder, tokenizer)
                                             : policy::frame_named(agent.chat_template, tokenizer);
  if (frame || frame.error().code != ErrorCode::unsupported) return frame;
  return fail(ErrorCode::invalid_config,
              folder.string() + ": " + frame.error().message +
                  "; set agent.chat_template to \"chatml\" or \"llama3\"" +
                  (agent.chat_template == "auto" ? "" : ", or to \"auto\""));
}

Result<ToolSyntax> tool_syntax_of(const std::filesystem::path& folder) {
  TRY(const auto renderings, renderings_of(folder));
  return policy::syntax_of_renderings(renderings);
}

void end_turns_by(const policy::ChatFrame& frame, const policy::Tokenizer& tokenizer,
                  policy::ModelConfig& model) {
  const auto end = tokenizer.id_of(frame.end);
  auto& stops = model.eos_tokens;
  if (end && std::ranges::find(stops, *end) == stops.end()) stops.push_back(*end);
}

Result<void> keep_text(const RunPaths& run, const std::filesystem::path& model,
                       const policy::ChatFrame& frame) {
  TRY(const auto hash, hash_of_file(model / "tokenizer.json"));
  const std::string now = record_of(hash, frame);
  TRY(const auto stored, stored_record_of(run));
  if (!stored) return write_file_durably(record_file(run), now);
  return *stored == now ? Result<void>{} : changed_text(run, model, "begin a new run");
}

Result<TextModel> read_text_model(const RunConfig& config) {
  TextModel text{.folder = config.model.folder, .agent = config.agent};
  TRY(auto tokenizer, policy::read_tokenizer(text.folder));
  TRY(auto hash, hash_of_file(text.folder / "tokenizer.json"));
  TRY(auto frame, chat_frame(config.agent, tokenizer, text.folder));
  TRY(auto model, policy::read_hf_config(text.folder));
  end_turns_by(frame, tokenizer, model);
  text.stop_tokens.assign(model.eos_tokens.begin(), model.eos_tokens.end());
  text.tokenizer_hash = std::move(hash);
  text.frame = std::move(frame);
  text.tokenizer = std::make_shared<const policy::Tokenizer>(std::move(tokenizer));
  return text;
}

Result<void> check_text(const RunPaths& run, const RunConfig& config) {
  TRY(const auto stored, stored_record_of(run));
  if (!stored) return {};
  TRY(const auto text, read_text_model(config));
  const bool same = *stored == record_of(text.tokenizer_hash, text.frame);
  return same ? Result<void>{} : changed_text(run, text.folder, "begin a new run");
}

Result<TextModel> text_model_of_run(const RunPaths& run) {
  TRY(const auto config, load_run_config(run.config(), {}));
  auto text = read_text_model(config);
  if (!text) return fail(run.folder.string() + ": the model that sampled it", text.error());
  TRY(const auto stored, stored_record_of(run));
  if (!stored) {
    log::warn(run.folder.string() +
              ": has no text.json, so it is not checked whether the tokenizer of " +
              text->folder.string() + " is still the one that its trajectories were sampled with");
  } else if (*stored != record_of(text->tokenizer_hash, text->frame)) {
    return changed_text(run, text->folder, "collect again");
  }
  return text;
}

Result<void> check_same_text(const TextModel& reader, const TextModel& source,
                             const RunPaths& run) {
  if (reader.tokenizer_hash != source.tokenizer_hash) {
    return different_text("tokenizer.json", reader, source, run);
  }
  if (!(reader.frame == source.frame)) return different_text("chat template", reader, source, run);
  if (reader.agent.syntax != source.agent.syntax) {
    return different_text("agent.syntax", reader, source, run);
  }
  return {};
}

}  // namespace warpsmith::actors
