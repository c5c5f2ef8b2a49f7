// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench tasks`: which tasks are accepted here, and how are solutions judged?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/bench/bench.hpp"
#include "commands/bench/evaluation_rate.hpp"
#include "commands/bench/task_survey.hpp"
#include "commands/options.hpp"
#include "commands/output_text.hpp"
#include "commands/signals.hpp"
#include "commands/slots.hpp"
#include "runtime/json_text.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/ingest/mutant_words.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

using nlohmann::json;

struct TasksArguments {
  std::vector<std::filesystem::path> places;
  std::string solutions, contract = "cpu";
  int gpu = 0;
  int64_t slots = 1;
  std::vector<std::string> baselines{"none"};
  bool json = false, texts = false;
};

json verdict_json(const std::optional<Judgement>& judgement) {
  if (!judgement) return nullptr;
  if (const auto* failure = std::get_if<InfraFailure>(&*judgement)) {
    return {{"outcome", to_string(failure->kind)}, {"text", failure->detail}};
  }
  const auto& verdict = std::get<Verdict>(*judgement);
  json out{{"outcome", to_string(verdict.outcome)}, {"text", verdict.feedback}};
  if (verdict.shapes.empty()) return out;
  const ShapeResult& shape = verdict.shapes.front();
  out["candidate_ms"] = nullable(shape.candidate_ms);
  out["speedup_eager"] = nullable(shape.speedup_eager);
  out["speedup_compile"] = nullable(shape.speedup_compile);
  out["worst_error"] = nullable(shape.worst_error);
  out["clock_gap_us"] = nullable(clock_gap_us(verdict));
  return out;
}

json task_json(const SurveyedTask& task) {
  json out{{"task", task.id},
           {"ingest_s", task.ingest_s},
           {"refusal", task.refusal.empty() ? json() : json(task.refusal)},
           {"refusal_code", task.refusal_code ? json(to_string(*task.refusal_code)) : json()},
           {"right", verdict_json(task.right)},
           {"wrong", verdict_json(task.wrong)}};
  out["eager_ms"] = task.facts ? json(task.facts->eager_ms) : json();
  out["compile_ms"] = task.facts ? json(task.facts->compile_ms) : json();
  out["insensitive"] = is_insensitive(task) ? json(task.facts->insensitive) : json();
  return out;
}

std::string to_json(const Survey& survey) {
  json tasks = json::array();
  for (const SurveyedTask& task : survey.tasks) tasks.push_back(task_json(task));
  const SurveyCounts sum = survey.counts();
  const json out{{"tasks", tasks},
                 {"taken_in", sum.accepted},
                 {"insensitive", sum.insensitive},
                 {"refused", sum.refused},
                 {"right", sum.right},
                 {"right_passed", sum.right_passed},
                 {"beat_compile", sum.beat_compile},
                 {"wrong", sum.wrong},
                 {"wrong_passed", sum.wrong_passed}};
  return json_text(out) + '\n';
}

/// "passed, 0.1 ms, 1.2 x eager, 1.05 x torch.compile", or the feedback.
std::string verdict_line(const std::optional<Judgement>& judgement) {
  if (!judgement) return "-";
  if (const auto* failure = std::get_if<InfraFailure>(&*judgement)) {
    return std::string{to_string(failure->kind)} + ": " + failure->detail;
  }
  const auto& verdict = std::get<Verdict>(*judgement);
  if (!verdict.correct() || verdict.shapes.empty()) return verdict.feedback;
  const ShapeResult& shape = verdict.shapes.front();
  return fmt::format("passed, {:.4f} ms, {:.3f} x eager, {:.3f} x torch.compile",
                     shape.candidate_ms.value_or(0), shape.speedup_eager.value_or(0),
                     shape.speedup_compile.value_or(0));
}

std::string survey_text(const SurveyedTask& task) {
  std::string out = task.id + '\n';
  if (!task.facts) return out + "  refused  " + task.refusal + '\n';
  out += fmt::format("  accepted after {:.1f} s: eager {:.4f} ms, torch.compile {:.4f} ms\n",
                     task.ingest_s, task.facts->eager_ms, task.facts->compile_ms);
  if (is_insensitive(task))
    out += "  cannot tell from right answers: " + sandbox::in_words(task.facts->insensitive) + '\n';
  if (task.right) out += "  right    " + verdict_line(task.right) + '\n';
  if (task.wrong) out += "  wrong    " + verdict_line(task.wrong) + '\n';
  return out;
}

std::string sum_text(const SurveyCounts& sum) {
  std::vector<BenchRow> rows{{"tasks accepted", std::to_string(sum.accepted), {}},
                             {"of them insensitive", std::to_string(sum.insensitive), {}},
                             {"tasks refused", std::to_string(sum.refused), {}}};
  if (sum.right > 0) {
    const std::string of = fmt::format(" of {}", sum.right);
    rows.push_back({"right solutions passed", std::to_string(sum.right_passed) + of, {}});
    rows.push_back(
        {"of them clearly faster than compile", std::to_string(sum.beat_compile) + of, {}});
  }
  if (sum.wrong > 0) {
    rows.push_back(
        {"wrong solutions passed", fmt::format("{} of {}", sum.wrong_passed, sum.wrong), "0"});
  }
  return table_of(rows);
}

Result<std::vector<SandboxBackendFactory>> slots_of(
    const TasksArguments& args, const std::vector<Task>& tasks,
    const std::shared_ptr<sandbox::EndSwitch>& ender) {
  const bool on_gpu = std::ranges::find(tasks, DeviceClass::cuda, &Task::device) != tasks.end();
  SandboxConfig config;
  config.contract = slot_contract(args.contract, on_gpu ? DeviceClass::cuda : DeviceClass::cpu);
  config.first_gpu = args.gpu;
  config.count = args.slots;
  config.baselines = selected_baselines(args.baselines);
  TRY(const auto slots, take_slots(config));
  return services_of(slots, ender);
}

Result<SolutionPair> solutions_for(const TasksArguments& args, const Task& task) {
  if (args.solutions.empty()) return SolutionPair{};
  return solutions_of(task, args.solutions, args.contract);
}

void show(const SurveyedTask& task, const TasksArguments& args) {
  if (!args.json) std::cout << for_terminal(survey_text(task)) << std::flush;
}

/// The tasks that several slots survey, each slot on its own thread. Results are printed as they
/// arrive, and kept in the order of `tasks`.
class SharedSurvey {
 public:
  SharedSurvey(const std::vector<Task>& tasks, const TasksArguments& args,
               const SignalWait& signals)
      : tasks_(tasks),
        args_(args),
        signals_(signals),
        seen_(tasks.size()),
        states_(std::cerr, terminal_columns(), static_cast<size_t>(args.slots)) {}
  ~SharedSurvey() { states_.clear(); }
  SharedSurvey(const SharedSurvey&) = delete;
  SharedSurvey& operator=(const SharedSurvey&) = delete;

  /// Surveys tasks until none is left, Ctrl-C, or an error of any slot.
  void work(const SandboxBackendFactory& open, size_t slot) {
    auto backend = open();
    if (!backend) return fail_with(std::move(backend.error()));
    const auto tell = [this, slot](const std::string& state) { states_.show(slot, state); };
    (*backend)->on_progress(tell);
    for (size_t at = next_++; at < tasks_.size(); at = next_++) {
      auto seen = survey_one(**backend, tasks_[at], tell);
      if (signals_.arrived()) return;
      if (!seen) return fail_with(std::move(seen.error()));
      const std::lock_guard lock(mutex_);
      states_.clear();
      show(*seen, args_);
      seen_[at] = std::move(*seen);
    }
  }
  /// The tasks that were surveyed; call it after every slot has ended.
  Result<std::vector<SurveyedTask>> result() {
    if (error_) return tl::unexpected(*error_);
    std::vector<SurveyedTask> out;
    for (auto& task : seen_) {
      if (task) out.push_back(std::move(*task));
    }
    return out;
  }

 private:
  Result<SurveyedTask> survey_one(sandbox::Backend& backend, const Task& task,
                                  const BenchProgress& tell) {
    TRY(const auto solutions, solutions_for(args_, task));
    auto seen = survey_task(backend, task, solutions, tell);
    if (!seen) return fail(task.id, std::move(seen.error()));
    return seen;
  }
  void fail_with(Error error) {
    next_ = tasks_.size();
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }

  const std::vector<Task>& tasks_;
  const TasksArguments& args_;
  const SignalWait& signals_;
  std::vector<std::optional<SurveyedTask>> seen_;
  StateLines states_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;  // guards what was seen and the error
  std::optional<Error> error_;
};

/// Surveys the tasks, until the end or Ctrl-C.
Result<std::vector<SurveyedTask>> survey_tasks(const std::vector<Task>& tasks,
                                               const TasksArguments& args,
                                               const SignalWait& signals) {
  const EndOnSignal end(signals);
  TRY(const auto slots, slots_of(args, tasks, end.ender()));
  SharedSurvey shared(tasks, args, signals);
  {
    std::vector<std::jthread> threads;
    threads.reserve(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      threads.emplace_back([&, i] { shared.work(slots[i], i); });
    }
  }
  return shared.result();
}

Result<Survey> survey_all(const TasksArguments& args, const synthesis::FoundTasks& found,
                          const SignalWait& signals) {
  Survey survey;
  for (const synthesis::RefusedFile& file : found.refused) {
    survey.tasks.push_back(
        {.id = file.file.string(), .refusal = file.why.message, .refusal_code = file.why.code});
    show(survey.tasks.back(), args);
  }
  if (found.tasks.empty()) return survey;
  TRY(auto seen, survey_tasks(found.tasks, args, signals));
  std::ranges::move(seen, std::back_inserter(survey.tasks));
  return survey;
}

/// Prints a line of JSON for each task, with its text in KernelBench's form, and for each file
/// without one. `synth import` reads them.
ExitCode print_texts(const synthesis::FoundTasks& found) {
  for (const Task& task : found.tasks) {
    const auto read = synthesis::read_task_text(task.source);
    if (!read) return report(read.error());
    std::cout << json_text(json{{"task", task.id},
                                {"file", synthesis::file_of(task.source).string()},
                                {"format", read->format},
                                {"code", task.code}})
              << '\n';
  }
  for (const synthesis::RefusedFile& file : found.refused) {
    std::cout << json_text(json{{"file", file.file.string()}, {"refusal", file.why.message}})
              << '\n';
  }
  return ExitCode::success;
}

ExitCode bench_tasks(const TasksArguments& args) {
  const SignalWait signals{stop_notice};
  auto found = synthesis::find_tasks(args.places);
  if (!found) return report(found.error());
  if (args.texts) return print_texts(*found);
  if (sandbox::contract_named(args.contract).runs_on == sandbox::RunsOn::task) {
    for (Task& task : found->tasks) task.device = host_device(task);
  }
  const auto survey = survey_all(args, *found, signals);
  if (!survey) return report(survey.error());
  std::cout << (args.json ? to_json(*survey) : sum_text(survey->counts()));
  const size_t all = found->tasks.size() + found->refused.size();
  if (survey->tasks.size() == all) return ExitCode::success;
  std::cerr << "stopped: " << survey->tasks.size() << " of " << all << " tasks\n";
  return ExitCode::interrupted;
}

const char* const tasks_footer =
    "Ingests each task as a run does (measured once, then cached on disk) and reports which are\n"
    "refused and why: random tasks, tasks that do not fit the GPU, files without a task. An\n"
    "accepted task that cannot tell some wrong answers from right ones is marked insensitive. "
    "With\n"
    "--solutions it also judges SOLUTIONS/TASK/ and the wrong solution that\n"
    "SOLUTIONS/TASK/wrong.json makes of it. Ctrl-C ends with the tasks so far.\n"
    "Example:\n"
    "  warpsmith bench tasks KernelBench/level1 --contract device --solutions my_kernels";

}  // namespace

Command bench_tasks_part() {
  return {"tasks", "Tasks of a folder: which are accepted, and how are their solutions judged?",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<TasksArguments>();
            app.add_option("PLACE", args->places, "Task files, or folders of them")
                ->type_name("")
                ->required();
            app.add_option("--solutions", args->solutions,
                           "Folder with one folder per task, named after the task's file")
                ->check(CLI::ExistingDirectory);
            app.add_option("--contract", args->contract,
                           "Contract of the solutions; decides where tasks run")
                ->capture_default_str()
                ->check(CLI::IsMember(sandbox::contract_names()));
            app.add_option("--gpu", args->gpu, "Number of the GPU for contracts device and host")
                ->capture_default_str()
                ->check(CLI::Range(0, 63));
            app.add_option("--slots", args->slots, "Slots that ingest tasks in parallel")
                ->capture_default_str()
                ->check(CLI::Range(1, 64));
            add_baselines_option(app, args->baselines);
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.add_flag("--texts", args->texts,
                         "Print each task's text in KernelBench's form as a line of JSON; ingest "
                         "nothing");
            app.footer(tasks_footer);
            return [args] { return bench_tasks(*args); };
          }};
}

}  // namespace warpsmith::commands
