// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/subtracted_time.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

void weigh_subtracted(StageFacts& stage, ShapeResult& shape) {
  if (!shape.candidate_ms) return;
  // On a CPU no code of the candidate runs during the reveal.
  const double reveal_ms = stage.on_device ? stage.reveal_ms : 0;
  const double moved_ms = reveal_ms + stage.output_copy_ms;
  const double ms = measurable(*shape.candidate_ms);
  stage.share = moved_ms / ms;
  stage.within_share = *stage.share <= most_subtracted_share;
  const double stopped_ms = stage.reveal_ms - reveal_ms;
  const double subtracted_ms = std::max(moved_ms, stage.noop_ms - stopped_ms);
  for (auto* interval : {&shape.speedup_eager_ci, &shape.speedup_compile_ci}) {
    if (*interval) (*interval)->low *= ms / (ms + subtracted_ms);
  }
}

}  // namespace warpsmith::sandbox
