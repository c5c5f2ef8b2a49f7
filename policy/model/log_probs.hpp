// SPDX-License-Identifier: Apache-2.0
// Log-probabilities of given tokens, and entropies, computed in chunks of rows of logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

namespace warpsmith::policy {

/// Both (T), at least float32.
struct TokenLogProbs {
  at::Tensor log_probs;  // natural log of the target's probability
  at::Tensor entropy;    // nats, of the whole distribution
};

/// An output head (V, H) as it is trained, and the copy that logits are computed with, which may
/// have a narrower type.
struct HeadPair {
  HeadPair(const at::Tensor& head) : HeadPair(head, head) {}  // NOLINT: one tensor is both
  HeadPair(at::Tensor t, at::Tensor c) : trained(std::move(t)), computed(std::move(c)) {}

  at::Tensor trained;
  at::Tensor computed;
};

struct LogProbOptions {
  double temperature = 1.0;    // logits are divided by it
  int64_t chunk_elements = 0;  // logits held at once; 0: 16 MiB of float32, on a GPU 2,048 rows
};

/// log softmax(hidden head^T / temperature)[target] for each row, and the distribution's entropy.
/// The generator records the same for every sampled token: the softmax over the whole vocabulary,
/// before top-k and top-p. hidden (T, H), targets (T) int64. Differentiable in hidden and the
/// trained head; the backward pass recomputes each chunk's logits and adds up the head's gradient
/// in its own type.
TokenLogProbs token_log_probs(const at::Tensor& hidden, const HeadPair& head,
                              const at::Tensor& targets, const LogProbOptions& options = {});

}  // namespace warpsmith::policy
