// SPDX-License-Identifier: Apache-2.0
#include "actors/learner/learner_settings.hpp"

#include "policy/format/hf_folder.hpp"
#include "policy/learn/placement.hpp"

namespace warpsmith::actors {
namespace {

/// With LoRA a checkpoint has merged weights: the frozen ones are still in the model's own folder.
Result<policy::ModelWeights> weights_of(const policy::TrainerSetup& setup,
                                        const TrainerStart& start) {
  if (setup.learner.lora.rank == 0 || start.origin.checkpoint.empty()) {
    return start.weights.clone();
  }
  auto base = policy::load_hf_model(setup.base);
  if (!base) return fail("learner.lora: the frozen weights", std::move(base.error()));
  return base->weights();
}

Result<std::unique_ptr<policy::Trainer>> make_trainer(const policy::TrainerSetup& setup,
                                                      const TrainerStart& start) {
  if (auto there = policy::check_placement(setup.learner); !there) {
    return tl::unexpected(std::move(there.error()));
  }
  const Origin& origin = start.origin;
  auto weights = weights_of(setup, start);
  if (!weights) return tl::unexpected(std::move(weights.error()));
  auto trainer = std::make_unique<policy::Trainer>(setup, start.model, std::move(*weights));
  if (!origin.checkpoint.empty()) {
    auto restored = trainer->restore(origin.checkpoint, origin.version.incarnation);
    if (!restored) return tl::unexpected(std::move(restored.error()));
  }
  return trainer;
}

}  // namespace

policy::LearnerMemory learner_memory(const RunConfig& config, const policy::ModelConfig& model) {
  return policy::plan_learner_memory(
      model, config.learner,
      {.longest = config.agent.max_tokens,
       .concurrent = config.rollout.count * config.rollout.concurrent});
}

LearnerSettings learner_settings(const RunConfig& config, TrainerStart start,
                                 std::shared_ptr<const CheckpointStore> checkpoints) {
  policy::TrainerSetup setup;
  setup.learner = config.learner;
  setup.temperature = config.generator.temperature;
  setup.seed = static_cast<uint64_t>(config.run.seed);
  setup.start = start.origin.version;
  setup.base = config.model.folder.string();
  setup.critic = start.critic;
  LearnerSettings settings;
  const bool gpu = config.learner.device == ComputeDevice::cuda;
  if (gpu) settings.planned_bytes = learner_memory(config, start.model).total();
  settings.make_trainer = [setup, start = std::move(start)] { return make_trainer(setup, start); };
  settings.checkpoints = {std::move(checkpoints), [from = config.model.folder](const auto& to) {
                            return policy::copy_other_files(from, to);
                          }};
  settings.warnings = config.learner.warnings;
  settings.checkpoint_steps = static_cast<uint32_t>(config.ledger.checkpoint_steps);
  settings.keep_checkpoints = static_cast<uint32_t>(config.ledger.keep_checkpoints);
  settings.threads = static_cast<int>(config.learner.threads);
  for (int64_t i = 0; gpu && i < config.learner.gpus; ++i) {
    settings.shared.push_back({.gpu = static_cast<int>(config.learner.gpu + i)});
  }
  return settings;
}

}  // namespace warpsmith::actors
