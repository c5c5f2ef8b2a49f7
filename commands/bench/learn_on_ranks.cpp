// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/learn_on_ranks.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "commands/bench/bench_parts.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/generate/cuda/random_weights.hpp"
#include "policy/learn/device_memory.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/threads.hpp"

namespace warpsmith::commands {
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

nlohmann::json to_json(const policy::RanksFigures& f) {
  return {{"seconds", f.seconds},
          {"tokens_per_s", f.tokens_per_s},
          {"policy_losses", f.policy_losses},
          {"value_losses", f.value_losses},
          {"peak_bytes", f.peak_bytes}};
}

std::string short_text(double value) {
  std::ostringstream text;
  text.precision(2);
  text << value;
  return text.str();
}

std::string in_gib(int64_t bytes) {
  return fixed(static_cast<double>(bytes) / (1 << 30), 1) + " GiB";
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

std::string json_of(const RanksBenchFigures& f, const RanksBenchOptions& options) {
  const nlohmann::json all{
      {"parameters", f.parameters},     {"ranks", options.learner.gpus},
      {"tokens", options.shape.tokens}, {"trajectories", options.shape.trajectories},
      {"one", to_json(f.one)},          {"several", to_json(f.several)},
      {"speedup", f.speedup()},         {"loss_gap", f.loss_gap()}};
  return all.dump() + '\n';
}

std::string text_of(const RanksBenchFigures& f, const RanksBenchOptions& options) {
  const bool gpu = options.learner.device == ComputeDevice::cuda;
  const std::string shape = std::to_string(options.shape.trajectories) + " trajectories of " +
                            std::to_string(options.shape.tokens) + " tokens";
  std::vector<BenchRow> rows{
      {"parameters of the policy", std::to_string(f.parameters), {}},
      {"a step", shape, {}},
      {"tokens per second, 1 rank", fixed(f.one.tokens_per_s, 0), {}},
      {"tokens per second, " + std::to_string(options.learner.gpus) + " ranks",
       fixed(f.several.tokens_per_s, 0) + ": " + fixed(f.speedup(), 2) + "x",
       gpu && options.learner.gpus == 2 ? ">= 1.7x" : ""},
      {"largest relative difference of losses", short_text(f.loss_gap()), {}}};
  if (gpu) {
    rows.push_back({"peak of a GPU, 1 rank", in_gib(f.one.peak_bytes), {}});
    rows.push_back({"peak of a GPU, several ranks", in_gib(f.several.peak_bytes), {}});
  }
  return table_of(rows);
}

}  // namespace warpsmith::commands
