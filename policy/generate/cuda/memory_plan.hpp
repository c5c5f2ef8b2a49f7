// SPDX-License-Identifier: Apache-2.0
// The memory that the engine needs on a GPU, by part, and the bound on decoding speed that follows
// from reading it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "policy/generate/cuda/device_types.hpp"
#include "policy/generate/engine/engine.hpp"
#include "policy/model/config.hpp"

namespace warpsmith::policy::cuda {

/// The largest batch of an engine.
struct BatchLimits {
  int64_t rows = 0;
  int64_t sequences = 0;  // also the most samples
  int64_t blocks = 0;     // entries of all block lists

  explicit BatchLimits(const EngineConfig& config);
};

/// Bytes of each part.
struct MemoryPlan {
  int64_t weights = 0;
  int64_t cache = 0;        // keys and values
  int64_t activations = 0;  // of one step, with logits
  int64_t workspaces = 0;   // of cuBLAS and attention, batch arrays, angles
  int64_t cache_token = 0;  // keys and values of one token

  int64_t total() const { return weights + cache + activations + workspaces; }
};

MemoryPlan plan_memory(const ModelConfig& model, const EngineConfig& config, Precision precision);

/// `capacity` if the plan needs more than `free` bytes. The message lists the parts, and the
/// setting to lower with its new value, if that helps.
Result<void> check_memory(const MemoryPlan& plan, const EngineConfig& config, int64_t free);

/// The roofline of decoding: tokens per second of `batch` sequences of `context` tokens if a step
/// only reads the weights, in bf16, and the sequences' keys and values, once each at `bandwidth`
/// bytes per second.
double decode_roofline(const ModelConfig& model, int64_t batch, double context, double bandwidth);

}  // namespace warpsmith::policy::cuda
