// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/composer_settings.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "actors/base/secret_key.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

std::string_view name_of(ComposeCompiler compiler) {
  static constexpr std::array<std::string_view, 3> names{"none", "aot_eager", "inductor"};
  return names.at(static_cast<size_t>(compiler));
}

/// Only what is set, so that a run of an earlier version can be resumed.
void add_choices(nlohmann::json& origin, const ComposeConfig& compose) {
  if (!compose.shares.empty()) origin["shares"] = compose.shares;
  if (compose.compile != ComposeCompiler::none) origin["compile"] = name_of(compose.compile);
  if (compose.composer == ComposerKind::llm) origin["composer"] = "llm";
  if (!compose.url.empty()) origin["model"] = {compose.url, compose.model};
  if (compose.max_ms > 0) origin["window"] = {compose.min_ms, compose.max_ms};
}

/// What the worker needs to ask an endpoint; without an address it asks this actor.
nlohmann::json model_of(const ComposeConfig& compose) {
  nlohmann::json model = nlohmann::json::object();
  if (compose.url.empty()) return model;
  model["url"] = compose.url;
  model["model"] = compose.model;
  model["seconds"] = std::chrono::duration<double>(compose.answer_time).count();
  if (!compose.key_env.empty()) model["key_env"] = compose.key_env;
  return model;
}

nlohmann::json origin_of(const RunConfig& config) {
  const ComposeConfig& compose = config.synthesis.compose;
  std::vector<std::string> against;
  for (const auto* places : {&config.synthesis.held_out, &compose.against}) {
    for (const fs::path& place : *places) against.push_back(fs::absolute(place).string());
  }
  const std::chrono::duration<double> seconds = compose.candidate_time;
  nlohmann::json origin{{"seed", config.run.seed},
                        {"device", uses_gpus(config.sandbox) ? "cuda" : "cpu"},
                        {"against", against},
                        {"seconds", seconds.count()},
                        {"memory", compose.memory_bytes}};
  add_choices(origin, compose);
  return origin;
}

}  // namespace

std::string composing_origin(const RunConfig& config) {
  return json_text(origin_of(config));
}

Result<void> check_composer(const RunConfig& config) {
  if (config.synthesis.composers() == 0) return {};
  const auto key = secret_key("synthesis.compose.key_env", config.synthesis.compose.key_env);
  if (!key) return tl::unexpected(key.error());
  return {};
}

std::optional<PolicyText> policy_text(const RunConfig& config,
                                      const std::shared_ptr<const policy::Tokenizer>& tokenizer,
                                      policy::ChatFrame frame, std::vector<int32_t> stop_tokens) {
  if (!config.synthesis.policy_composes()) return std::nullopt;
  PolicyText text;
  text.encode = [tokenizer, frame = std::move(frame)](const std::string& prompt) {
    return tokenizer->encode(policy::chat_prompt("", prompt, frame));
  };
  text.decode = [tokenizer](std::span<const int32_t> tokens) { return tokenizer->decode(tokens); };
  text.stop_tokens = std::move(stop_tokens);
  text.max_tokens = config.agent.max_tokens;
  text.max_answer = config.generator.max_new_tokens;
  return text;
}

ComposerSettings composer_settings(const RunConfig& config, const std::string& python,
                                   const fs::path& scratch, uint32_t index) {
  nlohmann::json settings = origin_of(config);
  settings["cache"] = (cache_folder() / "synthesis").string();
  settings["folder"] = (scratch / ("composer-" + std::to_string(index))).string();
  ComposerSettings composer;
  if (config.synthesis.compose.composer == ComposerKind::llm) {
    settings["llm"] = model_of(config.synthesis.compose);
    composer.policy_within = config.synthesis.compose.answer_time;
  }
  if (const auto here = static_cast<uint64_t>(config.synthesis.count); index >= here) {
    composer.node = config.synthesis.compose.nodes.at(index - here);
    settings["node"] = composer.node;
  } else if (uses_gpus(config.sandbox)) {
    settings["gpu"] = config.sandbox.first_gpu + index % config.sandbox.gpus;
  }
  composer.worker = {python, json_text(settings), cores_beside_slots(config.sandbox)};
  return composer;
}

}  // namespace warpsmith::actors
