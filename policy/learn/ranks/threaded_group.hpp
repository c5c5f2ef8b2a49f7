// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of this process, one for each device.
#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <memory>
#include <vector>

#include "policy/learn/ranks/rank_group.hpp"

namespace warpsmith::policy {

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
