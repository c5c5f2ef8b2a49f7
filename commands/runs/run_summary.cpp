// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/run_summary.hpp"

#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

nlohmann::json figures_of(const RunPaths& paths, const RunSummary& s) {
  return {{"run", paths.folder.string()},
          {"trajectories", s.admitted},
          {"wall_s", s.wall_s},
          {"reward_first128", nullable(s.reward_first)},
          {"reward_last128", nullable(s.reward_last)},
          {"admitted", s.admitted},
          {"trained", s.trained},
          {"dropped", s.dropped_total()},
          {"dropped_by_reason", s.dropped},
          {"dropped_newest", s.dropped_why},
          {"learns", s.learns},
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
          {"memory_peak_bytes", nullable(s.memory_peak)},
          {"memory_plan_bytes", nullable(s.memory_plan)},
          {"started_at", s.started_at}};
}

nlohmann::json list_of(const RunEvents& events) {
  nlohmann::json list = nlohmann::json::array();
  for (const EventRow& event : events.newest) {
    list.push_back(
        {{"at", event.at}, {"kind", event.kind}, {"actor", event.actor}, {"text", event.text}});
  }
  return list;
}

nlohmann::json entry_of(const RunListing& run) {
  nlohmann::json entry{{"run", run.paths.folder.string()}};
  if (run.summary) {
    entry = figures_of(run.paths, *run.summary);
  } else if (run.summary.error().code != ErrorCode::not_found) {
    entry["error"] = run.summary.error().message;
  }
  entry["running"] = run.owner.has_value();
  return entry;
}

/// Events may quote any bytes, in file names or error messages of tasks.
std::string text_of(const nlohmann::json& object, int indent) {
  return object.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string summary_json(const RunPaths& paths, const RunSummary& summary, int indent) {
  return text_of(figures_of(paths, summary), indent);
}

std::string summary_json(const RunPaths& paths, const RunSummary& summary, const RunEvents& events,
                         int indent) {
  nlohmann::json out = figures_of(paths, summary);
  out["events"] = list_of(events);
  out["events_left_out"] = events.left_out;
  return text_of(out, indent);
}

std::string listing_json(const std::vector<RunListing>& runs) {
  nlohmann::json list = nlohmann::json::array();
  for (const RunListing& run : runs) list.push_back(entry_of(run));
  return text_of(list, -1);
}

}  // namespace warpsmith::commands
