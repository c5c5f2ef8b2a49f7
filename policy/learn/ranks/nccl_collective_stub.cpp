// SPDX-License-Identifier: Apache-2.0
// Stands in for nccl_collective.cpp where NCCL's header is missing.
#include <stdexcept>

#include "policy/learn/ranks/nccl_collective.hpp"

namespace warpsmith::policy {

bool nccl_is_built() {
  return false;
}

std::vector<std::shared_ptr<Collective>> nccl_collectives(const std::vector<c10::Device>& /*gpus*/,
                                                          std::chrono::milliseconds /*timeout*/) {
  throw std::runtime_error("learner.gpus: this was built without NCCL's header");
}

}  // namespace warpsmith::policy
