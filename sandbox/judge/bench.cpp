// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/bench.hpp"

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

uint64_t element_count(const TensorSpec& spec) {
  return tensor_bytes(spec) / element_bytes(spec.dtype);
}

std::vector<ReferencePlace> reference_places(const TaskSignature& signature) {
  std::vector<ReferencePlace> places;
  uint64_t end = 0;
  for (const TensorSpec& spec : signature.tensors) {
    if (spec.role != TensorRole::output) continue;
    places.push_back({.value = end, .count = element_count(spec)});
    end += padded(places.back().count * sizeof(double));
  }
  for (ReferencePlace& place : places) {
    place.spread = end;
    end += padded(place.count * sizeof(float));
  }
  return places;
}

}  // namespace warpsmith::sandbox
