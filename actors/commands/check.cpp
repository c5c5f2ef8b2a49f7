// SPDX-License-Identifier: Apache-2.0
// `warpsmith check`: a verdict on one kernel, with its evidence.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "actors/commands/check_report.hpp"
#include "actors/commands/command.hpp"
#include "actors/messages.hpp"
#include "actors/service_backend.hpp"
#include "actors/slot_cores.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/workspace/solution.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

struct CheckArguments {
  std::string place;  // DIR, or with --task the solution
  std::string task;
  std::string contract = "cpu";
  bool json = false, compile_only = false;
  int timeout_s = 300;
};

/// As training takes it, headers and all.
Result<FileSet> read_folder(const fs::path& place) {
  const auto folder = sandbox::SafeFolder::open(place);
  if (!folder) return tl::unexpected(folder.error());
  auto files = sandbox::freeze_folder(*folder, "kernel.cpp", {});
  if (files) return files;
  const bool too_much = files.error().code == ErrorCode::capacity;
  return fail(too_much ? ErrorCode::invalid_argument : files.error().code,
              place.string() + ": " + files.error().message);
}

/// A file counts as kernel.cpp.
Result<FileSet> read_solution(const fs::path& place) {
  if (fs::is_directory(place)) return read_folder(place);
  constexpr size_t most_bytes = 4U << 20U;
  auto text = read_text_file(place, most_bytes);
  if (!text) return tl::unexpected(std::move(text.error()));
  return FileSet{{"kernel.cpp", std::move(*text)}};
}

Result<EvaluateCall> call_of(const CheckArguments& args) {
  const fs::path place{args.place};
  auto task =
      synthesis::load_task(args.task.empty() ? place / "reference.py" : fs::path{args.task});
  if (!task) return tl::unexpected(std::move(task.error()));
  auto files = read_solution(args.task.empty() ? place / "solution" : place);
  if (!files) return tl::unexpected(std::move(files.error()));
  EvaluateCall call;
  call.submission = {task->id, args.contract, std::move(*files)};
  call.task = std::move(*task);
  call.request = args.compile_only ? Request::compile : Request::final;
  return call;
}

Judgement judge(const EvaluateCall& call, std::chrono::seconds budget) {
  const SandboxConfig config;
  auto options = service_options(config, python_interpreter().string());
  options.core = core_of(config, 0);
  auto backend = service_backend(options)();
  if (!backend) return InfraFailure{InfraKind::sandbox_lost, backend.error().message};
  return (*backend)->evaluate(call.task, call.submission, call.request, budget);
}

ExitCode check(const CheckArguments& args) {
  if (args.contract != "cpu") {
    return report({ErrorCode::unsupported, "contract " + args.contract + ": this build knows cpu"});
  }
  const auto call = call_of(args);
  if (!call) return report(call.error());
  leave_slot_cores(SandboxConfig{});
  const Judgement judgement = judge(*call, std::chrono::seconds{args.timeout_s});
  if (args.json) {
    std::cout << judgement_json(judgement) << '\n';
  } else {
    std::cout << judgement_text(judgement);
  }
  const auto* verdict = std::get_if<Verdict>(&judgement);
  if (verdict == nullptr) {
    const auto kind = std::get<InfraFailure>(judgement).kind;
    return kind == InfraKind::task_refused ? ExitCode::bad_input : ExitCode::infrastructure;
  }
  return verdict->correct() ? ExitCode::success : ExitCode::judged_wrong;
}

}  // namespace

Command check_command() {
  return {"check", "Give one kernel a verdict: correct? how fast? with evidence",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<CheckArguments>();
            app.add_option("place", args->place,
                           "Folder with reference.py and solution/kernel.cpp; with --task, the "
                           "solution's file or folder")
                ->required();
            app.add_option("--task", args->task, "Task file in KernelBench's format");
            app.add_option("--contract", args->contract, "What a solution is: cpu")
                ->capture_default_str();
            app.add_flag("--json", args->json, "One JSON object on standard output");
            app.add_flag("--compile-only", args->compile_only, "Compile and inspect, do not run");
            app.add_option("--timeout", args->timeout_s, "Seconds for the whole evaluation")
                ->capture_default_str()
                ->check(CLI::Range(1, 86'400));
            app.footer(
                "Exit codes: 0 correct, 1 judged not correct, 2 bad input, 3 infrastructure.\n"
                "The first check of a task measures its baselines, which takes a while.");
            return [args] { return check(*args); };
          }};
}

}  // namespace warpsmith::actors
