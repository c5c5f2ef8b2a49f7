// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/runner_plan.hpp"

namespace warpsmith::sandbox {

Result<void> RunnerPlan::validate() const {
  constexpr uint64_t limit = 1ULL << 40U;
  if (layout.sets == 0 || layout.sets > 65536 || layout.input_stride > limit ||
      layout.output_stride > limit) {
    return fail(ErrorCode::parse_failed, "runner plan: impossible sets or strides");
  }
  for (size_t i = 0; i < layout.slots.size(); ++i) {
    const BufferSlot& slot = layout.slots[i];
    const uint64_t stride = slot.output ? layout.output_stride : layout.input_stride;
    if (slot.offset > stride || slot.bytes > stride - slot.offset || slot.offset % 64 != 0) {
      return fail(ErrorCode::parse_failed,
                  "runner plan: tensor " + std::to_string(i) + " lies outside its memory");
    }
  }
  return {};
}

std::vector<SetPointers> pointers_of(const RunnerPlan& plan, std::byte* inputs,
                                     std::byte* outputs) {
  std::vector<SetPointers> sets(plan.layout.sets);
  for (uint32_t k = 0; k < plan.layout.sets; ++k) {
    for (const BufferSlot& slot : plan.layout.slots) {
      if (slot.output) {
        sets[k].out.push_back(outputs + k * plan.layout.output_stride + slot.offset);
      } else {
        sets[k].in.push_back(inputs + k * plan.layout.input_stride + slot.offset);
      }
    }
  }
  return sets;
}

}  // namespace warpsmith::sandbox
