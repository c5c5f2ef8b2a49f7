// SPDX-License-Identifier: Apache-2.0
// What a slot remembers of baselines from evaluation to evaluation.
#include "runtime/median.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/judge/timed_decision.hpp"

namespace warpsmith::sandbox {

FurtherBaselines& Evaluator::State::further_of(const Task& task) {
  return tasks.further.try_emplace(task_key(task), options.further).first->second;
}

FurtherBaselines& Evaluator::State::further_of(const Task& task, const IngestRecord& record) {
  FurtherBaselines& known = further_of(task);
  for (const BaselineFacts& facts : record.further) {
    if (!facts.reason.empty()) known.drop(facts.which, facts.reason);
  }
  return known;
}

void Evaluator::State::compare_with_earlier(const Task& task, Timings& timings) {
  std::vector<double> eager, compiled;
  for (const TimedBlock& block : timings.blocks) {
    eager.push_back(measurable(block.eager_ms));
    compiled.push_back(measurable(block.compile_ms));
  }
  const std::string key = task_key(task);
  // The median of fewer, of a timing that was ended early, says little about the machine.
  const bool whole = std::ssize(eager) >= options.timed_blocks;
  if (whole) {
    eager_between.add(key, median(eager));
    compiled_between.add(key, median(compiled));
  }
  timings.eager_scatter = eager_between.scatter();
  timings.compile_scatter = compiled_between.scatter();
  for (FurtherTimed& timed : timings.further) {
    if (!timed.reason.empty()) continue;
    Reproducibility& between = further_between[timed.which];
    if (whole) between.add(key, median(times_of(timed.which, timings.blocks)));
    timed.scatter = between.scatter();
  }
}

}  // namespace warpsmith::sandbox
