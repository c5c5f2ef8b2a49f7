// SPDX-License-Identifier: Apache-2.0
// All that a launcher is told about its candidate: the plan with numbers, the compiled kernels, and
// where in the shared memories each tensor of each set lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// Where each buffer lies for one set, by index: tensors in the memories, scratch in its own.
/// `Address` is a pointer to bytes or a device's number of one. Requires a plan found good.
template <class Address>
std::vector<Address> bases_of(const LauncherPlan& plan, uint32_t set, Address inputs,
                              Address outputs, Address scratch) {
  const BufferLayout& layout = plan.layout;
  std::vector<Address> bases;
  for (size_t i = 0; i < plan.plan.buffers.size(); ++i) {
    if (i >= layout.slots.size()) {
      bases.push_back(scratch);
      scratch += rounded_scratch(plan.plan.buffers[i].bytes);
      continue;
    }
    const BufferSlot& slot = layout.slots[i];
    const uint64_t stride = slot.output ? layout.output_stride : layout.input_stride;
    bases.push_back((slot.output ? outputs : inputs) + set * stride + slot.offset);
  }
  return bases;
}

/// "plan.toml:LINE:COLUMN: WHAT", as refusals of a step are told.
std::string at_place(PlanPlace place, const std::string& what);

/// One past the last element that a batch of matrices touches; 0 for impossible numbers.
uint64_t end_of(const BoundMatrix& matrix, int64_t batch);

}  // namespace warpsmith::sandbox
