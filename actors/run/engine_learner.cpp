// SPDX-License-Identifier: Apache-2.0
// Settings of the learner, the ledger, the synthesis and the sandboxes, out of the configuration.
#include <array>

#include "actors/run/engine_settings.hpp"
#include "policy/format/hf_folder.hpp"

namespace warpsmith::actors {
namespace {

Result<std::unique_ptr<policy::Trainer>> make_trainer(const EngineInputs& inputs) {
  policy::TrainerSetup setup;
  setup.learner = inputs.config.learner;
  setup.temperature = inputs.config.generator.temperature;
  setup.seed = static_cast<uint64_t>(inputs.config.run.seed);
  setup.start = inputs.origin.version;
  auto trainer = std::make_unique<policy::Trainer>(setup, inputs.model, inputs.weights.clone());
  if (!inputs.origin.checkpoint.empty()) {
    auto restored = trainer->restore(inputs.origin.checkpoint, inputs.origin.version.incarnation);
    if (!restored) return tl::unexpected(std::move(restored.error()));
  }
  return trainer;
}

}  // namespace

LearnerSettings learner_settings(const std::shared_ptr<const EngineInputs>& inputs) {
  const RunConfig& c = inputs->config;
  LearnerSettings settings;
  settings.make_trainer = [inputs] { return make_trainer(*inputs); };
  settings.checkpoints = inputs->checkpoints;
  // So that every checkpoint opens by itself.
  settings.copy_fixed_files = [from = c.model.folder](const std::filesystem::path& to) {
    return policy::copy_tokenizer(from, to);
  };
  settings.checkpoint_steps = static_cast<uint32_t>(c.ledger.checkpoint_steps);
  settings.keep_checkpoints = static_cast<uint32_t>(c.ledger.keep_checkpoints);
  settings.threads = static_cast<int>(c.learner.threads);
  return settings;
}

LedgerSettings ledger_settings(const EngineInputs& inputs) {
  const RunConfig& c = inputs.config;
  LedgerSettings settings;
  settings.trajectories = static_cast<uint64_t>(c.run.trajectories);
  settings.limits.max_lag = static_cast<uint32_t>(c.learner.max_lag);
  settings.limits.max_in_flight = static_cast<uint64_t>(c.ledger.max_in_flight);
  settings.expected_per_step = static_cast<double>(c.learner.step.trajectories);
  settings.unlimited = !inputs.learns;
  settings.group_commit = c.ledger.group_commit;
  return settings;
}

SynthesisSettings synthesis_settings(const EngineInputs& inputs) {
  SynthesisSettings settings;
  settings.seed = static_cast<uint64_t>(inputs.config.run.seed);
  // All of them, so that the mix of tasks is the same from the first trajectory to the last.
  settings.min_ready = inputs.tasks.size();
  // Evaluations may be waiting before it.
  settings.ingest_timeout =
      std::max(settings.ingest_timeout, 3 * inputs.config.sandbox.limits.ingest);
  settings.curriculum = inputs.config.synthesis.curriculum;
  settings.max_tasks = static_cast<size_t>(inputs.config.synthesis.max_tasks);
  return settings;
}

/// An ingest's budget begins once the reference worker is up.
constexpr std::chrono::minutes worker_start{2};

SandboxSettings sandbox_settings(const EngineInputs& inputs) {
  SandboxSettings settings;
  settings.max_queue = static_cast<size_t>(inputs.config.sandbox.queue);
  settings.evaluate_budget = inputs.config.sandbox.limits.evaluation;
  settings.ingest_budget = inputs.config.sandbox.limits.ingest + worker_start;
  return settings;
}

}  // namespace warpsmith::actors
