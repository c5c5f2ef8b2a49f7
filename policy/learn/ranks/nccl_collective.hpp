// SPDX-License-Identifier: Apache-2.0
// The collective of ranks on GPUs of this machine: NCCL through LibTorch's c10d.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <memory>
#include <vector>

#include "policy/learn/ranks/rank_group.hpp"

namespace warpsmith::policy {

/// False where this was built without NCCL's header.
bool nccl_is_built();

/// One collective per GPU. Each connects at its first call, in its rank's thread. Calls are queued
/// on the rank's current stream; `timeout` ends one that another rank does not join. Throws without
/// NCCL.
std::vector<std::shared_ptr<Collective>> nccl_collectives(const std::vector<c10::Device>& gpus,
                                                          std::chrono::milliseconds timeout);

}  // namespace warpsmith::policy
