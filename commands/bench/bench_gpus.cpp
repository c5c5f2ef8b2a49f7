// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench gpus`: complete evaluations per second of several GPUs compared with one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/bench/bench.hpp"
#include "commands/bench/evaluation_rate.hpp"
#include "commands/options.hpp"
#include "commands/signals.hpp"
#include "commands/slots.hpp"
#include "runtime/json_text.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

struct GpusArguments {
  std::string tasks;
  std::vector<std::string> baselines{"auto"};
  int64_t gpus = 2, slots = 4, evaluations = 200;
  bool json = false;
};

Result<EvaluationLoad> load_of(const GpusArguments& args) {
  TRY(auto known, tasks_with_kernels("device", args.tasks));
  return EvaluationLoad{.contract = "device",
                        .tasks = std::move(known.tasks),
                        .sources = std::move(known.sources),
                        .evaluations = args.evaluations,
                        .progress = print_progress};
}

nlohmann::json to_json(const EvaluationFigures& f) {
  return {{"evaluations", f.evaluations},
          {"slots", f.slots},
          {"seconds", f.seconds},
          {"evaluations_per_s", f.per_second},
          {"median_ms", f.median_ms},
          {"median_held_ms", f.median_held_ms},
          {"verdicts", f.verdicts},
          {"not_passed", f.not_passed},
          {"widest_gap_us", nullable(f.widest_gap_us)},
          {"phases", f.phase_table()}};
}

nlohmann::json to_json(const GpuScaling& scaling) {
  return {{"gpus", scaling.gpus},
          {"one", to_json(scaling.one)},
          {"all", to_json(scaling.all)},
          {"ratio", scaling.ratio()},
          {"ratio_bar", scaling.ratio_bar()},
          {"meets_bar", scaling.meets_bar()}};
}

void add_rows(const EvaluationFigures& f, const std::string& where, std::vector<BenchRow>& rows) {
  rows.push_back({"slots, " + where, std::to_string(f.slots), {}});
  rows.push_back({"evaluations, " + where, std::to_string(f.evaluations), {}});
  rows.push_back({"per second, " + where, number_text(f.per_second, 2), {}});
  for (const auto& [outcome, count] : f.verdicts) {
    std::string what = "verdict " + outcome;
    what += ", " + where;
    rows.push_back({std::move(what), std::to_string(count), {}});
  }
}

std::string to_text(const GpuScaling& scaling) {
  std::vector<BenchRow> rows;
  add_rows(scaling.one, "one GPU", rows);
  add_rows(scaling.all, fmt::format("{} GPUs", scaling.gpus), rows);
  rows.push_back(
      {"ratio", number_text(scaling.ratio(), 2), ">= " + number_text(scaling.ratio_bar(), 2)});
  std::string out = table_of(rows);
  for (const EvaluationFigures* figures : {&scaling.one, &scaling.all}) {
    for (const std::string& line : figures->not_passed) out += "  not passed: " + line + '\n';
  }
  return out;
}

/// Reports how much Ctrl-C left undone, if anything, and returns the exit code.
ExitCode report_shortfall(const GpuScaling& scaling, const GpusArguments& args) {
  const int64_t done = scaling.one.evaluations + scaling.all.evaluations;
  const int64_t wanted = args.evaluations * (1 + args.gpus);
  if (done == wanted) return ExitCode::success;
  std::cerr << "stopped: " << done << " of " << wanted << " evaluations\n";
  return ExitCode::interrupted;
}

Result<std::vector<SandboxBackendFactory>> start_services(const GpusArguments& args,
                                                          const EndOnSignal& end) {
  SandboxConfig config;
  config.contract = "device";
  config.gpus = args.gpus;
  config.count = args.slots * args.gpus;
  config.baselines = selected_baselines(args.baselines);
  TRY(const auto slots, take_slots(config));
  return services_of(slots, end.ender());
}

ExitCode bench_gpus(const GpusArguments& args) {
  if (args.gpus < 2) {
    return report({ErrorCode::invalid_argument,
                   "--gpus: expected 2 or more, to compare with one of them, got 1"});
  }
  const SignalWait signals{stop_notice};
  auto load = load_of(args);
  if (!load) return report_unless_stopped(load.error(), signals);
  load->stop = [&] { return signals.arrived(); };
  const EndOnSignal end(signals);
  const auto services = start_services(args, end);
  if (!services) return report(services.error());
  const auto scaling = measure_scaling(*services, args.gpus, std::move(*load));
  if (!scaling) return report(scaling.error());
  std::cout << (args.json ? json_text(to_json(*scaling)) + '\n' : to_text(*scaling));
  return report_shortfall(*scaling, args);
}

const char* const gpus_footer =
    "Evaluations like those of `bench evaluate --contract device`: first --evaluations with the\n"
    "slots of the first GPU only, then as many per GPU with the slots of all. Every slot has its\n"
    "own core. Ctrl-C ends with the figures so far.";

}  // namespace

Command bench_gpus_part() {
  return {"gpus", "Complete evaluations per second of several GPUs compared with one",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<GpusArguments>();
            app.add_option("--gpus", args->gpus, "Number of GPUs, counted from the first")
                ->capture_default_str()
                ->check(CLI::Range(1, 64));
            app.add_option("--slots", args->slots, "Services that take turns on each GPU")
                ->capture_default_str()
                ->check(CLI::Range(1, 64));
            app.add_option("--evaluations", args->evaluations, "Number of evaluations per GPU")
                ->capture_default_str()
                ->check(CLI::Range(1, 100'000));
            app.add_option("--tasks", args->tasks, "Folder of tasks (default: the training tasks)")
                ->type_name("FOLDER");
            add_baselines_option(app, args->baselines);
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(gpus_footer);
            return [args] { return bench_gpus(*args); };
          }};
}

}  // namespace warpsmith::commands
