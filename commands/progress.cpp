// SPDX-License-Identifier: Apache-2.0
#include "commands/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

constexpr size_t max_views = 1024;  // kept within the window, however short the interval is

double value(const ProgressView& view, const std::string& key) {
  const auto found = view.seen.values.find(key);
  return found == view.seen.values.end() ? 0.0 : found->second;
}

std::string phase_of(const ProgressView& view, const std::string& actor) {
  const auto found = view.seen.texts.find(actor + ".phase");
  return found == view.seen.texts.end() ? "starting" : found->second;
}

/// True once there are figures to show: after this process's first step, or in an evaluation after
/// the first trajectory that ended.
bool has_figures(const ProgressView& view) {
  return view.trains ? view.seen.values.contains("learner-0.reward") : trajectories_ended(view) > 0;
}

/// The sandbox's phase if it is not one of the usual ones; otherwise empty.
std::string uncommon_phase(const ProgressView& view) {
  const std::string phase = phase_of(view, "sandbox-0");
  const bool usual = phase == "judging" || phase == "compiling" || phase == "idle";
  return usual || phase == "starting" ? "" : " | sandbox: " + phase;
}

/// Estimates the time until all trajectories have ended, at the pace since `first`, the view in
/// which the first ones had; the time before is start-up. nullopt until more have ended.
std::optional<std::chrono::seconds> until_all_have_ended(const ProgressView& first,
                                                         const ProgressView& view) {
  const uint64_t done = trajectories_ended(view), before = trajectories_ended(first);
  if (done == view.trajectories) return std::chrono::seconds{0};
  if (done <= before || done > view.trajectories) return std::nullopt;
  const auto span = static_cast<double>((view.elapsed - first.elapsed).count());
  const double per_one = span / static_cast<double>(done - before);
  return std::chrono::seconds{
      static_cast<int64_t>(per_one * static_cast<double>(view.trajectories - done))};
}

/// The early warnings in force, as names of learner.warnings; empty if there is none.
std::string warnings_text(const ProgressView& view) {
  std::string text;
  for (const std::string& name : early_warnings(view.seen))
    text += (text.empty() ? " | WARNING: " : ", ") + name;
  return text;
}

/// What composers have done, and the tasks that rollouts draw from; empty without composers.
std::string composing_text(const ProgressView& view) {
  if (!view.seen.texts.contains("composer-0.phase")) return "";
  const bool preparing = phase_of(view, "composer-0") == "preparing";
  return fmt::format(" | composed {:.0f} of {:.0f} candidates{}, {:.0f} tasks in use",
                     value(view, "synthesis-0.composed"), value(view, "synthesis-0.candidates"),
                     preparing ? " (preparing)" : "", value(view, "synthesis-0.accepted"));
}

/// Time until the trajectories or the time limit end the run, whichever comes first: "3m left".
/// "time limit in 24h00m" while only the limit is known, the time so far if neither is.
std::string left_text(const std::optional<ProgressView>& first, const ProgressView& view) {
  const auto estimate = first ? until_all_have_ended(*first, view) : std::nullopt;
  const bool has_limit = view.limit.count() > 0;
  if (!estimate && !has_limit) return duration_text(view.elapsed);
  const auto limit = std::max(view.limit - view.elapsed, std::chrono::seconds{0});
  if (!estimate) return "time limit in " + duration_text(limit);
  return duration_text(has_limit ? std::min(*estimate, limit) : *estimate) + " left";
}

}  // namespace

std::vector<std::string> early_warnings(const Observation& seen) {
  const std::string prefix = "learner-0.warning.";
  std::vector<std::string> names;
  for (auto it = seen.values.lower_bound(prefix); it != seen.values.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    if (it->second > 0) names.push_back(it->first.substr(prefix.size()));
  }
  return names;
}

uint64_t trajectories_ended(const ProgressView& view) {
  return view.counts.admitted - view.counts.open;
}

double ProgressLine::rate(const ProgressView& view, const std::string& key) const {
  const ProgressView& then = views_.front();
  const auto seconds = static_cast<double>((view.elapsed - then.elapsed).count());
  return seconds > 0 ? (value(view, key) - value(then, key)) / seconds : 0.0;
}

double ProgressLine::idle_share(const ProgressView& view, const std::string& actor) const {
  const auto gained = [&](const char* name) {
    return value(view, actor + name) - value(views_.front(), actor + name);
  };
  const double alive = gained(".alive_s");
  return alive > 0 ? std::clamp(1 - gained(".busy_s") / alive, 0.0, 1.0) : 1.0;
}

/// Drops views until the front is the newest one that is at least a whole window old.
void ProgressLine::move_window(const ProgressView& view) {
  while (views_.size() > 1 && view.elapsed - views_[1].elapsed >= window_) views_.pop_front();
  if (views_.size() > max_views) views_.pop_front();
}

std::string ProgressLine::opening(const ProgressView& view) const {
  const std::string end = composing_text(view) + " | sandbox: " + phase_of(view, "sandbox-0") +
                          " | " + duration_text(view.elapsed);
  if (view.counts.admitted > 0) {
    return fmt::format("{}: {} admitted, {} ended | {:.0f} tok/s | judge queue {:.0f}{}",
                       view.resumed ? "resumed" : "first trajectories", view.counts.admitted,
                       trajectories_ended(view), rate(view, "generator-0.sampled_tokens"),
                       value(view, "sandbox-0.queued"), end);
  }
  const double ready = value(view, "synthesis-0.accepted");
  const double refused = value(view, "synthesis-0.refused");
  const double all = ready + refused + value(view, "synthesis-0.queued");
  const double awaited = value(view, "synthesis-0.awaited");
  const bool is_early = awaited > 0 && awaited < all;  // the rest comes while the policy trains
  return fmt::format("tasks ready {:.0f}/{:.0f}", ready, is_early ? awaited : all) +
         (is_early ? fmt::format(" to begin, {:.0f} in all", all) : "") +
         (refused > 0 ? fmt::format(", {:.0f} refused", refused) : "") + end;
}

std::string ProgressLine::figures(const ProgressView& view) const {
  const auto learner = [&view](const char* name) {
    return value(view, std::string{"learner-0."} + name);
  };
  const uint64_t dropped = view.counts.admitted - view.counts.trained - view.counts.in_flight;
  std::string line = fmt::format(
      "{}/{} step {:.0f} | reward {:.2f} pass {:.0f}% >eager {:.0f}% >compile {:.0f}% | ",
      view.counts.admitted, view.trajectories, learner("step"), learner("reward"),
      100 * learner("pass_rate"), 100 * learner("faster_eager"), 100 * learner("faster_compile"));
  line += fmt::format("{:.0f} tok/s lag {:.1f} dropped {} | queue judge {:.0f} learn {:.0f} | ",
                      rate(view, "generator-0.sampled_tokens"), learner("lag_mean"), dropped,
                      value(view, "sandbox-0.queued"), learner("queued"));
  line += fmt::format("idle gen {:.0f}% judge {:.0f}% learn {:.0f}% | ",
                      100 * idle_share(view, "generator-0"), 100 * idle_share(view, "sandbox-0"),
                      100 * idle_share(view, "learner-0"));
  return line + left_text(first_ended_, view) + composing_text(view) + uncommon_phase(view) +
         warnings_text(view);
}

std::string ProgressLine::samples(const ProgressView& view) const {
  return fmt::format(
      "{}/{} samples | {:.0f} tok/s | queue judge {:.0f} | idle gen {:.0f}% judge {:.0f}% | {}{}",
      trajectories_ended(view), view.trajectories, rate(view, "generator-0.sampled_tokens"),
      value(view, "sandbox-0.queued"), 100 * idle_share(view, "generator-0"),
      100 * idle_share(view, "sandbox-0"), left_text(first_ended_, view), uncommon_phase(view));
}

std::string ProgressLine::next(const ProgressView& view) {
  move_window(view);
  if (!first_ended_ && trajectories_ended(view) > view.ended_before) first_ended_ = view;
  std::string line = !has_figures(view) ? opening(view)
                     : view.trains      ? figures(view)
                                        : samples(view);
  views_.push_back(view);
  return view.failure.empty() ? line : line + " | FAILED: " + view.failure;
}

}  // namespace warpsmith::commands
