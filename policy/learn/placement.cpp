// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/placement.hpp"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <string>
#include <utility>

#include "policy/learn/ranks/threaded_group.hpp"
#include "runtime/cuda/driver.hpp"

namespace warpsmith::policy {

Placement placement_of(const LearnerConfig& config) {
  if (config.device == ComputeDevice::cpu) return {};
  Placement placement{
      .device = at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(config.gpu)),
      .compute = {.recompute = true, .stash = config.offloads(Offload::layer_inputs)}};
  if (config.precision == ComputePrecision::bf16) placement.compute.type = at::kBFloat16;
  return placement;
}

std::vector<at::Device> devices_of(const LearnerConfig& config) {
  const at::Device first = placement_of(config).device;
  std::vector<at::Device> all;
  for (int64_t rank = 0; rank < config.gpus; ++rank) {
    all.push_back(first);
    if (first.is_cuda()) {
      all.back().set_index(static_cast<c10::DeviceIndex>(config.gpu + rank));
    }
  }
  return all;
}

Transformer placed(ModelConfig config, ModelWeights weights, const LearnerConfig& learner) {
  const Placement place = placement_of(learner);
  if (place.device.is_cuda()) {
    const bool frozen = learner.lora.rank > 0;
    const at::ScalarType type = frozen ? place.compute.type.value_or(at::kFloat) : at::kFloat;
    weights = weights.converted(at::TensorOptions(place.device).dtype(type));
  }
  return {std::move(config), std::move(weights), place.compute};
}

namespace {

std::string why_no_gpu() {
  const auto driver = cuda::Driver::load();
  return driver ? "it was built without CUDA, or needs a newer driver than one of CUDA " +
                      cuda::version_text(driver->cuda_version())
                : driver.error().message;
}

}  // namespace

Result<void> check_placement(const LearnerConfig& config) {
  if (config.device == ComputeDevice::cpu) return {};
  if (!at::hasCUDA()) {
    return fail(ErrorCode::unsupported,
                "learner.device: expected \"cpu\", got \"cuda\": LibTorch finds no GPU here: " +
                    why_no_gpu());
  }
  const auto gpus = static_cast<int64_t>(at::getNumGPUs());
  if (config.gpu >= gpus) {
    return fail(ErrorCode::unsupported,
                fmt::format("learner.gpu: expected less than {}, the number of GPUs here, got {}",
                            gpus, config.gpu));
  }
  if (config.gpus > gpus - config.gpu) {
    return fail(ErrorCode::unsupported, fmt::format("learner.gpus: expected at most {}, the number "
                                                    "of GPUs here from learner.gpu = {} on, got {}",
                                                    gpus - config.gpu, config.gpu, config.gpus));
  }
  if (config.gpus == 1 || nccl_is_built()) return {};
  return fail(
      ErrorCode::unsupported,
      fmt::format("learner.gpus: expected 1, got {}: this was built without NCCL's header (nccl.h)",
                  config.gpus));
}

}  // namespace warpsmith::policy
