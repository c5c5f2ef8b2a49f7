// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/reference_places.hpp"

#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

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
