// SPDX-License-Identifier: Apache-2.0
// Everything an engine reads before its first actor starts.
#include "actors/run/engine.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/contract/registry.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::actors {
namespace {

constexpr size_t max_skill_bytes = size_t{1} << 20U;

Result<std::string> read_skill(const std::string& contract) {
  const auto file = source_folder() / sandbox::skill_file(contract);
  return read_text_file(file, max_skill_bytes);
}

Result<void> check_vocabulary(const policy::ModelConfig& model, const policy::Tokenizer& tokenizer,
                              const std::filesystem::path& folder) {
  if (tokenizer.vocabulary_size() <= model.vocab) return {};
  return fail(ErrorCode::parse_failed, folder.string() + ": tokenizer.json has " +
                                           std::to_string(tokenizer.vocabulary_size()) +
                                           " entries, config.json allows only " +
                                           std::to_string(model.vocab));
}

/// Beyond its positions a model was never trained, and says so nowhere.
Result<void> check_positions(const RunConfig& config, const policy::ModelConfig& model,
                             const std::filesystem::path& folder) {
  if (config.agent.max_tokens <= model.max_positions) return {};
  return fail(ErrorCode::invalid_config,
              "agent.max_tokens: expected at most the max_position_embeddings of " +
                  (folder / "config.json").string() + " (" + std::to_string(model.max_positions) +
                  "), got " + std::to_string(config.agent.max_tokens));
}

}  // namespace

Result<void> check_trainable(const RunConfig& config) {
  if (config.generator.temperature > 0) return {};
  return fail(ErrorCode::invalid_config,
              "generator.temperature: training needs more than 0, which only `eval` can sample "
              "with: the gradient is taken of log-probabilities at this temperature");
}

Result<EngineInputs> load_inputs(const RunConfig& config,
                                 const std::filesystem::path& model_folder) {
  auto model = policy::load_hf_model(model_folder);
  if (!model) return tl::unexpected(std::move(model.error()));
  auto tokenizer = policy::read_tokenizer(model_folder);
  if (!tokenizer) return tl::unexpected(std::move(tokenizer.error()));
  if (auto fits = check_vocabulary(model->config(), *tokenizer, model_folder); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  if (auto fits = check_positions(config, model->config(), model_folder); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  auto skill = read_skill(config.sandbox.contract);
  if (!skill) return tl::unexpected(std::move(skill.error()));
  auto tasks = synthesis::load_tasks(config.synthesis.tasks);
  if (!tasks) return tl::unexpected(std::move(tasks.error()));
  EngineInputs inputs;
  inputs.config = config;
  inputs.model = model->config();
  inputs.weights = model->weights();
  inputs.tokenizer = std::make_shared<const policy::Tokenizer>(std::move(*tokenizer));
  inputs.skill = std::move(*skill);
  inputs.python = python_interpreter().string();
  inputs.tasks = std::move(*tasks);
  return inputs;
}

}  // namespace warpsmith::actors
