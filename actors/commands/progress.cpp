// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/progress.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace warpsmith::actors {
namespace {

double value(const std::map<std::string, double>& numbers, const std::string& key) {
  const auto found = numbers.find(key);
  return found == numbers.end() ? 0.0 : found->second;
}

template <class... Args>
std::string print(const char* format, Args... args) {
  std::array<char, 256> text{};
  (void)std::snprintf(text.data(), text.size(), format, args...);
  return text.data();
}

/// Time that the slower of the two ends, trajectories or limit, still allows.
std::chrono::seconds time_left(const ProgressView& view) {
  const uint64_t ended = view.counts.admitted - view.counts.in_flight;
  std::chrono::seconds left = std::chrono::hours{24 * 365};
  if (ended > 0 && view.trajectories > ended) {
    const double per_one = static_cast<double>(view.elapsed.count()) / static_cast<double>(ended);
    left = std::chrono::seconds{
        static_cast<int64_t>(per_one * static_cast<double>(view.trajectories - ended))};
  }
  if (view.limit.count() > 0) left = std::min(left, std::max(view.limit - view.elapsed, {}));
  return left;
}

}  // namespace

std::string duration_text(std::chrono::seconds span) {
  const auto s = static_cast<long long>(span.count());
  if (s >= 3600) return print("%lldh%02lldm", s / 3600, s / 60 % 60);
  return s >= 60 ? print("%lldm%02llds", s / 60, s % 60) : print("%llds", s);
}

double ProgressLine::rate(const ProgressView& view, const std::string& key) const {
  const auto seconds = static_cast<double>((view.elapsed - last_.elapsed).count());
  return seconds > 0 ? (value(view.numbers, key) - value(last_.numbers, key)) / seconds : 0.0;
}

double ProgressLine::idle_share(const ProgressView& view, const std::string& actor) const {
  const double alive =
      value(view.numbers, actor + ".alive_s") - value(last_.numbers, actor + ".alive_s");
  const double busy =
      value(view.numbers, actor + ".busy_s") - value(last_.numbers, actor + ".busy_s");
  return alive > 0 ? std::clamp(1 - busy / alive, 0.0, 1.0) : 1.0;
}

std::string ProgressLine::next(const ProgressView& view) {
  if (view.counts.admitted == 0) {
    last_ = view;
    return print("measuring tasks: %.0f accepted, %.0f refused, %.0f to come | ",
                 value(view.numbers, "synthesis-0.accepted"),
                 value(view.numbers, "synthesis-0.refused"),
                 value(view.numbers, "synthesis-0.queued")) +
           duration_text(view.elapsed);
  }
  const auto learner = [&view](const char* name) {
    return value(view.numbers, std::string{"learner-0."} + name);
  };
  const uint64_t dropped = view.counts.admitted - view.counts.trained - view.counts.in_flight;
  std::string line = print(
      "%llu/%llu step %.0f | reward %.2f pass %.0f%% >eager %.0f%% >compile %.0f%% | ",
      static_cast<unsigned long long>(view.counts.admitted),
      static_cast<unsigned long long>(view.trajectories), learner("step"), learner("reward"),
      100 * learner("pass_rate"), 100 * learner("faster_eager"), 100 * learner("faster_compile"));
  line += print("%.0f tok/s lag %.1f dropped %llu | queue judge %.0f learn %.0f | ",
                rate(view, "generator-0.sampled_tokens"), learner("lag_mean"),
                static_cast<unsigned long long>(dropped), value(view.numbers, "sandbox-0.queued"),
                learner("queued"));
  line +=
      print("idle gen %.0f%% judge %.0f%% learn %.0f%% | ", 100 * idle_share(view, "generator-0"),
            100 * idle_share(view, "sandbox-0"), 100 * idle_share(view, "learner-0"));
  line += duration_text(time_left(view)) + " left";
  last_ = view;
  return line;
}

}  // namespace warpsmith::actors
