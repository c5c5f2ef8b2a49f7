// SPDX-License-Identifier: Apache-2.0
#include "commands/train/stage_failure.hpp"

#include <c10/util/Exception.h>

#include <string>

#include "actors/run/data_memory.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

/// LibTorch adds general advice on further lines.
std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

std::string name_of(const RunConfig& config) {
  return "stage " + std::string{to_string(config.run.stage)};
}

Error out_of_memory(const RunConfig& config, const c10::Error& error) {
  const std::string gpu = std::to_string(config.learner.gpu);
  return {ErrorCode::capacity,
          name_of(config) + ": GPU " + gpu + " has no memory left: " + first_line(error) +
              "; end other processes on it, or " + data_stage_remedies(config) +
              ", then start the run again, or --resume it"};
}

/// What may help against an error that is not known.
std::string remedy(const RunConfig& config) {
  const bool any = samples(config.run.stage);
  const bool on_gpu = config.learner.device == ComputeDevice::cuda ||
                      (any && config.generator.device == ComputeDevice::cuda);
  if (on_gpu) {
    return "--resume goes on after the last checkpoint, once `doctor` finds the device again";
  }
  if (any) return "--resume goes on after the last checkpoint";
  return "if memory is short, " + data_stage_remedies(config);
}

Error failure_of(const RunConfig& config, const c10::Error& error) {
  return {ErrorCode::infrastructure,
          name_of(config) + ": " + first_line(error) + "; " + remedy(config)};
}

}  // namespace

StageEnd run_guarded(const RunConfig& config, const std::function<StageEnd()>& stage) {
  try {
    return stage();
  } catch (const c10::OutOfMemoryError& error) {
    const bool any = samples(config.run.stage);
    return failed_stage(any ? failure_of(config, error) : out_of_memory(config, error));
  } catch (const c10::Error& error) {
    return failed_stage(failure_of(config, error));
  }
}

}  // namespace warpsmith::commands
