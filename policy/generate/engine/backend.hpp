// SPDX-License-Identifier: Apache-2.0
// The engine's interface to a device: a model whose keys and values are in numbered blocks. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/generate/engine/kv_blocks.hpp"
#include "policy/generate/engine/sampling.hpp"

namespace warpsmith::policy {

struct ModelWeights;

/// One token of a sequence to compute.
struct DecodeRow {
  int32_t token = 0;
  /// If ≥ 0, the token is this sample of the batch started before, counted as `finish` returns
  /// them, and `token` is unused. Only for a backend that runs ahead.
  int32_t from_sample = -1;
  int32_t position = 0;
  /// The sequence's blocks in order. Key and value go into block `position / block_tokens`; those
  /// of earlier positions were computed before, or by earlier rows of the batch. A block has
  /// undefined content until its first position is computed.
  std::span<const BlockId> blocks;
  const SamplingParams* sample = nullptr;  // how to sample the token after this row; null: do not
  double uniform = 0;                      // in [0, 1): the draw for that
};

/// Batches take effect in the order of their starts, and `adopt` between them, as work on a CUDA
/// stream does: the engine may give a block to another sequence as soon as its last batch started.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual int64_t vocab() const = 0;
  /// True if a batch may start before the one before it finishes. The engine then plans a step
  /// while the device computes the previous one, using sampled tokens that exist only on the
  /// device.
  virtual bool runs_ahead() const = 0;

  /// Uses these weights for every batch started from now on.
  virtual void adopt(const ModelWeights& weights) = 0;
  /// Starts to compute a batch, which is not empty. Copies what `rows` point to, if needed later.
  virtual void start(std::span<const DecodeRow> rows) = 0;
  /// Waits for the oldest batch that has not finished; returns its samples in the order of rows.
  virtual std::vector<SampledToken> finish() = 0;
};

}  // namespace warpsmith::policy
