// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of given tokens, and entropies, computed in chunks of rows of logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace warpsmith::policy {

/// Both (T), at least float32.
struct TokenLogProbs {
  at::Tensor log_probs;  // natural log of the target's probability
  at::Tensor entropy;    // nats, of the whole distribution
};

struct LogProbOptions {
  double temperature = 1.0;                   // logits are divided by it
  int64_t chunk_elements = int64_t{1} << 22;  // logits held at once: 16 MiB of float32
};

/// log softmax(hidden head^T / temperature)[target] for each row, and the distribution's entropy.
/// The generator records the same for every sampled token: the softmax over the whole vocabulary,
/// before top-k and top-p. hidden (T, H), head (V, H), targets (T) int64. Differentiable in hidden
/// and head; the backward pass recomputes each chunk's logits.
TokenLogProbs token_log_probs(const at::Tensor& hidden, const at::Tensor& head,
                              const at::Tensor& targets, const LogProbOptions& options = {});

}  // namespace warpsmith::policy
