// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/learn_on_gpu.hpp"

#include <c10/util/Exception.h>

#include "actors/base/script.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/generate/cuda/random_weights.hpp"
#include "policy/learn/device_memory.hpp"
#include "policy/learn/memory_plan.hpp"
#include "policy/learn/placement.hpp"
#include "runtime/environment.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

LearnerConfig on_gpu(const LongBenchOptions& options) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpu = options.gpu;
  return config;
}

policy::PassFigures measure_pass(const LongBenchOptions& options,
                                 const policy::ModelConfig& config) {
  const policy::Placement place = policy::placement_of(on_gpu(options));
  policy::Transformer model{
      config,
      policy::random_weights_on(config, options.gpu).converted(at::TensorOptions(at::kFloat)),
      place.compute};
  model.weights().require_grad();
  (void)policy::bench_pass(model, options.tokens, options.seed);  // loads and plans kernels
  return policy::bench_pass(model, options.tokens, options.seed);
}

policy::UpdateFigures measure_update(const LongBenchOptions& options,
                                     const policy::ModelConfig& config, ForwardMode forwards) {
  policy::TrainerSetup setup;
  setup.seed = options.seed;
  setup.learner = on_gpu(options);
  setup.learner.forwards = forwards;
  setup.learner.critic.kind = options.critic;
  setup.learner.step.trajectories = 1;
  setup.learner.max_held_bytes = options.offload ? 1 : int64_t{1} << 40U;
  setup.learner.max_offloaded_bytes = int64_t{1} << 40U;
  if (options.offload) setup.learner.offload = {"kept_prefixes", "layer_inputs"};
  policy::Trainer trainer{setup, config, policy::random_weights_on(config, options.gpu)};
  policy::UpdateFigures figures = policy::bench_update(
      trainer, {.tokens = options.tokens, .turns = options.turns}, options.seed);
  // Its prefix is gone before its gradient pass begins, and there is no other trajectory.
  const policy::TrajectoryBounds bounds{.longest = options.tokens, .concurrent = 0};
  figures.planned_bytes = policy::plan_learner_memory(config, setup.learner, bounds).total();
  return figures;
}

Result<policy::PassFigures> run_peer(const LongBenchOptions& options) {
  const std::string script = "scripts/bench_learn_peer.py";
  const auto output =
      run_script(source_folder() / script,
                 {options.model.string(), "--tokens", std::to_string(options.tokens), "--device",
                  "cuda:" + std::to_string(options.gpu), "--seed", std::to_string(options.seed)},
                 std::chrono::minutes{30});
  if (!output) return tl::unexpected(output.error());
  const auto numbers = numbers_of(script, *output, {"seconds", "peak_bytes"});
  if (!numbers) return tl::unexpected(numbers.error());
  return policy::PassFigures{numbers->at("seconds"),
                             static_cast<int64_t>(numbers->at("peak_bytes"))};
}

}  // namespace

Result<LongBenchFigures> measure_long(const LongBenchOptions& options) {
  if (auto there = policy::check_placement(on_gpu(options)); !there) {
    return tl::unexpected(there.error());
  }
  const auto config = policy::read_hf_config(options.model);
  if (!config) return tl::unexpected(config.error());
  LongBenchFigures figures{.parameters = config->parameter_count()};
  try {
    figures.pass = measure_pass(options, *config);
    if (options.update) {
      figures.streamed = measure_update(options, *config, ForwardMode::streamed);
      figures.at_use = measure_update(options, *config, ForwardMode::at_use);
    }
  } catch (const c10::OutOfMemoryError& error) {
    return fail(ErrorCode::capacity,
                "bench learn: lower --tokens, leave out --update, or use "
                "--critic shared: " +
                    std::string(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return fail(ErrorCode::infrastructure,
                std::string("bench learn on a GPU: ") + error.what_without_backtrace());
  }
  policy::release_unused_memory(at::kCUDA);  // the peer is another process
  if (options.no_peer) return figures;
  auto peer = run_peer(options);
  if (!peer) return tl::unexpected(std::move(peer.error()));
  figures.peer = *peer;
  return figures;
}

}  // namespace warpsmith::commands
