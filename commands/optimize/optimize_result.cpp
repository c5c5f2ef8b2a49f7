// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/optimize_result.hpp"

#include <algorithm>

#include "commands/optimize/export_package.hpp"
#include "commands/optimize/optimize_report.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::chrono::minutes facts_budget{5};

const FoundSubmission* submission_of(const ResultParts& parts, const std::string& key) {
  for (const auto* list : {&parts.candidates, &parts.users}) {
    const auto found = std::ranges::find(*list, key, &FoundSubmission::key);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

/// All files in one text, each below its name.
std::string sources_text(const FoundSubmission& one) {
  std::string out;
  for (const auto& [name, content] : one.submission.files) {
    out.append("== ").append(name).append("\n").append(content);
  }
  return out;
}

/// The best other correct attempt; null if none.
const Attempt* runner_up_of(const OptimizeReport& report, const Attempt& winner) {
  const Attempt* best = nullptr;
  for (const auto* list : {&report.candidates, &report.user_kernels}) {
    for (const Attempt& one : *list) {
      if (one.key == winner.key || !one.correct()) continue;
      if (best == nullptr || score_of(one) > score_of(*best)) best = &one;
    }
  }
  return best;
}

void add_diff(const ResultParts& parts, const Attempt& winner, OptimizeReport& report) {
  const Attempt* second = runner_up_of(report, winner);
  if (second == nullptr) return;
  const FoundSubmission* from = submission_of(parts, second->key);
  const FoundSubmission* to = submission_of(parts, winner.key);
  report.runner_up = second->name;
  if (from != nullptr && to != nullptr) {
    report.diff = line_diff(sources_text(*from), sources_text(*to));
  }
}

/// One more evaluation of the promoted kernel, on the first declared shape.
Result<WinnerProfile> profile_of(const ResultParts& parts, const FoundSubmission& one) {
  TRY(auto backend, parts.service());
  Task task = parts.shapes.front().task;
  task.device = one.device;
  Submission submission = one.submission;
  submission.task_id = task.id;
  const auto judged =
      backend->evaluate({task, submission, Request::profile}, Deadline::after(parts.evaluation));
  if (const auto* failure = std::get_if<InfraFailure>(&judged)) {
    return fail(ErrorCode::infrastructure, failure->detail);
  }
  const Verdict& verdict = std::get<Verdict>(judged);
  return WinnerProfile{sandbox::profile_of_evidence(verdict.evidence).value_or(""),
                       parts.shapes.front().function + ": " + verdict.feedback};
}

void add_profile(const ResultParts& parts, const FoundSubmission& one, OptimizeReport& report) {
  report.profile.text = "none: stopped before it was made; --resume makes it";
  if (parts.stopped()) return;
  if (auto profile = profile_of(parts, one)) {
    report.profile = std::move(*profile);
  } else if (!parts.stopped()) {
    report.profile.text = "none: " + profile.error().message;
  }
}

ExportForm form_of(sandbox::RunsOn place) {
  if (place == sandbox::RunsOn::task) return ExportForm::module;
  return place == sandbox::RunsOn::gpu ? ExportForm::plan : ExportForm::library;
}

Result<ExportedKernel> exported_kernel(const ResultParts& parts, const Attempt& winner,
                                       const FoundSubmission& one) {
  TRY(auto backend, parts.service());
  const auto& contract = sandbox::contract_named(one.submission.contract);
  ExportedKernel out;
  out.form = form_of(contract.runs_on);
  out.name = parts.export_name;
  out.task = parts.shapes.front().task;
  out.task.device = one.device;
  out.files = one.submission.files;
  out.build = contract.library_build();
  for (const DeclaredShape& shape : parts.shapes) {
    Task task = shape.task;
    task.device = one.device;
    TRY(auto facts, backend->ingest(task, Deadline::after(facts_budget)));
    const auto judged = std::ranges::find(winner.shapes, shape.function, &ShapeAttempt::shape);
    const ShapeResult* times = judged == winner.shapes.end() ? nullptr : judged->times();
    const double ms = times == nullptr ? 0 : times->candidate_ms.value_or(0);
    out.shapes.push_back({shape.function, std::move(facts.signature), ms});
  }
  return out;
}

/// Binds the plan of contract `device` to each shape.
Result<std::vector<sandbox::BoundPlan>> plans_of(const ExportedKernel& kernel) {
  std::vector<sandbox::BoundPlan> out;
  TRY(const auto plan, sandbox::read_plan(kernel.files.at(sandbox::plan_file)));
  for (const ExportedShape& shape : kernel.shapes) {
    auto bound = sandbox::bind_plan(plan, shape.signature, {.lane = kernel.task.lane});
    if (!bound) return fail(shape.function, std::move(bound.error()));
    out.push_back(std::move(*bound));
  }
  return out;
}

/// Whether the export generates a file with this name. Contract `host` provides its own files.
bool is_generated(const std::string& name, ExportForm form) {
  if (form == ExportForm::module) return false;
  return name == "op.cpp" || name.starts_with("headers/") ||
         (form == ExportForm::plan && name == "kernels.h");
}

/// The name of the Python package among an export's files.
std::string package_in(const FileSet& files) {
  constexpr std::string_view mark = "/__init__.py";
  for (const auto& [name, text] : files) {
    if (name.ends_with(mark)) return name.substr(0, name.size() - mark.size());
  }
  return {};
}

/// Writes export/, or says in the report why there is none.
Result<void> write_export(const ResultParts& parts, const Attempt& winner,
                          const FoundSubmission& one, OptimizeReport& report) {
  auto kernel = exported_kernel(parts, winner, one);
  if (!kernel) return fail("export", kernel.error());
  if (kernel->form == ExportForm::plan) {
    auto plans = plans_of(*kernel);
    if (!plans) return fail("export", plans.error());
    kernel->plans = std::move(*plans);
  }
  for (const sandbox::BoundPlan& plan : kernel->plans) {
    if (const auto why = unexportable(plan)) report.export_note = *why;
  }
  for (const auto& [name, text] : kernel->files) {
    if (is_generated(name, kernel->form))
      report.export_note = "the export has its own " + name + "; rename it";
  }
  const std::filesystem::path folder = parts.folder.folder / "export";
  if (!report.export_note.empty()) return replace_folder(folder, {});
  const FileSet files = export_package(*kernel);
  TRY_VOID(replace_folder(folder, files));
  report.exported = ExportPlace{folder.string(), package_in(files)};
  return {};
}

Result<void> write_promoted(const ResultParts& parts, const Attempt& winner,
                            OptimizeReport& report) {
  const std::filesystem::path& folder = parts.folder.folder;
  const FoundSubmission* one = submission_of(parts, winner.key);
  if (one == nullptr) return fail(ErrorCode::infrastructure, winner.name + ": its files are gone");
  TRY_VOID(replace_folder(folder / "kernel", one->submission.files));
  add_profile(parts, *one, report);
  if (sandbox::contract_named(one->submission.contract).library_build == nullptr) {
    report.export_note =
        "contract " + one->submission.contract + " has none; kernel/ holds the sources";
    return {};
  }
  const char* const stopped = "stopped before it was written; --resume writes it";
  if (parts.stopped()) {
    report.export_note = stopped;
  } else if (auto written = write_export(parts, winner, *one, report); !written) {
    report.export_note = parts.stopped() ? stopped : written.error().message;
  }
  return {};
}

}  // namespace

Result<void> write_result(const ResultParts& parts, OptimizeReport& report) {
  const std::filesystem::path& folder = parts.folder.folder;
  // Even after kill -9, a report describes the files next to it, and an export belongs to the
  // kernel next to it.
  std::error_code error;
  std::filesystem::remove(folder / "report.json", error);
  std::filesystem::remove(folder / "report.html", error);
  TRY_VOID(replace_folder(folder / "export", {}));
  if (report.promotion.winner) {
    const Attempt& winner = report.candidates[*report.promotion.winner];
    add_diff(parts, winner, report);
    TRY_VOID(write_promoted(parts, winner, report));
  } else
    TRY_VOID(replace_folder(folder / "kernel", {}));
  report.stopped = report.stopped || parts.stopped();
  TRY_VOID(write_file_durably(folder / "report.json", to_json(report)));
  return write_file_durably(folder / "report.html", to_html(report));
}

}  // namespace warpsmith::commands
