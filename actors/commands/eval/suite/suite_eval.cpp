// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/eval/suite/suite_eval.hpp"

#include <iostream>
#include <numeric>

#include "actors/commands/eval/suite/suite_report.hpp"
#include "actors/commands/stack.hpp"
#include "actors/commands/terminal_text.hpp"
#include "actors/run/run_session.hpp"
#include "actors/sandbox/service_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

Result<RunPaths> run_named(const std::string& name) {
  return find_run(RunConfig{}.run.folder, name);
}

/// What an evaluation runs with, before its folder is open.
struct Prepared {
  RunConfig config;
  SuitePlan plan;
  std::optional<RunPaths> resumed;
};

/// A new evaluation. Files without a task go to the plan, the others to the configuration.
Result<Prepared> prepare_new(const SuiteArguments& args, const LoadEvalConfig& load) {
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
  return Prepared{std::move(*config), std::move(plan), std::nullopt};
}

/// Refuses to continue on another stack unless `mix`.
Result<void> check_same_stack(const RunPaths& paths, const SuitePlan& plan, bool mix) {
  const auto before = read_stack(paths, plan);
  if (!before) return tl::unexpected(before.error());
  const auto now = stack_identity(to_json(full_stack()), plan);
  if (!now) return tl::unexpected(now.error());
  return check_comparable(*before, *now, mix);
}

Result<Prepared> prepare_resume(const SuiteArguments& args) {
  auto paths = run_named(args.resume);
  if (!paths) return tl::unexpected(std::move(paths.error()));
  auto plan = read_suite_plan(*paths);
  if (!plan) return tl::unexpected(std::move(plan.error()));
  if (auto same = check_same_stack(*paths, *plan, args.mix_stacks); !same) {
    return tl::unexpected(std::move(same.error()));
  }
  auto config = config_of_run(paths->folder, {});
  if (!config) return tl::unexpected(std::move(config.error()));
  return Prepared{std::move(*config), std::move(*plan), std::move(*paths)};
}

/// The tasks must be those that the plan was made of.
Result<void> check_tasks(const SuitePlan& plan, const std::vector<Task>& tasks) {
  std::map<std::string, std::string> planned;
  for (const SuiteTask& task : plan.tasks) planned[task.id] = task.content_hash;
  for (const Task& task : tasks) {
    const auto found = planned.find(task.id);
    if (found != planned.end() && found->second == task.content_hash) continue;
    return fail(ErrorCode::invalid_argument,
                task.source +
                    ": expected the task that the evaluation began with; it has changed. "
                    "Begin a new one with --suite");
  }
  return {};
}

/// How many samples of each task are neither judged nor under way; none of refused tasks.
std::map<std::string, uint64_t> missing_samples(const SuitePlan& plan, const SuiteRecords& records,
                                                const std::map<std::string, uint64_t>& open) {
  std::map<std::string, uint64_t> missing;
  for (const SuiteTask& task : plan.tasks) {
    const auto judged = records.samples.find(task.id);
    const auto under_way = open.find(task.id);
    if (judged == records.samples.end() && records.refused.contains(task.id)) continue;
    const uint64_t have = (judged == records.samples.end() ? 0 : judged->second.size()) +
                          (under_way == open.end() ? 0 : under_way->second);
    const auto planned = static_cast<uint64_t>(plan.samples);
    missing[task.id] = planned > have ? planned - have : 0;
  }
  return missing;
}

/// Sets what is left to sample; false if there is nothing.
Result<bool> set_missing(RunInputs& inputs, const SuitePlan& plan, RunSession& session) {
  LedgerStore& store = session.ledger->store;
  const auto records = read_suite_records(store.database());
  if (!records) return tl::unexpected(records.error());
  std::map<std::string, uint64_t> open;
  for (const TrajectoryId id : session.ledger->resumption.open) {
    const auto task = store.task_of(id);
    if (!task) return tl::unexpected(task.error());
    ++open[task->id];
  }
  auto missing = missing_samples(plan, *records, open);
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

Result<RunSession> open_folder(const Prepared& prepared) {
  const std::string stack = to_json(full_stack());
  if (prepared.resumed) return resume_run(prepared.config, prepared.resumed->folder, stack);
  auto session = begin_run(prepared.config, "suite", stack);
  if (!session) return session;
  const auto kept = write_file_durably(suite_file(session->folder.paths()), to_json(prepared.plan));
  if (!kept) return tl::unexpected(kept.error());
  return session;
}

struct SuiteRun {
  RunPaths paths;
  LoopResult loop;
};

void record_end(LedgerSource& ledger) {
  auto recorded = ledger.record_wall_time();
  if (recorded) recorded = ledger.store.flush();
  if (!recorded) log::warn("the run's wall time was not recorded: " + recorded.error().message);
}

Result<SuiteRun> sample(const Prepared& prepared, const RunTreeUntilDone& run) {
  if (auto good = check_evaluable(prepared.config); !good) return tl::unexpected(good.error());
  if (auto fits = check_slots(prepared.config.sandbox); !fits) return tl::unexpected(fits.error());
  leave_slot_cores(prepared.config.sandbox);
  auto inputs = load_inputs(prepared.config, prepared.config.model.folder);
  if (!inputs) return tl::unexpected(std::move(inputs.error()));
  if (auto same = check_tasks(prepared.plan, inputs->tasks); !same) {
    return tl::unexpected(std::move(same.error()));
  }
  inputs->learns = false;
  auto session = open_folder(prepared);
  if (!session) return tl::unexpected(std::move(session.error()));
  SuiteRun out{session->folder.paths(), {}};
  log::start({log::Level::info, false, out.paths.log().string()});
  const auto any = set_missing(*inputs, prepared.plan, *session);
  if (!any) return tl::unexpected(any.error());
  std::cerr << "run folder " << out.paths.folder.string() << '\n';
  if (!*any) return out;
  const auto whole = with_session(std::move(*inputs), *session);
  out.loop = run(whole);
  record_end(*session->ledger);
  return out;
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

Result<void> check_against(const std::optional<SuiteReport>& before, const Prepared& prepared,
                           bool mix) {
  if (!before) return {};
  const auto now = stack_identity(to_json(full_stack()), prepared.plan);
  if (!now) return tl::unexpected(now.error());
  return check_comparable(before->stack, *now, mix);
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
  if (auto written = write_suite_report(paths, *report); !written) {
    return tl::unexpected(written.error());
  }
  std::cout << (args.json ? to_json(*report) : for_terminal(to_text(*report)));
  if (before && !args.json) std::cout << '\n' << for_terminal(to_text(*before, *report));
  std::cerr << "written: report.csv, report.json and report.html in " << paths.folder.string()
            << '\n';
  return report->table.rows.empty() ? 0 : report->table.rows.front().missing;
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
  std::cerr << *missing << " samples are missing; resume with: ./warpsmith eval --resume "
            << run.paths.folder.string() << '\n';
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
  const auto done = sample(*prepared, run);
  if (!done) return report(done.error());
  return finish(*done, *before, args);
}

}  // namespace warpsmith::actors
