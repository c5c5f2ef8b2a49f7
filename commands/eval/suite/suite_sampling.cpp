// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/suite_sampling.hpp"

#include <iostream>
#include <numeric>

#include "commands/eval/suite/suite_records.hpp"
#include "commands/stack.hpp"
#include "actors/run/memory_budget.hpp"
#include "actors/run/model_text.hpp"
#include "actors/run/run_session.hpp"
#include "actors/sandbox/service_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "runtime/log.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

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

Result<RunSession> open_folder(const SuiteSampling& prepared) {
  const std::string stack = to_json(full_stack());
  if (prepared.resumed) return resume_run(prepared.config, prepared.resumed->folder, stack);
  const std::string plan = suite_file({}).filename();
  return begin_run(prepared.config, "suite", stack, {{plan, to_json(prepared.plan)}});
}

}  // namespace

Result<SuiteRun> sample_suite(const SuiteSampling& prepared, const RunTreeUntilDone& run) {
  if (auto good = check_evaluable(prepared.config); !good) return tl::unexpected(good.error());
  if (auto fits = check_slots(prepared.config.sandbox, prepared.slots_of); !fits) {
    return tl::unexpected(fits.error());
  }
  leave_slot_cores(prepared.config.sandbox);
  auto inputs = load_inputs(prepared.config, prepared.config.model.folder);
  if (!inputs) return tl::unexpected(std::move(inputs.error()));
  if (auto same = check_tasks(prepared.plan, inputs->tasks); !same) {
    return tl::unexpected(std::move(same.error()));
  }
  const MemoryBudget budget = memory_budget(prepared.config, inputs->model, /*learns=*/false);
  if (auto fits = check_gpus_here(prepared.config, budget); !fits) {
    return tl::unexpected(fits.error());
  }
  inputs->learns = false;
  inputs->judged = prepared.judged;
  auto session = open_folder(prepared);
  if (!session) return tl::unexpected(std::move(session.error()));
  SuiteRun out{session->folder.paths(), {}};
  log::start({log::Level::info, false, out.paths.log().string()});
  const auto any = set_missing(*inputs, prepared.plan, *session);
  if (!any) return tl::unexpected(any.error());
  std::cerr << "run folder " << out.paths.folder.string() << '\n';
  if (!*any) return out;
  const auto kept = keep_text(out.paths, inputs->config.model.folder, inputs->frame);
  if (!kept) return tl::unexpected(kept.error());
  const auto whole = with_session(std::move(*inputs), *session);
  out.loop = run(whole);
  return out;
}

}  // namespace warpsmith::commands
