// SPDX-License-Identifier: Apache-2.0
#include "actors/run/data_memory.hpp"

#include <algorithm>
#include <string>

#include "actors/run/gpu_sizes.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/stages/sft.hpp"
#include "policy/learn/stages/value.hpp"

namespace warpsmith::actors {
namespace {

/// Tokens of the longest pass: whole batches may be smaller than a pack, a conversation larger.
int64_t longest_pack(const RunConfig& c) {
  if (c.run.stage == Stage::value) {
    const int64_t pack = std::min(policy::ValueStage::pack_tokens, c.value.batch_tokens);
    return std::max(pack, c.agent.max_tokens);
  }
  const int64_t pack =
      std::min(policy::SftStage::pack_tokens(c.learner.device), c.sft.batch_tokens);
  return std::max(pack, c.sft.context);
}

bool has_critic_apart(const RunConfig& c) {
  return c.run.stage == Stage::value && c.learner.critic.kind == CriticKind::separate;
}

std::string remedies(const RunConfig& c, int64_t parameters, int64_t size) {
  if (parameters + process_bytes <= size) return data_stage_remedies(c);
  return std::string("the parameters alone do not fit: ") +
         (has_critic_apart(c) ? "set learner.critic.kind = \"shared\", or " : "") +
         "use a smaller model or another GPU";
}

}  // namespace

std::string data_stage_remedies(const RunConfig& c) {
  const bool value = c.run.stage == Stage::value;
  std::string text = value ? "lower agent.max_tokens" : "lower sft.context and sft.batch_tokens";
  if (c.learner.device == ComputeDevice::cuda && !c.learner.offloads(Offload::layer_inputs)) {
    text += ", or add \"layer_inputs\" to learner.offload";
  }
  return text + (has_critic_apart(c) ? ", or set learner.critic.kind = \"shared\"" : "");
}

policy::DataStageMemory data_stage_memory(const RunConfig& config,
                                          const policy::ModelConfig& model) {
  const int64_t pack = longest_pack(config);
  return config.run.stage == Stage::value
             ? policy::plan_critic_fitting(model, config.learner, pack)
             : policy::plan_policy_fitting(model, config.learner, pack);
}

Result<void> check_data_gpu(const RunConfig& config, const policy::DataStageMemory& plan,
                            const std::vector<int64_t>& sizes) {
  if (config.learner.device == ComputeDevice::cpu) return {};
  const int64_t size = sizes.at(static_cast<size_t>(config.learner.gpu));
  const int64_t needed = plan.total() + process_bytes;
  if (needed <= size) return {};
  return fail(ErrorCode::capacity,
              "learner.gpu: GPU " + std::to_string(config.learner.gpu) + " has " + gib(size) +
                  ", and the stage needs " + gib(needed) +
                  " of it (parameters with gradients and moments " + gib(plan.parameters) +
                  ", activations of " + std::to_string(longest_pack(config)) + " tokens " +
                  gib(plan.activations) + "; driver " + gib(process_bytes) +
                  "): " + remedies(config, plan.parameters, size));
}

Result<void> check_data_gpu_here(const RunConfig& config, const policy::DataStageMemory& plan) {
  if (auto there = policy::check_placement(config.learner); !there) return there;
  if (config.learner.device == ComputeDevice::cpu) return {};
  const auto sizes = gpu_sizes();
  if (!sizes) return tl::unexpected(sizes.error());
  return check_data_gpu(config, plan, *sizes);
}

}  // namespace warpsmith::actors
