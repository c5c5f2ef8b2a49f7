// SPDX-License-Identifier: Apache-2.0
// The collective of ranks that are threads with tensors in host memory.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "policy/learn/ranks/rank_group.hpp"

namespace warpsmith::policy {

/// One collective per rank. Sums are in the order of the ranks, so that they do not depend on
/// timing. A call ends with an exception if the other ranks do not make it within `timeout`.
std::vector<std::shared_ptr<Collective>> host_collectives(size_t ranks,
                                                          std::chrono::milliseconds timeout);

}  // namespace warpsmith::policy
