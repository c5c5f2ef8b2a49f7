// SPDX-License-Identifier: Apache-2.0
#include "actors/generator/generator_settings.hpp"

namespace warpsmith::actors {
namespace {

std::optional<policy::CudaEngineOptions> gpu_options(const GeneratorConfig& c) {
  if (c.device == ComputeDevice::cpu) return std::nullopt;
  const bool bf16 = c.precision == ComputePrecision::bf16;
  return policy::CudaEngineOptions{
      .gpu = static_cast<int>(c.gpu),
      .precision = bf16 ? policy::cuda::Precision::bf16 : policy::cuda::Precision::fp32};
}

}  // namespace

GeneratorSettings generator_settings(const RunConfig& config, const policy::ModelConfig& model,
                                     std::vector<int32_t> stop_tokens) {
  const GeneratorConfig& c = config.generator;
  GeneratorSettings settings;
  settings.model = model;
  // A composer's session takes no rollout's place.
  settings.engine.max_sessions =
      c.max_sessions + (config.synthesis.policy_composes() ? config.synthesis.composers() : 0);
  settings.engine.max_session_tokens = config.agent.max_tokens;
  settings.engine.cache_tokens = c.cache_tokens;
  settings.engine.step_rows = rows_of_step(c);
  settings.engine.max_batch = c.max_batch;
  settings.engine.prefix_reuse = c.prefix_reuse;
  settings.gpu = gpu_options(c);
  settings.sampling.temperature = c.temperature;
  settings.sampling.top_p = c.top_p;
  settings.sampling.top_k = static_cast<int32_t>(c.top_k);
  settings.sampling.seed = static_cast<uint64_t>(config.run.seed);
  settings.sampling.stop_tokens = std::move(stop_tokens);
  settings.chunk_tokens = static_cast<size_t>(c.chunk_tokens);
  settings.pull_timeout = c.pull_timeout;
  return settings;
}

}  // namespace warpsmith::actors
