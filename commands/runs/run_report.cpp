// SPDX-License-Identifier: Apache-2.0
#include "commands/runs/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands/output_text.hpp"
#include "runtime/json_text.hpp"
#include "runtime/text.hpp"
#include "synthesis/funnel.hpp"

namespace warpsmith::commands {
namespace {

constexpr size_t label_width = 14;

std::string line(const std::string& label, const std::string& text) {
  std::string padded = label;
  padded.resize(std::max(label_width, label.size() + 1), ' ');
  return padded + text + '\n';
}

/// 1234567 → 1,234,567
std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string counted(uint64_t number, const std::string& what) {
  return grouped(number) + ' ' + what + (number == 1 ? "" : "s");
}

std::string dropped_text(const RunSummary& s) {
  std::string reasons;
  for (const auto& [reason, count] : s.dropped) {
    reasons += (reasons.empty() ? " (" : ", ") + reason + ' ' + grouped(count);
  }
  return grouped(s.dropped_total()) + " dropped" + reasons + (reasons.empty() ? "" : ")");
}

std::string trajectories_text(const RunSummary& s) {
  if (!s.learns) {
    return grouped(s.admitted) + " admitted: " + grouped(s.closed) + " judged, " + dropped_text(s) +
           ", " + grouped(s.open) + " running";
  }
  return grouped(s.admitted) + " admitted: " + grouped(s.trained) + " trained, " + dropped_text(s) +
         ", " + grouped(s.in_flight) + " in flight (" + grouped(s.open) + " running, " +
         grouped(s.closed + s.stepped) + " to be trained)";
}

std::string steps_text(const RunSummary& s) {
  return fmt::format("{}, {} of them in a checkpoint", s.last_step, s.durable_step);
}

/// A line for each reason of a drop: the newest one in words.
std::string dropped_lines(const RunSummary& s) {
  std::string text;
  for (const auto& [reason, why] : s.dropped_why) {
    if (!why.empty()) text += line("", std::string(reason).append(", the newest: ").append(why));
  }
  return text;
}

std::vector<double> values_of(const std::vector<CurvePoint>& curve, double CurvePoint::* value) {
  std::vector<double> values;
  values.reserve(curve.size());
  for (const CurvePoint& point : curve) values.push_back(point.*value);
  return values;
}

std::string reward_lines(const RunPage& page) {
  const std::vector<double> rewards = values_of(page.curve, &CurvePoint::reward);
  const RunSummary& s = page.summary;
  std::string text = line("reward", rewards_text(s));
  if (rewards.empty()) return text;
  const auto [low, high] = std::ranges::minmax(rewards);
  return text +
         line("", fmt::format("{}  {:.2f} to {:.2f}", sparkline(rewards, low, high), low, high));
}

std::string passed_lines(const RunPage& page) {
  std::string text =
      line("correct", percent_text(page.summary.pass_rate_last) + " of the last 128");
  if (page.curve.empty()) return text;
  return text +
         line("", sparkline(values_of(page.curve, &CurvePoint::passed), 0, 1) + "  0 to 100 %");
}

std::string event_lines(const RunEvents& events) {
  if (events.newest.empty()) return line("events", "none");
  std::string text = "\nnewest events";
  if (events.left_out > 0) text += ", without " + grouped(events.left_out) + " older ones";
  text += '\n';
  for (const EventRow& e : events.newest) {
    text += "  " + e.at + "  " + e.kind + "  " + e.actor + "  " + e.text + '\n';
  }
  return text;
}

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
  entry["state"] = std::string{to_string(run.status.state)};
  if (!entry.contains("started_at")) entry["started_at"] = run.status.started;
  return entry;
}

/// Events may quote any bytes, in file names or error messages of tasks.
std::string text_of(const nlohmann::json& object, int indent) {
  return object.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string sparkline(const std::vector<double>& values, double low, double high) {
  static constexpr std::array<const char*, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const double value : values) {
    const double height = high > low ? (value - low) / (high - low) : 0;
    const double level = std::floor(std::clamp(height, 0.0, 1.0) * blocks.size());
    text += blocks.at(std::min(static_cast<size_t>(level), blocks.size() - 1));
  }
  return text;
}

std::string minute_text(const std::string& timestamp) {
  constexpr size_t minutes = 16;  // the length of 2026-01-31T12:34
  if (timestamp.size() < minutes) return "-";
  std::string text = timestamp.substr(0, minutes);
  text[10] = ' ';
  return text;
}

std::string rewards_text(const RunSummary& s) {
  const uint64_t rewarded = s.trained + s.closed + s.stepped;
  if (rewarded > 0 && rewarded <= 128) {
    return fmt::format("{}, the mean of {}", number_text(s.reward_first, 2), rewarded);
  }
  return number_text(s.reward_first, 2) + " in the first 128, " + number_text(s.reward_last, 2) +
         " in the last 128";
}

std::string page_text(const RunPage& page) {
  const RunSummary& s = page.summary;
  std::string text = line("run", page.name + ", " + std::string{to_string(page.state)});
  text += line("started", fmt::format("{}, {:.0f} s in {}", s.started_at, s.wall_s,
                                      counted(s.incarnations, "start")));
  text += line("trajectories", trajectories_text(s)) + dropped_lines(s);
  if (s.learns) text += line("steps", steps_text(s));
  text += reward_lines(page) + passed_lines(page);
  text += line("faster", percent_text(s.fast_eager_last) + " than eager, " +
                             percent_text(s.fast_compile_last) +
                             " than torch.compile, of the last 128");
  text += line("tool calls", number_text(s.median_tool_calls_last, 1) + " in the median; " +
                                 counted(s.distinct_sources_last, "distinct source") +
                                 " in the last 128");
  text += line("tokens", grouped(s.tokens) + ", " + grouped(s.action_tokens) + " of them sampled");
  if (!page.composed.empty()) text += line("composed", page.composed);
  if (s.memory_peak && s.memory_plan) {
    text +=
        line("memory", size_text(*s.memory_peak) + " of tensors on the learner's GPU at most, " +
                           size_text(*s.memory_plan) + " planned");
  }
  return for_terminal(text + event_lines(page.events));
}

std::string summary_json(const RunPaths& paths, const RunSummary& summary, int indent) {
  return text_of(figures_of(paths, summary), indent);
}

std::string summary_json(const RunPaths& paths, const RunSummary& summary, const RunEvents& events,
                         int indent) {
  nlohmann::json out = figures_of(paths, summary);
  out["state"] = std::string{to_string(status_of(paths).state)};
  out["events"] = list_of(events);
  out["events_left_out"] = events.left_out;
  return text_of(out, indent);
}

std::string listing_json(const std::vector<RunListing>& runs) {
  nlohmann::json list = nlohmann::json::array();
  for (const RunListing& run : runs) list.push_back(entry_of(run));
  return text_of(list, -1);
}

std::string composed_text(const RunPaths& run) {
  const auto file = run.folder / "synthesis" / synthesis::funnel_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return "";
  constexpr size_t most_bytes = size_t{1} << 20U;
  const auto text = read_text_file(file, most_bytes);
  if (!text) return text.error().message;
  const auto funnel = synthesis::parse_funnel(*text);
  return funnel ? line_of(*funnel) : file.string() + ": " + funnel.error().message;
}

}  // namespace warpsmith::commands
