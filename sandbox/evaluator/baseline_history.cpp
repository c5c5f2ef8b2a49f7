// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/baseline_history.hpp"

#include "runtime/median.hpp"
#include "sandbox/judge/timed_decision.hpp"

namespace warpsmith::sandbox {

void BaselineHistory::compare(const std::string& task_key, Timings& timings, int least_blocks) {
  std::vector<double> eager, compiled;
  for (const TimedBlock& block : timings.blocks) {
    eager.push_back(measurable(block.eager_ms));
    compiled.push_back(measurable(block.compile_ms));
  }
  const bool whole = std::ssize(eager) >= least_blocks;
  if (whole) {
    eager_.add(task_key, median(eager));
    compiled_.add(task_key, median(compiled));
  }
  timings.eager_scatter = eager_.scatter();
  timings.compile_scatter = compiled_.scatter();
  for (FurtherTimed& timed : timings.further) {
    if (!timed.reason.empty()) continue;
    Reproducibility& between = further_[timed.which];
    if (whole) between.add(task_key, median(times_of(timed.which, timings.blocks)));
    timed.scatter = between.scatter();
  }
}

}  // namespace warpsmith::sandbox
