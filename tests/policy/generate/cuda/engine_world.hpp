// SPDX-License-Identifier: Apache-2.0
// Models, requests and runs of engines, for tests that compare the GPU's engine with the CPU's.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/model/transformer.hpp"

namespace warpsmith::policy::test {

struct SampledStream {
  std::vector<int32_t> tokens;
  std::vector<float> log_probs, sampled_log_probs;
  std::vector<PolicyVersion> versions;
  FinishReason finish = FinishReason::none;
};
using Streams = std::map<SessionId, SampledStream>;

/// A case that is skipped without a GPU.
class CudaEngineTest : public testing::Test {
 protected:
  void SetUp() override;
};

/// A Qwen3 model with random weights: heads of `head_dim`, `group` of them for each key head.
struct Shape {
  int64_t head_dim = 64;
  int64_t group = 2;
  int64_t vocab = 997;
};
/// Matrices are normal(0, 0.05), norms 0.5 to 1.5, all exact in bf16.
Transformer rounded_model(const Shape& shape);

EngineRequest request_for(SessionId session, std::vector<int32_t> prompt, int32_t max_tokens);
/// The same, greedy.
EngineRequest greedy_request(SessionId session, std::vector<int32_t> prompt, int32_t max_tokens);

constexpr PolicyVersion first_version{0, 1};
std::unique_ptr<Engine> cpu_engine(const Transformer& model, const EngineConfig& config = {});
std::unique_ptr<Engine> cuda_engine(const Transformer& model, const EngineConfig& config = {},
                                    const CudaEngineOptions& options = {});
constexpr CudaEngineOptions fp32{.precision = cuda::Precision::fp32};

/// Runs until the engine has no work, or for `steps`.
void run(Engine& engine, Streams& streams, int steps = 100'000);
Streams run_all(Engine& engine, const std::vector<EngineRequest>& requests);

/// The mean difference between sampled log-probs and those that the transformer computes on a CPU.
double mean_gap(const Transformer& model, const std::vector<int32_t>& prompt,
                const SampledStream& sampled);

}  // namespace warpsmith::policy::test
