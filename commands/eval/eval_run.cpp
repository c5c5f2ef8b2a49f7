// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/eval_run.hpp"

#include <iostream>
#include <numeric>

#include "actors/run/memory_budget.hpp"
#include "actors/run/model_text.hpp"
#include "actors/run/run_session.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/eval/suite_figures.hpp"
#include "commands/eval/suite_report.hpp"
#include "commands/output_text.hpp"
#include "commands/slots.hpp"
#include "commands/stack.hpp"
#include "runtime/log.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

// --- sampling

/// Fails if a task is not the one that the plan was made of.
Result<void> check_tasks(const SuitePlan& plan, const std::vector<Task>& tasks) {
  std::map<std::string, std::string> planned;
  for (const SuiteTask& task : plan.tasks) planned[task.id] = task.content_hash;
  for (const Task& task : tasks) {
    const auto found = planned.find(task.id);
    if (found != planned.end() && found->second == task.content_hash) continue;
    return fail(ErrorCode::invalid_argument,
                task.source +
                    ": expected the task that the evaluation began with, but it has changed. "
                    "Start a new evaluation with --suite");
  }
  return {};
}

/// How many samples of each task are neither judged nor in progress; refused tasks are left out.
std::map<std::string, uint64_t> missing_samples(const SuitePlan& plan, const SuiteRecords& records,
                                                const std::map<std::string, uint64_t>& open) {
  std::map<std::string, uint64_t> missing;
  for (const SuiteTask& task : plan.tasks) {
    const auto judged = records.samples.find(task.id);
    const auto in_progress = open.find(task.id);
    if (judged == records.samples.end() && records.refused.contains(task.id)) continue;
    const uint64_t have = (judged == records.samples.end() ? 0 : judged->second.size()) +
                          (in_progress == open.end() ? 0 : in_progress->second);
    const auto planned = static_cast<uint64_t>(plan.samples);
    missing[task.id] = planned > have ? planned - have : 0;
  }
  return missing;
}

/// Sets what is left to sample; returns false if that is nothing.
Result<bool> set_missing(RunInputs& inputs, const SuitePlan& plan, RunSession& session) {
  LedgerStore& store = session.ledger->store;
  TRY(const auto records, read_suite_records(store.database()));
  std::map<std::string, uint64_t> open;
  for (const TrajectoryId id : session.ledger->resumption.open) {
    TRY(const auto task, store.task_of(id));
    ++open[task.id];
  }
  auto missing = missing_samples(plan, records, open);
  std::erase_if(inputs.tasks, [&](const Task& task) {
    const auto found = missing.find(task.id);
    return found == missing.end() || (found->second == 0 && !open.contains(task.id));
  });
  const uint64_t before = store.counts().admitted;
  const uint64_t more =
      std::accumulate(missing.begin(), missing.end(), uint64_t{0},
                      [](uint64_t sum, const auto& one) { return sum + one.second; });
  inputs.missing = std::move(missing);
  inputs.admitted_before = before;
  inputs.config.run.trajectories = static_cast<int64_t>(before + more);
  return !inputs.tasks.empty() && (more > 0 || !open.empty());
}

Result<RunSession> open_folder(const SuiteSampling& prepared) {
  const std::string stack = to_json(full_stack());
  if (prepared.resumed) return resume_run(prepared.config, prepared.resumed->folder, stack);
  const std::string plan = suite_file({}).filename();
  return begin_run(prepared.config, "suite", stack, {{plan, to_json(prepared.plan)}});
}

// --- the command

Result<RunPaths> run_named(const std::string& name) {
  return find_run(RunConfig{}.run.folder, name);
}

/// A new evaluation. Files without a task are listed in the plan, the others in the configuration.
Result<SuiteSampling> prepare_new(const SuiteArguments& args, const LoadEvalConfig& load) {
  TRY(auto config, load());
  const fs::path suite = fs::absolute(args.suite).lexically_normal();
  TRY(const auto found, synthesis::find_tasks({suite}));
  if (found.tasks.empty()) {
    return fail(found.refused.front().why.code,
                "--suite " + args.suite +
                    ": no file contains a task; first error: " + found.refused.front().why.message);
  }
  config.synthesis.tasks.clear();
  for (const Task& task : found.tasks) config.synthesis.tasks.emplace_back(task.source);
  SuitePlan plan = plan_suite(suite, found, args.samples, config);
  return SuiteSampling{std::move(config), std::move(plan), std::nullopt};
}

/// Refuses to continue on another stack unless `mix`.
Result<void> check_same_stack(const RunPaths& paths, const SuitePlan& plan, bool mix) {
  TRY(const auto before, read_stack(paths, plan));
  TRY(const auto now, stack_identity(to_json(full_stack()), plan));
  return check_comparable(before, now, mix);
}

Result<SuiteSampling> prepare_resume(const SuiteArguments& args) {
  TRY(auto paths, run_named(args.resume));
  TRY(auto plan, read_suite_plan(paths));
  TRY_VOID(check_same_stack(paths, plan, args.mix_stacks));
  TRY(auto config, config_of_run(paths.folder, {}));
  return SuiteSampling{std::move(config), std::move(plan), std::move(paths)};
}

/// The run to compare with, read before anything is sampled.
Result<std::optional<SuiteReport>> report_before(const SuiteArguments& args) {
  if (args.against.empty()) return std::nullopt;
  TRY(const auto paths, run_named(args.against));
  TRY(auto report, read_suite_report(paths));
  return std::optional{std::move(report)};
}

Result<void> check_against(const std::optional<SuiteReport>& before, const SuiteSampling& prepared,
                           bool mix) {
  if (!before) return {};
  TRY(const auto now, stack_identity(to_json(full_stack()), prepared.plan));
  return check_comparable(before->stack, now, mix);
}

/// Prints how to resume, on standard error: with --json, standard output is for the report only.
void print_missing_hint(const RunPaths& paths, size_t missing) {
  if (missing == 0) return;
  std::cerr << missing << (missing == 1 ? " sample is" : " samples are")
            << " missing; resume with: ./warpsmith eval --resume " << paths.folder.string() << '\n';
}

/// Prints and writes the table of a run; returns the number of missing samples.
Result<size_t> print_table(const RunPaths& paths, const std::optional<SuiteReport>& before,
                           const SuiteArguments& args) {
  TRY(auto report, read_suite_report(paths));
  report.one_core = times_one_core(report.plan.contract);
  if (before) {
    TRY_VOID(check_comparable(before->stack, report.stack, args.mix_stacks));
  }
  const SuiteReport* const earlier = before ? &*before : nullptr;
  TRY_VOID(write_suite_report(paths, report, earlier));
  std::cout << (args.json ? to_json(report, earlier) : for_terminal(to_text(report)));
  if (before && !args.json) std::cout << '\n' << for_terminal(to_text(*before, report));
  std::cerr << "written: report.csv, report.json and report.html in " << paths.folder.string()
            << '\n';
  const size_t missing = report.table.rows.empty() ? 0 : report.table.rows.front().missing;
  print_missing_hint(paths, missing);
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

LoopResult run_eval_tree(const std::shared_ptr<const RunInputs>& inputs, const SignalWait& signals,
                         bool quiet) {
  RunTree tree{inputs, make_silent_tap()};
  LoopOptions options;
  options.trajectories = static_cast<uint64_t>(inputs->config.run.trajectories);
  options.time_limit = inputs->config.run.time_limit;
  options.end = inputs->end;
  options.verdict = verdict_timeout(inputs->config.sandbox);
  options.quiet = quiet;
  options.trains = false;
  return run_loop(tree, signals, options);
}

Result<SuiteRun> sample_suite(const SuiteSampling& sampling, const SignalWait& signals,
                              bool quiet) {
  TRY_VOID(check_evaluable(sampling.config));
  TRY_VOID(check_slots(sampling.config.sandbox, sampling.slots_of));
  leave_slot_cores(sampling.config.sandbox);
  TRY(auto inputs, load_inputs(sampling.config, sampling.config.model.folder));
  TRY_VOID(check_tasks(sampling.plan, inputs.tasks));
  const MemoryBudget budget = memory_budget(sampling.config, inputs.model, /*learns=*/false);
  TRY_VOID(check_gpus_here(sampling.config, budget));
  inputs.learns = false;
  inputs.judged = sampling.judged;
  TRY(auto session, open_folder(sampling));
  SuiteRun out{session.folder.paths(), {}};
  log::start({log::Level::info, false, out.paths.log().string()});
  TRY(const auto any, set_missing(inputs, sampling.plan, session));
  std::cerr << "run folder " << out.paths.folder.string() << '\n';
  TRY_VOID(session.folder.begin());
  if (!any) {
    session.folder.end_as(RunState::finished);
    return out;
  }
  TRY_VOID(keep_text(out.paths, inputs.config.model.folder, inputs.frame));
  const auto whole = with_session(std::move(inputs), session);
  out.loop = run_eval_tree(whole, signals, quiet);
  session.folder.end_as(state_after(out.loop));
  return out;
}

ExitCode evaluate_suite(const SuiteArguments& args, const LoadEvalConfig& load) {
  const SignalWait signals;
  const auto before = report_before(args);
  if (!before) return report(before.error());
  if (!args.report.empty()) return report_run(args, *before);
  const auto prepared = args.resume.empty() ? prepare_new(args, load) : prepare_resume(args);
  if (!prepared) return report(prepared.error());
  if (auto fits = check_against(*before, *prepared, args.mix_stacks); !fits) {
    return report(fits.error());
  }
  const auto done = sample_suite(*prepared, signals, args.quiet);
  if (!done) return report(done.error());
  return finish(*done, *before, args);
}

}  // namespace warpsmith::commands
