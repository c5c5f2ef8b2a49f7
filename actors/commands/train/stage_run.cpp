// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/train/stage_run.hpp"

#include "actors/commands/train/rft_run.hpp"
#include "actors/commands/train/sft_run.hpp"
#include "actors/commands/train/train_run.hpp"
#include "actors/commands/train/value_run.hpp"

namespace warpsmith::actors {

StageEnd run_stage(const RunConfig& config, const RunPlace& place, const Output& output) {
  switch (config.run.stage) {
    case Stage::sft:
      return run_sft(config, place, output);
    case Stage::rft:
      return run_rft(config, place, output);
    case Stage::value:
      return run_value(config, place, output);
    case Stage::warmup:
    case Stage::collect:
    case Stage::agentic:
      return run_training(config, place, output);
  }
  return failed_stage({ErrorCode::invalid_config, "run.stage: unknown stage"});
}

}  // namespace warpsmith::actors
