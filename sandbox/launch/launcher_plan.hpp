// SPDX-License-Identifier: Apache-2.0
// Everything that a launcher receives about its candidate: the plan with numbers, the compiled
// kernels, and where each tensor of each set lies in the shared memories.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

struct LauncherPlan {
  BoundPlan plan;
  BufferLayout layout;       // one slot for each tensor of the plan, in its order
  uint64_t input_bytes = 0;  // size of the memory as allocated: a device rounds it up
  uint64_t output_bytes = 0;
  std::string artefact;  // the compiled kernels in the device's format: a cubin

  WARPSMITH_RECORD(plan, layout, input_bytes, output_bytes, artefact)
  /// Checks that every index has its buffer, every tensor lies within its memory, every access of a
  /// library step lies within its buffer, and every number is possible on some device. The actual
  /// device may still refuse a plan that is too large for it. The error is `parse_failed` and names
  /// the place.
  Result<void> validate() const;
};

/// The address of each buffer for one set, by index: tensors lie in the memories, scratch in its
/// own. `Address` is a pointer to bytes or a device address. Requires a valid plan.
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

/// "plan.toml:LINE:COLUMN: WHAT", the form of every error about a step.
std::string at_place(PlanPlace place, const std::string& what);

/// One past the last element that a batch of matrices touches; 0 for impossible numbers.
uint64_t end_of(const BoundMatrix& matrix, int64_t batch);

}  // namespace warpsmith::sandbox
