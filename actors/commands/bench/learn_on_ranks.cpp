// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/bench/learn_on_ranks.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "policy/format/hf_folder.hpp"
#include "policy/generate/cuda/random_weights.hpp"
#include "policy/learn/device_memory.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/threads.hpp"

namespace warpsmith::actors {
namespace {

/// On the host, so that it takes no memory of a GPU.
Result<policy::Transformer> model_of(const RanksBenchOptions& options) {
  if (options.learner.device == ComputeDevice::cpu) return policy::load_hf_model(options.model);
  const auto config = policy::read_hf_config(options.model);
  if (!config) return tl::unexpected(config.error());
  const auto gpu = static_cast<int>(options.learner.gpu);
  return policy::Transformer{*config, policy::random_weights_on(*config, gpu).copy_on(at::kCPU)};
}

policy::RanksFigures measure(const RanksBenchOptions& options, const policy::Transformer& model,
                             int64_t ranks) {
  policy::TrainerSetup setup;
  setup.seed = options.seed;
  setup.learner = policy::ranks_config(options.learner, options.shape);
  setup.learner.gpus = ranks;
  policy::Trainer trainer{setup, model.config(), model.weights().clone()};
  return policy::bench_ranks(trainer, setup.learner, options.shape, options.seed);
}

double gap(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double larger = std::max({std::abs(a[i]), std::abs(b[i]), 1e-12});
    most = std::max(most, std::abs(a[i] - b[i]) / larger);
  }
  return most;
}

}  // namespace

double RanksBenchFigures::loss_gap() const {
  return std::max(gap(one.policy_losses, several.policy_losses),
                  gap(one.value_losses, several.value_losses));
}

Result<RanksBenchFigures> measure_ranks(const RanksBenchOptions& options) {
  if (auto there = policy::check_placement(options.learner); !there) {
    return tl::unexpected(there.error());
  }
  policy::use_threads(static_cast<int>(options.learner.threads));
  const bool gpu = options.learner.device == ComputeDevice::cuda;
  RanksBenchFigures figures;
  try {
    const auto model = model_of(options);
    if (!model) return tl::unexpected(model.error());
    figures.parameters = model->config().parameter_count();
    if (gpu) policy::release_unused_memory(at::kCUDA);
    figures.one = measure(options, *model, 1);
    if (gpu) policy::release_unused_memory(at::kCUDA);
    figures.several = measure(options, *model, options.learner.gpus);
  } catch (const c10::Error& error) {
    return fail(ErrorCode::infrastructure,
                std::string("bench learn: ") + error.what_without_backtrace());
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::infrastructure, std::string("bench ") + error.what());
  }
  return figures;
}

}  // namespace warpsmith::actors
