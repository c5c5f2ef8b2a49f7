// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/eval_tree.hpp"

namespace warpsmith::commands {

LoopResult run_eval_tree(const std::shared_ptr<const RunInputs>& inputs, const SignalWait& signals,
                         bool quiet) {
  RunTree tree{inputs, make_silent_tap()};
  LoopOptions options;
  options.trajectories = static_cast<uint64_t>(inputs->config.run.trajectories);
  options.time_limit = inputs->config.run.time_limit;
  options.end = inputs->end;
  options.verdict = inputs->config.sandbox.limits.evaluation * (inputs->config.sandbox.queue + 1);
  options.quiet = quiet;
  options.trains = false;
  return run_loop(tree, signals, options);
}

}  // namespace warpsmith::commands
