// SPDX-License-Identifier: Apache-2.0
// The ranks of a learner: devices that each have a copy of the networks and do the same work on
// different trajectories.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>

namespace warpsmith::policy {

/// One rank's access to sums and exchanges over all ranks. Every rank makes the same calls in the
/// same order, within the work of one RankGroup::run. Buffers are contiguous, of one type, and on
/// the rank's device.
class Collective {
 public:
  virtual ~Collective() = default;

  /// `all` (ranks × n) is summed over the ranks, and rank r keeps part r: its `own` (n), which is
  /// that part of `all` itself. The other parts are undefined afterwards.
  virtual void reduce_scatter(const at::Tensor& all, at::Tensor& own) = 0;
  /// The reverse: each rank's part becomes part of every `all`.
  virtual void all_gather(const at::Tensor& own, at::Tensor& all) = 0;
  /// Makes calls in flight and later ones throw, on all ranks. May be called from any thread.
  virtual void abort() = 0;
  /// The rank's last call, in its thread. Without effect after `abort`.
  virtual void close() {}
};

class RankGroup {
 public:
  using Work = std::function<void(size_t rank, Collective& collective)>;
  virtual ~RankGroup() = default;

  virtual size_t size() const = 0;
  /// Does `work` on all ranks at the same time; returns when all have finished. Throws
  /// std::runtime_error, which names the rank, if one fails or does not finish in time. No later
  /// call succeeds then.
  virtual void run(const Work& work) = 0;
};

}  // namespace warpsmith::policy
