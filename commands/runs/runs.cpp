// SPDX-License-Identifier: Apache-2.0
// `warpsmith runs list`, `show` and `trajectories`: read runs from disk without disturbing them.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "commands/command.hpp"
#include "commands/options.hpp"
#include "commands/runs/run_report.hpp"
#include "commands/runs/stage_report.hpp"
#include "commands/runs/trajectory_text.hpp"
#include "runtime/message_text.hpp"
#include "runtime/run/run_listing.hpp"
#include "runtime/run/trajectory_reader.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

constexpr uint32_t curve_points = 48;

struct RunsArguments {
  std::string root = "runs";
  std::string name = "latest";
  bool json = false;
  uint32_t events = 20;
  TrajectorySelection selection;
  bool best = false, worst = false;
  uint64_t transcript = 0;  // id of one trajectory to show in full; 0: list them
};

/// How far a run without a database has come: a chain, or a stage that learns from given data.
std::string progress_of(const RunPaths& paths) {
  if (is_chain(paths)) {
    const auto chain = read_chain(paths);
    return "chain: " + (chain ? summary_text(*chain) : chain.error().message);
  }
  const auto stage = read_stage(paths);
  if (!stage) return stage.error().message;
  return std::string{to_string(stage->kind)} + ": " +
         (stage->data ? progress_text(*stage) : "ended before its first trajectory");
}

std::vector<std::string> cells_of(const RunListing& run) {
  std::vector<std::string> cells{run.paths.folder.filename().string(),
                                 std::string{to_string(run.status.state)},
                                 minute_text(run.status.started)};
  if (!run.summary) {
    const bool unreadable = run.summary.error().code != ErrorCode::not_found;
    cells.push_back(one_line(unreadable ? "unreadable: " + run.summary.error().message
                                        : progress_of(run.paths)));
    return cells;
  }
  const RunSummary& s = *run.summary;
  for (const uint64_t count :
       {s.admitted, s.trained, s.closed + s.stepped, s.open, uint64_t{s.last_step}}) {
    cells.push_back(std::to_string(count));
  }
  cells.push_back(number_text(s.reward_first, 2));
  cells.push_back(number_text(s.reward_last, 2));
  return cells;
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
  if (args.json) {
    std::cout << listing_json(*runs) << '\n';
    return ExitCode::success;
  }
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"run", "state", "last start (UTC)", "trajectories", "trained", "judged only",
                  "running", "steps", "reward first", "last"});
  for (const RunListing& run : *runs) rows.push_back(cells_of(run));
  std::cout << text_table("lllrrrrrrr", rows);
  return ExitCode::success;
}

template <class View>
ExitCode print_view(const Result<View>& view, bool as_json) {
  if (!view) return report(view.error());
  std::cout << (as_json ? view_json(*view) + '\n' : page_text(*view));
  return ExitCode::success;
}

ExitCode show(const RunsArguments& args) {
  const auto paths = find_run(args.root, args.name);
  if (!paths) return report(paths.error());
  std::error_code ignored;
  if (is_chain(*paths)) return print_view(read_chain(*paths), args.json);
  if (!std::filesystem::exists(paths->database(), ignored)) {
    return print_view(read_stage(*paths), args.json);
  }
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
                          .state = status_of(*paths).state,
                          .summary = *summary,
                          .curve = std::move(*curve),
                          .events = *events,
                          .composed = composed_text(*paths)});
  return ExitCode::success;
}

ExitCode show_transcript(TrajectoryReader& reader, TrajectoryId id) {
  const auto text = text_model_of_run(reader.paths());
  if (!text) return report(text.error());
  const auto trajectory = reader.load(id);
  if (!trajectory) return report(trajectory.error());
  const auto verdicts = reader.verdicts(id);
  if (!verdicts) return report(verdicts.error());
  std::cout << transcript(*trajectory, *verdicts, *text);
  return ExitCode::success;
}

ExitCode trajectories(const RunsArguments& args) {
  const auto paths = find_run(args.root, args.name);
  if (!paths) return report(paths.error());
  auto reader = TrajectoryReader::open(*paths);
  if (!reader) return report(reader.error());
  if (args.transcript > 0) return show_transcript(*reader, args.transcript);
  const auto rows = reader->closed();
  if (!rows) return report(rows.error());
  TrajectorySelection selection = args.selection;
  if (args.best) selection.order = TrajectorySelection::Order::best;
  if (args.worst) selection.order = TrajectorySelection::Order::worst;
  const auto listed = selected(*rows, selection);
  if (listed.empty() && !selection.task.empty()) {
    return report({ErrorCode::not_found, "--task " + selection.task + ": " +
                                             paths->folder.string() +
                                             " has no closed trajectory of this task"});
  }
  std::cout << list_text(listed);
  return ExitCode::success;
}

void add_trajectory_options(CLI::App& app, const std::shared_ptr<RunsArguments>& args) {
  app.add_option("RUN", args->name,
                 "Its name, its folder (of a chain's stage: CHAIN/stages/N-NAME), or \"latest\"")
      ->capture_default_str();
  app.add_flag("--best", args->best, "Highest rewards first, instead of the newest");
  app.add_flag("--worst", args->worst, "Lowest rewards first");
  app.add_option("--task", args->selection.task, "Only trajectories of this task")->type_name("ID");
  app.add_option("--limit", args->selection.limit, "How many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--show", args->transcript, "Show one trajectory turn by turn, with its verdicts")
      ->type_name("ID")
      ->check(CLI::PositiveNumber);
}

std::vector<OptionRule> trajectory_rules() {
  using Kind = OptionRule::Kind;
  return {{"--show", Kind::takes, {"RUN"}, "it shows one trajectory and lists none"},
          {"--best", Kind::refuses, {"--worst"}, "give one of the two"}};
}

}  // namespace

Command runs_command() {
  return {
      "runs", "List runs, show one, or read its trajectories",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<RunsArguments>();
        app.require_subcommand(1);
        app.fallthrough();  // --root may come after the subcommand
        app.add_option("--root", args->root, "Folder with the runs")->capture_default_str();
        app.footer(
            "Examples:\n"
            "  warpsmith runs list\n"
            "  warpsmith runs show latest --events 50\n"
            "  warpsmith runs trajectories latest --best\n"
            "  warpsmith runs trajectories latest --show 12\n"
            "Exit codes: 0 done, 2 no such run or folder, 3 unreadable.");
        CLI::App* all = app.add_subcommand(
            "list",
            "One line per run or chain, the newest last: its state (running, finished, "
            "interrupted,\n"
            "failed, killed; stopped: the run recorded no end); trajectories begun, trained, "
            "judged\n"
            "but not trained, still running; steps; mean reward of the first and the last 128.\n"
            "--root DIR lists the runs in another folder than runs/");
        all->add_flag("--json", args->json, "Print the runs' figures as a JSON array on one line");
        CLI::App* one =
            app.add_subcommand("show",
                               "Figures, sparklines and newest events of one run; stages, table\n"
                               "and warnings of a chain; steps and losses of a stage that learns\n"
                               "from given data");
        one->add_option(
               "RUN", args->name,
               "Its name, its folder, or \"latest\": the run or chain that was started or\n"
               "resumed last, whatever its state")
            ->capture_default_str();
        one->add_flag("--json", args->json,
                      "Print figures and events as a JSON object on one line");
        one->add_option("--events", args->events,
                        "How many of the newest events: restarts, refused tasks, failures")
            ->capture_default_str()
            ->check(CLI::Range(0, 100'000));
        CLI::App* each = app.add_subcommand(
            "trajectories", "Trajectories of one run, also while it runs: a list, or one as text");
        add_trajectory_options(*each, args);
        const auto read =
            with_rules(*each, trajectory_rules(), [args] { return trajectories(*args); });
        return [args, one, each, read] {
          if (each->parsed()) return read();
          return one->parsed() ? show(*args) : list(*args);
        };
      }};
}

}  // namespace warpsmith::commands
