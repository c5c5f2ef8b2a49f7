// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/suite_eval.hpp"

#include <iostream>

#include "commands/eval/suite/suite_report.hpp"
#include "commands/eval/suite/suite_sampling.hpp"
#include "commands/stack.hpp"
#include "commands/terminal_text.hpp"
#include "actors/run/run_session.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

Result<RunPaths> run_named(const std::string& name) {
  return find_run(RunConfig{}.run.folder, name);
}

/// A new evaluation. Files without a task go to the plan, the others to the configuration.
Result<SuiteSampling> prepare_new(const SuiteArguments& args, const LoadEvalConfig& load) {
  auto config = load();
  if (!config) return tl::unexpected(std::move(config.error()));
  const fs::path suite = fs::absolute(args.suite).lexically_normal();
  const auto found = synthesis::find_tasks({suite});
  if (!found) return tl::unexpected(found.error());
  if (found->tasks.empty()) {
    return fail(found->refused.front().why.code,
                "--suite " + args.suite +
                    ": no file holds a task; first: " + found->refused.front().why.message);
  }
  config->synthesis.tasks.clear();
  for (const Task& task : found->tasks) config->synthesis.tasks.emplace_back(task.source);
  SuitePlan plan = plan_suite(suite, *found, args.samples, *config);
  return SuiteSampling{std::move(*config), std::move(plan), std::nullopt};
}

/// Refuses to continue on another stack unless `mix`.
Result<void> check_same_stack(const RunPaths& paths, const SuitePlan& plan, bool mix) {
  const auto before = read_stack(paths, plan);
  if (!before) return tl::unexpected(before.error());
  const auto now = stack_identity(to_json(full_stack()), plan);
  if (!now) return tl::unexpected(now.error());
  return check_comparable(*before, *now, mix);
}

Result<SuiteSampling> prepare_resume(const SuiteArguments& args) {
  auto paths = run_named(args.resume);
  if (!paths) return tl::unexpected(std::move(paths.error()));
  auto plan = read_suite_plan(*paths);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  if (auto same = check_same_stack(*paths, *plan, args.mix_stacks); !same) {
    return tl::unexpected(std::move(same.error()));
  }
  auto config = config_of_run(paths->folder, {});
  if (!config) return tl::unexpected(std::move(config.error()));
  return SuiteSampling{std::move(*config), std::move(*plan), std::move(*paths)};
}

/// The run to compare with, read before anything is sampled.
Result<std::optional<SuiteReport>> report_before(const SuiteArguments& args) {
  if (args.against.empty()) return std::nullopt;
  const auto paths = run_named(args.against);
  if (!paths) return tl::unexpected(paths.error());
  auto report = read_suite_report(*paths);
  if (!report) return tl::unexpected(std::move(report.error()));
  return std::optional{std::move(*report)};
}

Result<void> check_against(const std::optional<SuiteReport>& before, const SuiteSampling& prepared,
                           bool mix) {
  if (!before) return {};
  const auto now = stack_identity(to_json(full_stack()), prepared.plan);
  if (!now) return tl::unexpected(now.error());
  return check_comparable(before->stack, *now, mix);
}

/// Says how to go on, on standard error: --json leaves standard output to the report.
void tell_missing(const RunPaths& paths, size_t missing) {
  if (missing == 0) return;
  std::cerr << missing << (missing == 1 ? " sample is" : " samples are")
            << " missing; resume with: ./warpsmith eval --resume " << paths.folder.string() << '\n';
}

/// Prints and writes the table of a run; returns the number of missing samples.
Result<size_t> print_table(const RunPaths& paths, const std::optional<SuiteReport>& before,
                           const SuiteArguments& args) {
  const auto report = read_suite_report(paths);
  if (!report) return tl::unexpected(report.error());
  if (before) {
    const auto same = check_comparable(before->stack, report->stack, args.mix_stacks);
    if (!same) return tl::unexpected(same.error());
  }
  const SuiteReport* const earlier = before ? &*before : nullptr;
  if (auto written = write_suite_report(paths, *report, earlier); !written) {
    return tl::unexpected(written.error());
  }
  std::cout << (args.json ? to_json(*report, earlier) : for_terminal(to_text(*report)));
  if (before && !args.json) std::cout << '\n' << for_terminal(to_text(*before, *report));
  std::cerr << "written: report.csv, report.json and report.html in " << paths.folder.string()
            << '\n';
  const size_t missing = report->table.rows.empty() ? 0 : report->table.rows.front().missing;
  tell_missing(paths, missing);
  return missing;
}

ExitCode report_run(const SuiteArguments& args, const std::optional<SuiteReport>& before) {
  const auto paths = run_named(args.report);
  if (!paths) return report(paths.error());
  const auto missing = print_table(*paths, before, args);
  return missing ? ExitCode::success : report(missing.error());
}

ExitCode finish(const SuiteRun& run, const std::optional<SuiteReport>& before,
                const SuiteArguments& args) {
  const auto missing = print_table(run.paths, before, args);
  if (!missing) return report(missing.error());
  if (run.loop.end == LoopEnd::failed) {
    return report({run.loop.error.code, run.paths.log().string() + ": " + run.loop.error.message});
  }
  if (*missing == 0) return ExitCode::success;
  return run.loop.end == LoopEnd::stopped ? ExitCode::interrupted : ExitCode::infrastructure;
}

}  // namespace

ExitCode evaluate_suite(const SuiteArguments& args, const LoadEvalConfig& load,
                        const RunTreeUntilDone& run) {
  const auto before = report_before(args);
  if (!before) return report(before.error());
  if (!args.report.empty()) return report_run(args, *before);
  const auto prepared = args.resume.empty() ? prepare_new(args, load) : prepare_resume(args);
  if (!prepared) return report(prepared.error());
  if (auto fits = check_against(*before, *prepared, args.mix_stacks); !fits) {
    return report(fits.error());
  }
  const auto done = sample_suite(*prepared, run);
  if (!done) return report(done.error());
  return finish(*done, *before, args);
}

}  // namespace warpsmith::commands
