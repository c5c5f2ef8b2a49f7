// SPDX-License-Identifier: Apache-2.0
// Replaces the NCCL collective if NCCL's header is missing: every call is refused.
#include <stdexcept>

#include "policy/learn/ranks/threaded_group.hpp"

namespace warpsmith::policy {

bool nccl_is_built() {
  return false;
}

std::vector<std::shared_ptr<Collective>> nccl_collectives(const std::vector<c10::Device>& /*gpus*/,
                                                          std::chrono::milliseconds /*timeout*/) {
  throw std::runtime_error("learner.gpus: this was built without NCCL's header");
}

}  // namespace warpsmith::policy
