// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench evaluate`: complete evaluations per second of one slot, and where they spend it.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/bench/evaluation_rate.hpp"
#include "actors/commands/bench_parts.hpp"
#include "actors/service_backend.hpp"
#include "actors/slot_cores.hpp"
#include "runtime/environment.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::actors {
namespace {

constexpr double bar_per_second = 1;
constexpr double bar_compile_ms = 500;

struct Arguments {
  std::string tasks;
  std::vector<std::string> styles{"passes", "rows", "vector", "simd", "ahead4"};
  int64_t evaluations = 96;
  bool repeat_sources = false, json = false;
};

Result<EvaluationLoad> load_of(const Arguments& args) {
  const std::string folder =
      args.tasks.empty() ? (source_folder() / "configs/tasks/cpu/train").string() : args.tasks;
  auto tasks = synthesis::load_tasks({folder});
  if (!tasks) return tl::unexpected(std::move(tasks.error()));
  if (tasks->empty()) return fail(ErrorCode::not_found, folder + ": no task in this folder");
  auto sources = write_kernels({folder}, args.styles);
  if (!sources) return tl::unexpected(std::move(sources.error()));
  EvaluationLoad load;
  load.tasks = std::move(*tasks);
  load.sources = std::move(*sources);
  load.evaluations = args.evaluations;
  load.repeat_sources = args.repeat_sources;
  load.progress = [](const std::string& what) { std::cerr << "making ready " << what << '\n'; };
  return load;
}

nlohmann::json to_json(const EvaluationFigures& f, bool repeat_sources) {
  nlohmann::json phases = nlohmann::json::object();
  for (const auto& [name, phase] : f.phases) {
    phases[name] = {
        {"ms", phase.per_evaluation_ms}, {"median_ms", phase.median_ms}, {"share", phase.share}};
  }
  return {{"evaluations", f.evaluations},
          {"repeat_sources", repeat_sources},
          {"seconds", f.seconds},
          {"evaluations_per_s", f.per_second},
          {"evaluations_per_s_bar", bar_per_second},
          {"median_ms", f.median_ms},
          {"median_compile_ms", f.median_compile_ms},
          {"median_compile_ms_bar", bar_compile_ms},
          {"verdicts", f.verdicts},
          {"not_passed", f.not_passed},
          {"phases", phases}};
}

std::string to_text(const EvaluationFigures& f) {
  std::vector<BenchRow> rows{
      {"evaluations", std::to_string(f.evaluations), {}},
      {"wall time", fixed(f.seconds, 1) + " s", {}},
      {"evaluations per second", fixed(f.per_second, 2), ">= " + fixed(bar_per_second, 0)},
      {"median evaluation", fixed(f.median_ms, 0) + " ms", {}},
      {"median compile", fixed(f.median_compile_ms, 0) + " ms",
       "<= " + fixed(bar_compile_ms, 0) + " ms"}};
  for (const auto& [outcome, count] : f.verdicts) {
    rows.push_back({"verdict " + outcome, std::to_string(count), {}});
  }
  for (const auto& [name, phase] : f.phases) {
    rows.push_back({"phase " + name,
                    "mean " + fixed(phase.per_evaluation_ms, 1) + " ms, median " +
                        fixed(phase.median_ms, 1) + " ms, " + fixed(100 * phase.share, 1) + " %",
                    {}});
  }
  std::string out = table_of(rows);
  for (const std::string& line : f.not_passed) out += "  not passed: " + line + '\n';
  return out;
}

ExitCode bench_evaluate(const Arguments& args) {
  const auto load = load_of(args);
  if (!load) return report(load.error());
  const SandboxConfig config;
  leave_slot_cores(config);
  auto options = service_options(config, python_interpreter().string());
  options.core = core_of(config, 0);
  auto backend = service_backend(options)();
  if (!backend) return report(backend.error());
  const auto figures = measure_evaluations(**backend, *load);
  if (!figures) return report(figures.error());
  // What did not pass is told in the compiler's words: they need not be UTF-8.
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  std::cout << (args.json
                    ? to_json(*figures, args.repeat_sources).dump(-1, ' ', false, replace) + '\n'
                    : to_text(*figures));
  return ExitCode::success;
}

const char* const footer =
    "Each evaluation is a whole one: compiled, verified on secret inputs, timed beside eager and\n"
    "torch.compile, by the service that `check` and `train` use. Kernels are right ones, written\n"
    "in several styles; each text is new to the compile cache. Before the clock starts, every "
    "task\n"
    "is measured once (cached on disk afterwards). `other` is what no phase covers.";

}  // namespace

Command bench_evaluate_part() {
  return {"evaluate", "Complete evaluations per second of one slot, and where their time goes",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<Arguments>();
            app.add_option("--tasks", args->tasks, "Folder of tasks (default: the training tasks)");
            app.add_option("--evaluations", args->evaluations, "How many are measured")
                ->capture_default_str()
                ->check(CLI::Range(1, 100'000));
            app.add_option("--styles", args->styles, "Styles of the kernels, in turn")
                ->capture_default_str()
                ->delimiter(',');
            app.add_flag("--repeat-sources", args->repeat_sources,
                         "The same texts again: shows what the compile cache saves");
            app.add_flag("--json", args->json, "One JSON object on standard output");
            app.footer(footer);
            return [args] { return bench_evaluate(*args); };
          }};
}

}  // namespace warpsmith::actors
