// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_inputs.hpp"

#include <algorithm>

#include "actors/brain/brain_settings.hpp"
#include "actors/composer/composer_settings.hpp"
#include "actors/rollout/scripted_turns.hpp"
#include "actors/run/chat_frame.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/learn/lora.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/environment.hpp"
#include "runtime/log.hpp"
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

/// A model gives no error beyond the positions that it was trained on, only bad tokens.
Result<void> check_positions(const RunConfig& config, const policy::ModelConfig& model,
                             const std::filesystem::path& folder) {
  if (config.agent.max_tokens <= model.max_positions) return {};
  return fail(ErrorCode::invalid_config,
              "agent.max_tokens: expected at most the max_position_embeddings of " +
                  (folder / "config.json").string() + " (" + std::to_string(model.max_positions) +
                  "), got " + std::to_string(config.agent.max_tokens));
}

/// Fails at the start of a run, before its first generator would.
Result<void> check_generator(const GeneratorConfig& c) {
  if (c.device == ComputeDevice::cpu || policy::cuda_engine_is_built()) return {};
  return fail(ErrorCode::unsupported,
              "generator.device: expected \"cpu\", got \"cuda\": this was built without a CUDA "
              "toolkit or without FlashInfer's headers");
}

Result<void> add_tokenizer(RunInputs& inputs, const std::filesystem::path& folder) {
  auto tokenizer = policy::read_tokenizer(folder);
  if (!tokenizer) return tl::unexpected(std::move(tokenizer.error()));
  if (auto fits = check_vocabulary(inputs.model, *tokenizer, folder); !fits) return fits;
  auto frame = chat_frame(inputs.config.agent, *tokenizer, folder);
  if (!frame) return tl::unexpected(std::move(frame.error()));
  end_turns_by(*frame, *tokenizer, inputs.model);
  inputs.stop_tokens.assign(inputs.model.eos_tokens.begin(), inputs.model.eos_tokens.end());
  inputs.frame = std::move(*frame);
  inputs.tokenizer = std::make_shared<const policy::Tokenizer>(std::move(*tokenizer));
  return {};
}

}  // namespace

Result<void> check_trainable(const RunConfig& config) {
  const GeneratorConfig& c = config.generator;
  if (has_brain(config.brain)) {
    return fail(ErrorCode::invalid_config,
                "run.stage = \"" + std::string{to_string(config.run.stage)} +
                    "\" trains by PPO, which needs the log-probability of every token, and a "
                    "[brain] gives none; with [brain], set run.stage to \"collect\" and learn "
                    "from its trajectories by \"rft\", or use `eval`; in a chain, write the table "
                    "as [stage.collect.brain]");
  }
  if (c.temperature <= 0) {
    return fail(ErrorCode::invalid_config,
                "generator.temperature: expected more than 0 for training, got 0: the gradient is "
                "taken of log-probabilities at this temperature; only `eval` can sample at 0");
  }
  if (c.top_k == 0 && c.top_p >= 1) return check_composer(config);
  return fail(ErrorCode::invalid_config,
              "generator.top_k and top_p: expected 0 and 1 for training, got " +
                  std::to_string(c.top_k) + " and " + std::to_string(c.top_p) +
                  ": the ratios of the loss are of the whole distribution; only `eval` can sample "
                  "from a part of it");
}

namespace {

/// A checkpoint has weights, whatever the run began with.
bool begins_random(const RunConfig& config, const std::filesystem::path& folder) {
  return config.model.weights == InitialWeights::random && folder == config.model.folder;
}

Result<void> read_model(RunInputs& inputs, const std::filesystem::path& folder) {
  if (begins_random(inputs.config, folder)) {
    auto shape = policy::read_hf_config(folder);
    if (!shape) return tl::unexpected(std::move(shape.error()));
    inputs.model = std::move(*shape);
    return {};
  }
  auto model = policy::load_hf_model(folder);
  if (!model) return tl::unexpected(std::move(model.error()));
  inputs.model = model->config();
  inputs.weights = model->weights();
  return {};
}

/// The model that samples.
Result<void> add_model(RunInputs& inputs, const std::filesystem::path& folder) {
  if (auto fits = check_generator(inputs.config.generator); !fits) return fits;
  if (auto good = scripted_calls(inputs.config.agent); !good) return tl::unexpected(good.error());
  if (auto read = read_model(inputs, folder); !read) return read;
  if (auto added = add_tokenizer(inputs, folder); !added) return added;
  if (auto fits = policy::check_lora(inputs.config.learner.lora, inputs.model); !fits) return fits;
  return check_positions(inputs.config, inputs.model, folder);
}

/// With a brain the model folder only says in which tokens trajectories are recorded.
Result<void> add_brain(RunInputs& inputs, const std::filesystem::path& folder) {
  auto model = policy::read_hf_config(folder);
  if (!model) return tl::unexpected(std::move(model.error()));
  inputs.model = std::move(*model);
  if (auto added = add_tokenizer(inputs, folder); !added) return added;
  return check_brain(inputs.config, {inputs.tokenizer, inputs.frame, inputs.stop_tokens});
}

}  // namespace

Result<void> check_held_out(const RunInputs& inputs) {
  const auto held_out = synthesis::find_tasks(inputs.config.synthesis.held_out);
  if (!held_out) return fail("synthesis.held_out", held_out.error());
  for (const Task& task : held_out->tasks) {
    const auto same = std::ranges::find(inputs.tasks, task.content_hash, &Task::content_hash);
    if (same == inputs.tasks.end()) continue;
    return fail(ErrorCode::invalid_config,
                "synthesis.held_out: " + task.source + " is the same task as " + same->source +
                    " of synthesis.tasks, so it is not held out; remove one of the two");
  }
  return {};
}

Result<void> check_evaluable(const RunConfig& config) {
  if (config.agent.scripted_turns.empty()) return {};
  return fail(ErrorCode::invalid_config,
              "agent.scripted_turns: expected none in an evaluation: the policy would be judged by "
              "calls that it did not make");
}

Result<RunInputs> load_inputs(const RunConfig& config, const std::filesystem::path& model_folder) {
  RunInputs inputs;
  inputs.config = config;
  const auto added =
      has_brain(config.brain) ? add_brain(inputs, model_folder) : add_model(inputs, model_folder);
  if (!added) return tl::unexpected(added.error());
  auto skill = read_skill(config.sandbox.contract);
  if (!skill) return tl::unexpected(std::move(skill.error()));
  auto tasks = synthesis::load_tasks(config.synthesis.tasks);
  if (!tasks) return tl::unexpected(std::move(tasks.error()));
  inputs.skill = std::move(*skill);
  inputs.python = python_interpreter().string();
  inputs.tasks = std::move(*tasks);
  return inputs;
}

void add_random_weights(RunInputs& inputs) {
  if (inputs.config.model.weights != InitialWeights::random || inputs.weights.embed.defined())
    return;
  RandomStream random{static_cast<uint64_t>(inputs.config.run.seed), "weights"};
  inputs.weights = policy::make_weights(inputs.model, random);
}

Result<void> add_critic(RunInputs& inputs) {
  const CriticConfig& c = inputs.config.learner.critic;
  if (c.folder.empty()) return {};
  auto critic = policy::read_critic(c.folder, inputs.model, c);
  if (!critic) return tl::unexpected(std::move(critic.error()));
  inputs.critic = std::make_shared<const policy::CriticWeights>(std::move(*critic));
  return {};
}

std::shared_ptr<const RunInputs> with_session(RunInputs inputs, const RunSession& session) {
  LedgerStore& store = session.ledger->store;
  auto noted = store.record_learns(inputs.learns);
  if (noted) noted = store.flush();
  if (!noted) {
    log::warn("the run's kind was not recorded: " + noted.error().message);
  }
  inputs.ledger = session.ledger;
  inputs.checkpoints = session.checkpoints;
  inputs.origin = session.origin;
  inputs.paths = session.folder.paths();
  inputs.scratch = inputs.paths.folder / "scratch";
  return std::make_shared<const RunInputs>(std::move(inputs));
}

}  // namespace warpsmith::actors
