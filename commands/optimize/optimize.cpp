// SPDX-License-Identifier: Apache-2.0
// `warpsmith optimize`: judges candidates for one operator and promotes the best that is better.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "commands/check/check_call.hpp"
#include "commands/command.hpp"
#include "commands/config/config.hpp"
#include "commands/optimize/export_package.hpp"
#include "commands/optimize/optimize_run.hpp"
#include "commands/options.hpp"
#include "commands/stack.hpp"
#include "runtime/clock.hpp"
#include "runtime/config/units.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

/// CLI11's ranges accept it.
std::string not_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? "expected a number, got " + text : "";
}

const char* const optimize_footer =
    "op.py is a task: class Model, get_inputs and get_init_inputs. Further sizes are declared by\n"
    "get_ragged_inputs and by functions named get_inputs_NAME; every candidate is judged on each.\n"
    "A candidate is promoted if it is correct on every declared shape and if, on each of them, "
    "the\n"
    "low end of the 95 % interval of its speed-up over every incumbent reaches 1 + margin.\n"
    "Incumbents: eager, torch.compile, on GPUs also max-autotune and a CUDA graph, and the "
    "kernels\n"
    "of --baseline.\n"
    "The result folder contains journal.jsonl (each verdict), report.json, report.html and, if one "
    "was\n"
    "promoted, kernel/ and export/: a Python package with a torch.library custom op and its test.\n"
    "Examples:\n"
    "  warpsmith optimize op.py --candidates kernels\n"
    "  warpsmith optimize op.py --candidates kernels --baseline mine --margin 10 --time 10m\n"
    "  warpsmith optimize op.py --brain configs/brain-collect.toml --attempts 16 \\\n"
    "    --set brain.url=https://HOST/v1 --set brain.model=NAME --set brain.max_requests=200\n"
    "  warpsmith optimize --resume runs/optimize-op-20260101T120000\n"
    "Exit codes: 0 promoted, 1 nothing better, 2 bad input, 3 infrastructure failure,\n"
    "130 interrupted; what was judged is kept.";

struct OptimizeOptions {
  OptimizeSettings settings;
  std::string out, resume, time;
  double margin_percent = 5;
  std::optional<int64_t> attempts;
  std::vector<std::string> overrides;
  bool json = false;
};

Result<OptimizeBudget> budget_of(const OptimizeOptions& options) {
  OptimizeBudget budget;
  if (options.attempts && *options.attempts < 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--attempts {}: expected at least 1", *options.attempts));
  }
  budget.attempts = options.attempts;
  if (options.time.empty()) return budget;
  const auto time = parse_duration(options.time);
  if (!time) return fail("--time", time.error());
  if (time->count() <= 0) {
    return fail(ErrorCode::invalid_argument,
                "--time " + options.time + ": expected more than 0, e.g. 10m");
  }
  budget.time = *time;
  return budget;
}

/// runs/optimize-OPERATOR-20260101T120000
std::string default_folder(const Task& task) {
  std::string stamp;
  for (const char c : utc_timestamp().substr(0, 19)) {
    if (c != '-' && c != ':') stamp += c;
  }
  return "runs/optimize-" + task.id + '-' + stamp;
}

std::string absolute_path(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

Result<OptimizeCall> new_call(const OptimizeOptions& options) {
  const bool asks = !options.settings.brain.empty();
  if (options.settings.operator_file.empty() || options.settings.candidates.empty() != asks) {
    return fail(ErrorCode::invalid_argument,
                "optimize: expected OPERATOR with one of --candidates DIR and --brain CONFIG, or "
                "--resume DIR");
  }
  OptimizeSettings settings = options.settings;
  TRY_VOID(check_contract_name(settings.contract));
  if (!settings.name.empty()) TRY_VOID(check_package_name(settings.name));
  TRY(const auto task, synthesis::load_task(settings.operator_file));
  settings.operator_file = absolute_path(settings.operator_file);
  settings.operator_hash = task.content_hash;
  ResultFolder folder{absolute_path(options.out.empty() ? default_folder(task) : options.out)};
  settings.candidates = absolute_path(asks ? folder.found().string() : settings.candidates);
  settings.brain = absolute_path(settings.brain);
  settings.baseline = absolute_path(settings.baseline);
  settings.margin = options.margin_percent / 100;
  settings.stack = to_json(full_stack());
  for (const std::string& kernels :
       {asks ? std::string() : settings.candidates, settings.baseline}) {
    if (kernels.empty() || fs::is_directory(kernels)) continue;
    return fail(ErrorCode::not_found, kernels + ": no such folder of kernels");
  }
  return OptimizeCall{std::move(settings), std::move(folder), {}, {}, true, options.json};
}

Result<OptimizeCall> resumed_call(const OptimizeOptions& options) {
  const ResultFolder folder{absolute_path(options.resume)};
  TRY(auto settings, read_settings(folder));
  if (const std::string now = to_json(full_stack()); settings.stack != now) {
    std::string text = options.resume +
                       ": was judged on another machine or with other software (settings.json); "
                       "times cannot be compared:";
    for (const std::string& one : record_differences(settings.stack, now)) text += "\n  " + one;
    return fail(ErrorCode::invalid_argument, text + "\nStart a new result folder");
  }
  if (settings.brain.empty() && !options.overrides.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--set " + options.overrides.front() + ": " + options.resume +
                    " judges a folder of candidates; --set changes a brain's configuration");
  }
  return OptimizeCall{std::move(settings), folder, {}, {}, false, options.json};
}

ExitCode optimize(const OptimizeOptions& options) {
  const auto budget = budget_of(options);
  if (!budget) return report(budget.error());
  auto call = options.resume.empty() ? new_call(options) : resumed_call(options);
  if (!call) return report(call.error());
  call->budget = *budget;
  call->overrides = options.overrides;
  return run_optimize(*call);
}

void add_judging_options(CLI::App& app, OptimizeOptions& options) {
  OptimizeSettings& s = options.settings;
  app.add_option("--contract", s.contract, "cpu, device or host. Default: implied by the files");
  app.add_option("--numerics", s.numerics, "Bound on errors: strict or paper")
      ->capture_default_str()
      ->check(CLI::IsMember({"strict", "paper"}));
  add_baselines_option(app, s.baselines);
  app.add_option("--slots", s.slots, "Candidates judged at once, each on its own core or GPU share")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--gpu", s.gpu, "Number of the GPU for contracts device and host")
      ->capture_default_str()
      ->check(CLI::Range(0, 63));
  app.add_option("--timeout", s.timeout_s, "Seconds for one evaluation on one shape")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
}

std::vector<OptionRule> optimize_rules() {
  using Kind = OptionRule::Kind;
  return {{"--resume",
           Kind::takes,
           {"--attempts", "--time", "--set", "--json"},
           "resuming reuses the options of the first call (settings.json); start a "
           "new folder to change them"},
          {"--brain", Kind::refuses, {"--candidates"}, "give one of the two"},
          {"--set", Kind::needs, {"--brain", "--resume"}, "it changes a brain's configuration"}};
}

}  // namespace

Command optimize_command() {
  return {"optimize", "Promote the kernel that is better than all you have, with proof",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto options = std::make_shared<OptimizeOptions>();
            OptimizeSettings& s = options->settings;
            app.add_option("OPERATOR", s.operator_file, "Task file in KernelBench's format")
                ->type_name("");
            app.add_option("--candidates", s.candidates,
                           "Folder of kernels; each folder or source file in it is one")
                ->type_name("DIR");
            app.add_option("--brain", s.brain,
                           "Ask a brain for candidates: a configuration with [brain], or with\n"
                           "[model] for your own policy; the best of each trajectory is judged")
                ->type_name("CONFIG");
            add_overrides(app, options->overrides);
            app.add_option("--baseline", s.baseline,
                           "Folder of your own kernels, which a candidate must beat as well")
                ->type_name("DIR");
            app.add_option("--margin", options->margin_percent,
                           "Percent by which the low end must be faster")
                ->capture_default_str()
                ->check(CLI::Range(0.0, 1000.0))
                ->check(not_nan);
            app.add_option("--attempts", options->attempts,
                           "Candidates to judge at most; with --brain the number of trajectories\n"
                           "(default 8)");
            app.add_option("--time", options->time,
                           "Start no candidate, or no trajectory, after this span, e.g. 10m or "
                           "1h30m")
                ->type_name("SPAN");
            app.add_option("--out", options->out,
                           "Result folder, new or empty. Default: runs/optimize-OPERATOR-TIME")
                ->type_name("DIR");
            app.add_option("--name", s.name,
                           "Name of the exported package and of its ops in torch.ops. Default:\n"
                           "warpsmith_OPERATOR_HASH")
                ->type_name("NAME");
            app.add_option("--resume", options->resume,
                           "Continue in this result folder; judge what has no verdict yet")
                ->type_name("DIR");
            app.add_flag("--json", options->json, "Print report.json on standard output");
            add_judging_options(app, *options);
            app.footer(optimize_footer);
            return with_rules(app, optimize_rules(), [options] { return optimize(*options); });
          }};
}

}  // namespace warpsmith::commands
