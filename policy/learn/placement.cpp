// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/placement.hpp"

#include <ATen/Context.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <utility>

namespace warpsmith::policy {

Placement placement_of(const LearnerConfig& config) {
  if (config.device == ComputeDevice::cpu) return {};
  Placement placement{
      .device = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(config.gpu)),
      .compute = {.recompute = true, .stash = config.offloads(Offload::layer_inputs)}};
  if (config.precision == ComputePrecision::bf16) placement.compute.type = at::kBFloat16;
  return placement;
}

Transformer placed(ModelConfig config, ModelWeights weights, const LearnerConfig& learner) {
  const Placement place = placement_of(learner);
  if (place.device.is_cuda()) {
    weights = weights.converted(at::TensorOptions(place.device).dtype(at::kFloat));
  }
  return {std::move(config), std::move(weights), place.compute};
}

Result<void> check_placement(const LearnerConfig& config) {
  if (config.device == ComputeDevice::cpu) return {};
  if (!at::hasCUDA()) {
    return fail(ErrorCode::unsupported,
                "learner.device: expected \"cpu\", got \"cuda\": LibTorch finds no GPU here (no "
                "driver, or a LibTorch without CUDA)");
  }
  const auto gpus = static_cast<int64_t>(at::getNumGPUs());
  if (config.gpu < gpus) return {};
  return fail(ErrorCode::unsupported, "learner.gpu: expected less than " + std::to_string(gpus) +
                                          ", the number of GPUs here, got " +
                                          std::to_string(config.gpu));
}

void wait_for(at::Device device) {
  if (device.is_cuda()) (void)at::zeros({1}, at::TensorOptions(device)).cpu();
}

}  // namespace warpsmith::policy
