// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/run_summary.hpp"

#include <nlohmann/json.hpp>
#include <optional>

namespace warpsmith::actors {
namespace {

nlohmann::json nullable(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

std::string summary_json(const RunPaths& paths, const RunSummary& s, int indent) {
  const nlohmann::json out{{"run", paths.folder.string()},
                           {"trajectories", s.admitted},
                           {"wall_s", s.wall_s},
                           {"reward_first128", nullable(s.reward_first)},
                           {"reward_last128", nullable(s.reward_last)},
                           {"admitted", s.admitted},
                           {"trained", s.trained},
                           {"dropped", s.dropped_total()},
                           {"dropped_by_reason", s.dropped},
                           {"in_flight", s.in_flight},
                           {"steps", s.last_step},
                           {"durable_step", s.durable_step},
                           {"incarnations", s.incarnations},
                           {"pass_rate_last128", nullable(s.pass_rate_last)},
                           {"fast_eager_last128", nullable(s.fast_eager_last)},
                           {"fast_compile_last128", nullable(s.fast_compile_last)},
                           {"distinct_sources_last128", s.distinct_sources_last},
                           {"median_tool_calls_last128", nullable(s.median_tool_calls_last)},
                           {"tokens", s.tokens},
                           {"action_tokens", s.action_tokens},
                           {"started_at", s.started_at}};
  return out.dump(indent);
}

}  // namespace warpsmith::actors
