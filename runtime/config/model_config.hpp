// SPDX-License-Identifier: Apache-2.0
// [model]: the policy's folder and its initial weights. [generator]: the engines that sample from
// it. Also has the device and the number type of engines and learners.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

enum class ComputeDevice : uint8_t { cpu, cuda };
inline constexpr std::array<std::string_view, 2> device_names{"cpu", "cuda"};

/// On a CPU everything is fp32. On a GPU an engine's weights, keys and values have this type, and a
/// learner computes in it; its master weights, gradients and optimiser state are fp32.
enum class ComputePrecision : uint8_t { bf16, fp32 };
inline constexpr std::array<std::string_view, 2> precision_names{"bf16", "fp32"};

enum class InitialWeights : uint8_t {
  load,    // from model.safetensors in the folder
  random,  // drawn from the run's seed; the folder needs only config.json and tokenizer.json. For
           // run.stage = "sft", and for "agentic" with agent.scripted_turns
};

struct ModelSource {
  std::filesystem::path folder;  // in Hugging Face layout; required
  InitialWeights weights = InitialWeights::load;
};

void describe(Fields& fields, ModelSource& c);
void validate(const ModelSource& c, Complaints& complaints);

struct GeneratorConfig {
  int64_t count = 1;                                    // engines; on a CPU each on one thread
  ComputeDevice device = ComputeDevice::cpu;            // "cpu", "cuda"
  int64_t gpu = 0;                                      // number of the GPU, for "cuda"
  ComputePrecision precision = ComputePrecision::bf16;  // "bf16", "fp32"; for "cuda"
  int64_t step_rows = 0;           // tokens computed per step; 0: 512 on a CPU, 4096 on a GPU
  int64_t max_sessions = 32;       // sequences in memory at once, per engine
  int64_t max_batch = 32;          // sequences decoded in one step
  int64_t cache_tokens = 262'144;  // size of the key-value cache, per engine
  int64_t chunk_tokens = 16;       // sampled tokens per message to the rollout
  bool prefix_reuse = true;        // sequences share the cache of equal beginnings
  double temperature = 1.0;
  double top_p = 1.0;
  int64_t top_k = 0;                                                 // 0: off
  int64_t max_new_tokens = 4'096;                                    // per turn
  std::chrono::milliseconds pull_timeout{std::chrono::seconds{30}};  // to fetch new weights
};

/// `step_rows` with 0 resolved.
int64_t rows_per_step(const GeneratorConfig& c);

void describe(Fields& fields, GeneratorConfig& c);
void validate(const GeneratorConfig& c, Complaints& complaints);

}  // namespace warpsmith
