// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/host_review.hpp"

namespace warpsmith::sandbox {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

void weigh_subtracted(StageFacts& stage, ShapeResult& shape) {
  if (!shape.candidate_ms) return;
  // Nothing of a candidate on a CPU runs while it is revealed to.
  const double reveal_ms = stage.on_device ? stage.reveal_ms : 0;
  const double subtracted_ms = reveal_ms + stage.output_copy_ms;
  const double ms = measurable(*shape.candidate_ms);
  stage.share = subtracted_ms / ms;
  stage.within_share = *stage.share <= most_subtracted_share;
  for (auto* interval : {&shape.speedup_eager_ci, &shape.speedup_compile_ci}) {
    if (*interval) (*interval)->low *= ms / (ms + subtracted_ms);
  }
}

void forbid_libraries(const StageFacts& stage, Decision& decision) {
  const std::vector<std::string>& used = stage.hints.empty() ? stage.libraries : stage.hints;
  if (decision.outcome != VerdictClass::passed || used.empty()) return;
  decision.outcome = VerdictClass::banned_construct;
  decision.feedback =
      "banned_construct: this task takes custom kernels only, found " + list_of(used);
}

}  // namespace warpsmith::sandbox
