// SPDX-License-Identifier: Apache-2.0
// `warpsmith runs list` and `warpsmith runs show`: read runs from disk without disturbing them.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "actors/commands/bench/bench_parts.hpp"
#include "actors/commands/command.hpp"
#include "actors/commands/runs/run_page.hpp"
#include "actors/commands/runs/run_summary.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::actors {
namespace {

constexpr uint32_t curve_points = 48;

struct RunsArguments {
  std::string root = "runs";
  std::string name = "latest";
  bool json = false;
  uint32_t events = 20;
};

template <class... Args>
void print(const char* format, Args... args) {
  std::array<char, 320> text{};
  (void)std::snprintf(text.data(), text.size(), format, args...);
  std::cout << text.data();
}

const char* state_of(const RunListing& run) {
  return run.owner ? "running" : "stopped";
}

/// "-" while nothing was judged.
std::string reward_text(const std::optional<double>& reward) {
  return reward ? fixed(*reward, 2) : "-";
}

void print_line(const RunListing& run) {
  const std::string name = run.paths.folder.filename().string();
  if (!run.summary && run.summary.error().code == ErrorCode::not_found) {
    print("%-36s %-10s supervised\n", name.c_str(), state_of(run));
    return;
  }
  if (!run.summary) {
    print("%-36s unreadable: %s\n", name.c_str(), run.summary.error().message.c_str());
    return;
  }
  const RunSummary& s = *run.summary;
  const unsigned long long judged = s.closed + s.stepped;
  print("%-36s %-10s %7llu %7llu %7llu %7llu %6u %8s %8s\n", name.c_str(), state_of(run),
        static_cast<unsigned long long>(s.admitted), static_cast<unsigned long long>(s.trained),
        judged, static_cast<unsigned long long>(s.open), s.last_step,
        reward_text(s.reward_first).c_str(), reward_text(s.reward_last).c_str());
}

ExitCode list(const RunsArguments& args) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(args.root, ignored)) {
    return report(
        {ErrorCode::not_found,
         args.root + ": no such folder; train creates it, or give another one with --root"});
  }
  const auto runs = list_runs(args.root);
  if (!runs) return report(runs.error());
  print("%-36s %-10s %7s %7s %7s %7s %6s %8s %8s\n", "run", "state", "admit", "train", "judged",
        "open", "step", "reward", "..last");
  for (const RunListing& run : *runs) print_line(run);
  return ExitCode::success;
}

ExitCode show(const RunsArguments& args) {
  const auto paths = find_run(args.root, args.name);
  if (!paths) return report(paths.error());
  const auto summary = read_summary(*paths);
  if (!summary) return report(summary.error());
  const auto events = read_events(*paths, args.events);
  if (!events) return report(events.error());
  if (args.json) {
    std::cout << summary_json(*paths, *summary, *events, -1) << '\n';
    return ExitCode::success;
  }
  auto curve = read_curve(*paths, curve_points);
  if (!curve) return report(curve.error());
  std::cout << page_text({.name = paths->folder.string(),
                          .running = owner_of(*paths).has_value(),
                          .summary = *summary,
                          .curve = std::move(*curve),
                          .events = *events});
  return ExitCode::success;
}

}  // namespace

Command runs_command() {
  return {"runs", "List runs, or show one", [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<RunsArguments>();
            app.require_subcommand(1);
            app.add_option("--root", args->root, "Folder with the runs")->capture_default_str();
            app.footer(
                "Examples:\n"
                "  warpsmith runs list\n"
                "  warpsmith runs show latest --events 50\n"
                "Exit codes: 0 done, 2 no such run or folder, 3 unreadable.");
            app.add_subcommand(
                "list",
                "One line per run: state; trajectories admitted, trained, judged but not "
                "trained, open;\nsteps; mean reward of the first and the last 128");
            CLI::App* one =
                app.add_subcommand("show", "Figures, sparklines and newest events of one run");
            one->add_option("RUN", args->name, "Its name, its folder, or \"latest\"")
                ->capture_default_str();
            one->add_flag("--json", args->json,
                          "Print figures and events as a JSON object on one line");
            one->add_option("--events", args->events,
                            "How many of the newest events: restarts, refused tasks, failures")
                ->capture_default_str()
                ->check(CLI::Range(0, 100'000));
            return [args, one] { return one->parsed() ? show(*args) : list(*args); };
          }};
}

}  // namespace warpsmith::actors
