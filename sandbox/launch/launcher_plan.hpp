// SPDX-License-Identifier: Apache-2.0
// All that a launcher is told about its candidate: the plan with numbers, the compiled kernels, and
// where in the shared memories each tensor of each set lies.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

struct LauncherPlan {
  BoundPlan plan;
  BufferLayout layout;       // one slot for each tensor of the plan, in its order
  uint64_t input_bytes = 0;  // of the memories as they were made: a device rounds them up
  uint64_t output_bytes = 0;
  std::string artefact;  // cubin; for the software device a shared object

  template <class Archive>
  void serialize(Archive& archive) {
    archive(plan, layout, input_bytes, output_bytes, artefact);
  }
  /// Every index has its buffer, every tensor lies within its memory, every access of a library
  /// step within its buffer, every number within what a device could take. What is left for the
  /// device to refuse is a matter of its own size. `parse_failed`, naming the place.
  Result<void> validate() const;
};

/// What a scratch buffer takes of the plan's `scratch_bytes`.
uint64_t rounded_scratch(uint64_t bytes);

/// "plan.toml:LINE: WHAT", as refusals of a step are told.
std::string at_place(PlanPlace place, const std::string& what);

/// One past the last element that a batch of matrices touches; 0 for impossible numbers.
uint64_t end_of(const BoundMatrix& matrix, int64_t batch);

}  // namespace warpsmith::sandbox
