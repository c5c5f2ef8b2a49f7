// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench evaluate`: complete evaluations per second of the slots, the share of each
// phase, and on a GPU the time of the released workspace's protocol for one of the same kernels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "actors/base/script.hpp"
#include "commands/bench/bench.hpp"
#include "commands/bench/evaluation_rate.hpp"
#include "commands/options.hpp"
#include "commands/signals.hpp"
#include "commands/slots.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"
#include "runtime/result.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "runtime/submission.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

/// The peer on a GPU: the released workspace's protocol for one of the same kernels. Seconds, as
/// scripts/bench_workspace_peer.py measures them.
struct WorkspacePeer {
  double compile_s = 0, verify_s = 0, profile_s = 0;
  double total_s = 0;
  double held_s = 0;  // that the GPU is held: all but the compilation
};

/// The task of the peer; its kernel takes one input and the number of its rows.
constexpr const char* workspace_peer_task = "scaled_softmax";

constexpr const char* workspace_peer_script = "scripts/bench_workspace_peer.py";

Result<WorkspacePeer> read_peer_output(const std::string& text) {
  TRY(const auto output, numbers_of(workspace_peer_script, text,
                                    {"compile_s", "verify_s", "profile_s", "total_s", "held_s"}));
  return WorkspacePeer{.compile_s = output.at("compile_s"),
                       .verify_s = output.at("verify_s"),
                       .profile_s = output.at("profile_s"),
                       .total_s = output.at("total_s"),
                       .held_s = output.at("held_s")};
}

/// Runs the script on one solution for at most ten minutes. An error contains the script's own
/// message.
Result<WorkspacePeer> measure_workspace_peer(const std::string& task_file,
                                             const FileSet& solution) {
  TRY(const auto scratch, OwnedFolder::make_temporary());
  for (const auto& [name, text] : solution) {
    TRY_VOID(write_file_durably(scratch.path() / name, text));
  }
  TRY(const auto output, run_script(source_folder() / workspace_peer_script,
                                    {"--task", task_file, "--solution", scratch.path().string()},
                                    std::chrono::minutes{10}));
  return read_peer_output(output);
}

struct EvaluateArguments {
  std::string contract = "cpu", tasks;
  std::vector<std::string> styles, baselines{"auto"};
  int64_t evaluations = 96, slots = 1, gpus = 1;
  bool repeat_sources = false, peer = false, json = false;
};

constexpr double bar_peer_ratio = 20;

/// The bars of a contract, on the machine that it is meant for.
struct Bars {
  double per_second = 0, median_ms = 0, compile_ms = 0, held_ms = 0;  // 0: none
};

Bars bars_of(const EvaluateArguments& args) {
  if (args.contract == "cpu") return {.per_second = 1, .compile_ms = 500};
  // 5,000 per hour and GPU if evaluations overlap; otherwise the time of a single one.
  if (args.slots > args.gpus) return {.per_second = 5000.0 / 3600 * double(args.gpus)};
  return {.median_ms = 1300, .held_ms = 500};
}

Result<EvaluationLoad> load_of(const EvaluateArguments& args) {
  TRY(auto known, tasks_with_kernels(args.contract, args.tasks, args.styles));
  EvaluationLoad load;
  load.contract = args.contract;
  load.tasks = std::move(known.tasks);
  load.sources = std::move(known.sources);
  load.evaluations = args.evaluations;
  load.repeat_sources = args.repeat_sources;
  load.progress = print_progress;
  return load;
}

/// The figure, or null for 0.
nlohmann::json figure_json(double bar) {
  return bar > 0 ? nlohmann::json(bar) : nlohmann::json();
}

using Peer = std::optional<WorkspacePeer>;

/// The peer's time for one evaluation, as a multiple of the median.
double ratio_to(const WorkspacePeer& peer, const EvaluationFigures& f) {
  return f.median_ms > 0 ? 1000 * peer.total_s / f.median_ms : 0;
}

nlohmann::json peer_json(const Peer& peer, const EvaluationFigures& f) {
  if (!peer) return nullptr;
  return {{"compile_s", peer->compile_s}, {"verify_s", peer->verify_s},
          {"profile_s", peer->profile_s}, {"total_s", peer->total_s},
          {"held_s", peer->held_s},       {"ratio", ratio_to(*peer, f)},
          {"ratio_bar", bar_peer_ratio}};
}

nlohmann::json to_json(const EvaluationFigures& f, const Peer& peer,
                       const EvaluateArguments& args) {
  const Bars bars = bars_of(args);
  return {{"contract", args.contract},
          {"evaluations", f.evaluations},
          {"slots", f.slots},
          {"repeat_sources", args.repeat_sources},
          {"seconds", f.seconds},
          {"evaluations_per_s", figure_json(f.per_second)},
          {"evaluations_per_s_bar", figure_json(bars.per_second)},
          {"median_ms", figure_json(f.median_ms)},
          {"median_ms_bar", figure_json(bars.median_ms)},
          {"median_compile_ms", figure_json(f.median_compile_ms)},
          {"median_compile_ms_bar", figure_json(bars.compile_ms)},
          {"median_held_ms", figure_json(f.median_held_ms)},
          {"median_held_ms_bar", figure_json(bars.held_ms)},
          {"widest_gap_us", nullable(f.widest_gap_us)},
          {"peer", peer_json(peer, f)},
          {"verdicts", f.verdicts},
          {"not_passed", f.not_passed},
          {"phases", f.phase_table()}};
}

std::string at_most(double bar) {
  return bar > 0 ? fmt::format("<= {:.0f} ms", bar) : "";
}

std::string to_text(const EvaluationFigures& f, const Peer& peer, const EvaluateArguments& args) {
  if (f.evaluations == 0) return {};
  const Bars bars = bars_of(args);
  std::vector<BenchRow> rows{
      {"evaluations", std::to_string(f.evaluations), {}},
      {"slots", std::to_string(f.slots), {}},
      {"wall time", fmt::format("{:.1f} s", f.seconds), {}},
      {"evaluations per second", number_text(f.per_second, 2),
       bars.per_second > 0 ? fmt::format(">= {:.2f}", bars.per_second) : ""},
      {"evaluations per hour", number_text(f.per_second * 3600, 0), {}},
      {"median evaluation", fmt::format("{:.0f} ms", f.median_ms), at_most(bars.median_ms)},
      {"median compile", fmt::format("{:.0f} ms", f.median_compile_ms), at_most(bars.compile_ms)}};
  if (f.median_held_ms > 0) {
    rows.push_back(
        {"median GPU held", fmt::format("{:.0f} ms", f.median_held_ms), at_most(bars.held_ms)});
  }
  if (f.widest_gap_us) {
    rows.push_back(
        {"events and clock differ by, at most", fmt::format("{:.1f} us", *f.widest_gap_us), {}});
  }
  if (peer) {
    rows.push_back({"peer, all of one evaluation", fmt::format("{:.1f} s", peer->total_s), {}});
    rows.push_back({"peer, GPU held", fmt::format("{:.1f} s", peer->held_s), {}});
    rows.push_back({"times faster than the peer", number_text(ratio_to(*peer, f), 1),
                    fmt::format(">= {:.0f}", bar_peer_ratio)});
  }
  for (const auto& [outcome, count] : f.verdicts) {
    rows.push_back({"verdict " + outcome, std::to_string(count), {}});
  }
  for (const auto& [name, phase] : f.phases) {
    rows.push_back({"phase " + name,
                    fmt::format("mean {:.1f} ms, median {:.1f} ms, {:.1f} %",
                                phase.per_evaluation_ms, phase.median_ms, 100 * phase.share),
                    {}});
  }
  std::string out = table_of(rows);
  for (const std::string& line : f.not_passed) out += "  not passed: " + line + '\n';
  return out;
}

Result<Peer> peer_of(const EvaluateArguments& args, const EvaluationLoad& load) {
  if (!args.peer) return std::nullopt;
  const auto task = std::ranges::find(load.tasks, workspace_peer_task, &Task::id);
  if (task == load.tasks.end()) {
    return fail(ErrorCode::invalid_argument,
                std::string("--peer: the tasks do not include ") + workspace_peer_task);
  }
  TRY(auto measured, measure_workspace_peer(task->source, load.sources.at(task->id).front()));
  return Peer{measured};
}

/// Reports how much Ctrl-C left undone, if anything, and returns the exit code.
ExitCode report_shortfall(const EvaluationFigures& figures, const EvaluateArguments& args) {
  if (figures.evaluations == args.evaluations) return ExitCode::success;
  std::cerr << "stopped: " << figures.evaluations << " of " << args.evaluations << " evaluations\n";
  return ExitCode::interrupted;
}

ExitCode bench_evaluate(const EvaluateArguments& args) {
  if (args.peer && args.contract != "device") {
    return report({ErrorCode::invalid_argument, "--peer: expected --contract device as well"});
  }
  const SignalWait signals{stop_notice};
  auto load = load_of(args);
  if (!load) return report_unless_stopped(load.error(), signals);
  load->stop = [&] { return signals.arrived(); };
  SandboxConfig config;
  config.contract = args.contract;
  config.count = args.slots;
  config.gpus = args.gpus;
  config.baselines = selected_baselines(args.baselines);
  const auto slots = take_slots(config);
  if (!slots) return report(slots.error());
  // Measured first: if the peer cannot be timed, no figures are lost.
  const auto peer = peer_of(args, *load);
  if (!peer) return report_unless_stopped(peer.error(), signals);
  const EndOnSignal end(signals);
  const auto figures = measure_evaluations(services_of(*slots, end.ender()), *load);
  if (!figures) return report(figures.error());
  std::cout << (args.json ? json_text(to_json(*figures, *peer, args)) + '\n'
                          : to_text(*figures, *peer, args));
  return report_shortfall(*figures, args);
}

const char* const evaluate_footer =
    "Each evaluation is complete: compiled, verified on secret inputs, and timed against eager,\n"
    "torch.compile and, on GPUs, --baselines, by the service that `check` and `train` use. The\n"
    "kernels are correct ones in several styles; each text is new to the compile cache. Every\n"
    "task is measured once before the clock starts (afterwards it is cached on disk). Phase\n"
    "`other` is the time that no phase covers. Ctrl-C ends with the figures so far.\n"
    "Example:\n"
    "  warpsmith bench evaluate --contract device --slots 3";

}  // namespace

Command bench_evaluate_part() {
  return {"evaluate", "Complete evaluations per second, and the share of each phase",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<EvaluateArguments>();
            app.add_option("--contract", args->contract, "Contract of the kernels")
                ->capture_default_str()
                ->check(CLI::IsMember({"cpu", "device"}));
            app.add_option("--slots", args->slots,
                           "Services that evaluate at the same time; those on one GPU take turns")
                ->capture_default_str()
                ->check(CLI::Range(1, 64));
            app.add_option("--gpus", args->gpus, "GPUs that the slots of contract device share")
                ->capture_default_str()
                ->check(CLI::Range(1, 64));
            app.add_option("--tasks", args->tasks, "Folder of tasks (default: the training tasks)")
                ->type_name("FOLDER");
            app.add_option("--evaluations", args->evaluations, "Number of evaluations")
                ->capture_default_str()
                ->check(CLI::Range(1, 100'000));
            app.add_option("--styles", args->styles,
                           "Styles of the kernels, separated by commas (default: all)")
                ->delimiter(',');
            add_baselines_option(app, args->baselines);
            app.add_flag("--repeat-sources", args->repeat_sources,
                         "Submit equal texts, to show what the compile cache saves");
            app.add_flag(
                "--peer", args->peer,
                "Contract device: also time one evaluation by the released workspace's protocol");
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(evaluate_footer);
            return [args] { return bench_evaluate(*args); };
          }};
}

}  // namespace warpsmith::commands
