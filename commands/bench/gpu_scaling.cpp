// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/gpu_scaling.hpp"

#include <cassert>

namespace warpsmith::commands {
namespace {

constexpr double bar_per_gpu = 0.95;  // of the rate of one GPU alone

}  // namespace

double GpuScaling::ratio() const {
  return one.per_second > 0 ? all.per_second / one.per_second : 0;
}

double GpuScaling::ratio_bar() const {
  return bar_per_gpu * static_cast<double>(gpus);
}

Result<GpuScaling> measure_scaling(const std::vector<SandboxBackendFactory>& slots, int64_t gpus,
                                   EvaluationLoad load) {
  const auto step = static_cast<size_t>(gpus);
  assert(gpus > 0 && slots.size() % step == 0 && "GPUs with different numbers of slots");
  std::vector<SandboxBackendFactory> of_first;
  for (size_t i = 0; i < slots.size(); i += step) of_first.push_back(slots[i]);
  GpuScaling scaling{.gpus = gpus, .one = {}, .all = {}};
  auto one = measure_evaluations(of_first, load);
  if (!one) return tl::unexpected(std::move(one.error()));
  scaling.one = std::move(*one);
  if (load.stop()) return scaling;
  load.evaluations *= gpus;
  auto all = measure_evaluations(slots, load);
  if (!all) return tl::unexpected(std::move(all.error()));
  scaling.all = std::move(*all);
  return scaling;
}

}  // namespace warpsmith::commands
