// SPDX-License-Identifier: Apache-2.0
// trainer.json: the scalars of a trainer's checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "policy/learn/baselines.hpp"
#include "runtime/policy_version.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct TrainerNumbers {
  uint32_t step = 0;       // of the version that was saved
  uint64_t updates = 0;    // optimiser updates since the run began
  double mean_square = 0;  // of RunningScale
  std::map<uint64_t, PromptBaseline::Entry> prompts;
  RestoredSteps restored;  // see TrainerState; empty in files that do not have it yet
};

Result<void> write_trainer_numbers(const std::filesystem::path& file,
                                   const TrainerNumbers& numbers);
/// `not_found` if the file cannot be read, `parse_failed` if its content is invalid.
Result<TrainerNumbers> read_trainer_numbers(const std::filesystem::path& file);

}  // namespace warpsmith::policy
