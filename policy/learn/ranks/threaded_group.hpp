// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of this process, one for each device, and their collectives: shared memory
// between CPUs, NCCL through LibTorch's c10d between GPUs.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <memory>
#include <vector>

#include "policy/learn/ranks/rank_group.hpp"

namespace warpsmith::policy {

/// One collective per rank, for tensors in host memory. Sums are in the order of the ranks, so that
/// they do not depend on timing. A call throws if the other ranks do not make it within `timeout`.
std::vector<std::shared_ptr<Collective>> host_collectives(size_t ranks,
                                                          std::chrono::milliseconds timeout);

/// False if this was built without NCCL's header.
bool nccl_is_built();

/// One collective per GPU. Each connects at its first call, in its rank's thread. Calls are queued
/// on the rank's current stream; `timeout` ends one that another rank does not join. Throws without
/// NCCL.
std::vector<std::shared_ptr<Collective>> nccl_collectives(const std::vector<c10::Device>& gpus,
                                                          std::chrono::milliseconds timeout);

struct GroupSettings {
  std::vector<c10::Device> devices;         // of the ranks, in order; CPUs may repeat
  int threads = 1;                          // LibTorch's, for each rank
  std::chrono::milliseconds timeout{0};     // of one piece of work on all ranks
  std::chrono::milliseconds grace{10'000};  // after a failure, for the other ranks to end
};

/// Ranks with collectives that suit their devices: NCCL on GPUs, shared memory on CPUs. Throws if
/// the ranks do not reach each other.
std::unique_ptr<RankGroup> make_rank_group(const GroupSettings& settings);
std::unique_ptr<RankGroup> make_rank_group(const GroupSettings& settings,
                                           std::vector<std::shared_ptr<Collective>> collectives);

}  // namespace warpsmith::policy
