// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/stage.hpp"

namespace warpsmith::sandbox {

std::vector<SamplePosition> draw_positions(const TaskSignature& signature,
                                           const BufferLayout& layout, RandomStream& random) {
  std::vector<SamplePosition> outputs;  // places of the outputs' first elements
  std::vector<uint64_t> elements;
  for (size_t i = 0; i < signature.tensors.size(); ++i) {
    const BufferSlot& slot = layout.slots.at(i);
    const uint64_t size = element_bytes(signature.tensors[i].dtype);
    if (!slot.output || slot.bytes == 0) continue;
    outputs.push_back({slot.offset, static_cast<uint32_t>(size)});
    elements.push_back(slot.bytes / size);
  }
  std::vector<SamplePosition> positions;
  for (size_t n = 0; n < sampled_positions && !outputs.empty(); ++n) {
    SamplePosition position = outputs[n % outputs.size()];
    position.offset += random.below(elements[n % outputs.size()]) * position.bytes;
    positions.push_back(position);
  }
  return positions;
}

}  // namespace warpsmith::sandbox
