// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/brain_settings.hpp"

#include <algorithm>

#include "actors/base/secret_key.hpp"
#include "actors/protocol/errors.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {
namespace {

int64_t trajectories_at_once(const RunConfig& config) {
  return config.rollout.count * config.rollout.concurrent;
}

RequestStyle style_of(const RunConfig& config) {
  const BrainConfig& c = config.brain;
  RequestStyle style;
  style.model = c.model;
  // eval --greedy and collect.greedy set the generator's temperature to 0.
  style.temperature = config.generator.temperature == 0 ? 0 : c.temperature;
  style.stream = c.stream;
  style.dialect = c.tools;
  style.syntax = config.agent.syntax;
  style.extra = c.extra;
  if (config.agent.answer == AnswerForm::calls) {
    style.tools = sandbox::tools_named(config.agent.tools).value_or(sandbox::all_tools());
  }
  return style;
}

}  // namespace

Result<std::string> brain_key(const BrainConfig& c) {
  return secret_key("brain.key_env", c.key_env);
}

Result<void> check_brain(const RunConfig& config, const BrainText& text) {
  const BrainConfig& c = config.brain;
  if (auto key = brain_key(c); !key) return tl::unexpected(std::move(key.error()));
  if (auto good = check_extra(c.extra); !good) return good;
  std::error_code none;
  if (!c.candidates.empty() && !std::filesystem::is_directory(c.candidates, none)) {
    return fail(ErrorCode::invalid_config,
                "brain.candidates: expected a folder, got " + c.candidates.string());
  }
  const auto reader = ChatReader::make(text.tokenizer, text.frame, text.stop_tokens);
  if (!reader) return fail(config.model.folder.string(), reader.error());
  return {};
}

BrainSettings brain_settings(const RunConfig& config, BrainText text, const RunPaths& run,
                             std::shared_ptr<EndRequest> end) {
  auto key = brain_key(config.brain);
  if (!key) throw ActorFailure(key.error());
  BrainSettings settings;
  settings.config = config.brain;
  settings.style = style_of(config);
  settings.text = std::move(text);
  settings.key = std::move(*key);
  settings.run = run;
  settings.chunk_tokens = static_cast<size_t>(config.generator.chunk_tokens);
  settings.max_sessions = static_cast<size_t>(2 * trajectories_at_once(config));
  settings.seed = static_cast<uint64_t>(config.run.seed);
  settings.end = std::move(end);
  return settings;
}

std::chrono::milliseconds brain_patience(const RunConfig& config) {
  const BrainConfig& c = config.brain;
  const int64_t rounds = 1 + trajectories_at_once(config) / c.concurrency;
  return (c.request_timeout + c.max_wait) * ((c.retries + 1) * rounds);
}

}  // namespace warpsmith::actors
