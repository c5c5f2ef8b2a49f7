// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "actors/brain/brain.hpp"
#include "actors/composer/composer.hpp"
#include "actors/rollout/rollout_machine.hpp"
#include "actors/run/model_text.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/learn/lora.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/environment.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_queries.hpp"
#include "sandbox/contract/contract.hpp"
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
  return fail(ErrorCode::parse_failed,
              fmt::format("{}: tokenizer.json has {} entries, config.json allows only {}",
                          folder.string(), tokenizer.vocabulary_size(), model.vocab));
}

/// Beyond the positions that it was trained on, a model does not fail but samples bad tokens.
Result<void> check_positions(const RunConfig& config, const policy::ModelConfig& model,
                             const std::filesystem::path& folder) {
  if (config.agent.max_tokens <= model.max_positions) return {};
  return fail(
      ErrorCode::invalid_config,
      fmt::format(
          "agent.max_tokens: expected at most the max_position_embeddings of {} ({}), got {}",
          (folder / "config.json").string(), model.max_positions, config.agent.max_tokens));
}

/// Fails at the start of a run, before the first generator would.
Result<void> check_generator(const GeneratorConfig& c) {
  if (c.device == ComputeDevice::cpu || policy::cuda_engine_is_built()) return {};
  return fail(ErrorCode::unsupported,
              "generator.device: expected \"cpu\", got \"cuda\": this was built without a CUDA "
              "toolkit or without FlashInfer's headers");
}

Result<void> add_tokenizer(RunInputs& inputs, const std::filesystem::path& folder) {
  TRY(auto tokenizer, policy::read_tokenizer(folder));
  TRY_VOID(check_vocabulary(inputs.model, tokenizer, folder));
  TRY(auto frame, chat_frame(inputs.config.agent, tokenizer, folder));
  end_turns_by(frame, tokenizer, inputs.model);
  inputs.stop_tokens.assign(inputs.model.eos_tokens.begin(), inputs.model.eos_tokens.end());
  inputs.frame = std::move(frame);
  inputs.tokenizer = std::make_shared<const policy::Tokenizer>(std::move(tokenizer));
  return {};
}

/// A checkpoint always has weights, even if the run began with random ones.
bool begins_random(const RunConfig& config, const std::filesystem::path& folder) {
  return config.model.weights == InitialWeights::random && folder == config.model.folder;
}

Result<void> read_model(RunInputs& inputs, const std::filesystem::path& folder) {
  if (begins_random(inputs.config, folder)) {
    TRY(auto shape, policy::read_hf_config(folder));
    inputs.model = std::move(shape);
    return {};
  }
  TRY(auto model, policy::load_hf_model(folder));
  inputs.model = model.config();
  inputs.weights = model.weights();
  return {};
}

/// The model that samples.
Result<void> add_model(RunInputs& inputs, const std::filesystem::path& folder) {
  TRY_VOID(check_generator(inputs.config.generator));
  TRY_VOID(scripted_calls(inputs.config.agent));
  TRY_VOID(read_model(inputs, folder));
  TRY_VOID(add_tokenizer(inputs, folder));
  TRY_VOID(policy::check_lora(inputs.config.learner.lora, inputs.model));
  return check_positions(inputs.config, inputs.model, folder);
}

/// With a brain, the model folder only determines the tokens in which trajectories are recorded.
Result<void> add_brain(RunInputs& inputs, const std::filesystem::path& folder) {
  TRY(auto model, policy::read_hf_config(folder));
  inputs.model = std::move(model);
  TRY_VOID(add_tokenizer(inputs, folder));
  return check_brain(inputs.config, {inputs.tokenizer, inputs.frame, inputs.stop_tokens});
}

void add_row(RunHistory& history, TrajectoryRow row) {
  if (row.drop_reason) return;
  ++history.kept[row.task_hash];
  if (!row.outcome) return;
  row.outcome->source_hash.clear();
  history.outcomes[row.task_hash].push_back(std::move(*row.outcome));
}

}  // namespace

Result<void> check_trainable(const RunConfig& config) {
  const GeneratorConfig& c = config.generator;
  if (has_brain(config.brain)) {
    return fail(ErrorCode::invalid_config,
                "run.stage = \"" + std::string{to_string(config.run.stage)} +
                    "\" trains by PPO, which needs the log-probability of every token, and a "
                    "[brain] returns none; with [brain], set run.stage to \"collect\" and learn "
                    "from its trajectories by \"rft\", or use `eval`; in a chain, write the table "
                    "as [stage.collect.brain]");
  }
  if (c.temperature <= 0) {
    return fail(ErrorCode::invalid_config,
                "generator.temperature: expected more than 0 for training, got 0: the gradient is "
                "taken of log-probabilities at this temperature; only `eval` can sample at 0");
  }
  if (c.top_k == 0 && c.top_p >= 1) return check_composer(config);
  return fail(
      ErrorCode::invalid_config,
      fmt::format(
          "generator.top_k and top_p: expected 0 and 1 for training, got {} and {}: the ratios of "
          "the loss are of the whole distribution; only `eval` can sample from a part of it",
          c.top_k, c.top_p));
}

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
  TRY(auto skill, read_skill(config.sandbox.contract));
  TRY(auto tasks, synthesis::load_tasks(config.synthesis.tasks));
  inputs.skill = std::move(skill);
  inputs.python = python_interpreter().string();
  inputs.tasks = std::move(tasks);
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
  TRY(auto critic, policy::read_critic(c.folder, inputs.model, c));
  inputs.critic = std::make_shared<const policy::CriticWeights>(std::move(critic));
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

Result<RunHistory> read_run_history(RunDatabase& db) {
  RunHistory history;
  constexpr TrajectoryId batch = 4096;
  for (TrajectoryId first = 1;; first += batch) {
    TRY(auto rows, trajectory_rows(db, first, first + batch - 1));
    for (TrajectoryRow& row : rows) add_row(history, std::move(row));
    if (rows.size() < batch) return history;
  }
}

void plan_samples(RunInputs& inputs, int64_t samples, const RunHistory& history,
                  uint64_t admitted) {
  const auto wanted = static_cast<uint64_t>(samples);
  uint64_t more = 0;
  inputs.missing.emplace();
  for (const Task& task : inputs.tasks) {
    const auto found = history.kept.find(task.content_hash);
    const uint64_t have = found == history.kept.end() ? 0 : found->second;
    more += (*inputs.missing)[task.id] = wanted - std::min(have, wanted);
  }
  inputs.admitted_before = admitted;
  inputs.config.run.trajectories = static_cast<int64_t>(admitted + more);
}

Result<void> add_history(RunInputs& inputs, LedgerStore& store) {
  TRY(auto history, read_run_history(store.database()));
  if (inputs.config.run.stage == Stage::collect) {
    plan_samples(inputs, inputs.config.collect.samples, history, store.counts().admitted);
  }
  inputs.history = std::make_shared<const OutcomesByTask>(std::move(history.outcomes));
  return {};
}

}  // namespace warpsmith::actors
