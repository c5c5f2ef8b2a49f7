// SPDX-License-Identifier: Apache-2.0
// `warpsmith check`: judges one kernel and prints the verdict with its evidence.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/check/check_call.hpp"
#include "commands/check/check_report.hpp"
#include "commands/command.hpp"
#include "commands/options.hpp"
#include "commands/output_text.hpp"
#include "commands/signals.hpp"
#include "runtime/result.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::commands {
namespace {

Result<void> write(const std::string& file, const Result<std::string>& text) {
  if (file.empty()) return {};
  if (!text) return tl::unexpected(text.error());
  return write_file_durably(file, *text + '\n');
}

/// Writes the files of --profile and --trace. If the judgement is not `passed`, writes none and
/// says so on standard error.
Result<void> write_profile(const CheckArguments& args, const Judgement& judgement) {
  if (args.profile.empty() && args.trace.empty()) return {};
  const auto* verdict = std::get_if<Verdict>(&judgement);
  if (verdict == nullptr || !verdict->correct()) {
    std::cerr << "no profile: only a correct solution is profiled\n";
    return {};
  }
  const auto profile = sandbox::profile_of_evidence(verdict->evidence);
  if (!profile) return fail(ErrorCode::infrastructure, "the verdict's evidence has no profile");
  TRY_VOID(write(args.profile, *profile));
  return write(args.trace, sandbox::profile_trace(*profile));
}

const char* const footer =
    "A solution is one of:\n"
    "  contract cpu     solution/kernel.cpp: C++ that exports solve(in, out, dims)\n"
    "  contract device  solution/plan.toml, the launches, and solution/kernels.cu, their kernels\n"
    "  contract host    solution/model_new.py: class ModelNew, alone or with kernels/*.cu and\n"
    "                   kernels/*_binding.cpp; runs on the device that the task names\n"
    "                   (DEVICE = \"cuda\" or \"cpu\"), else on a GPU if there is one\n"
    "--explain needs no GPU. It prints the task's extents and tensors (the names that a plan may\n"
    "use), then every step with its numbers, then the resources of each compiled kernel; or every\n"
    "error, as plan.toml:LINE:COLUMN.\n"
    "Examples:\n"
    "  warpsmith check configs/examples/rms_norm_linear\n"
    "  warpsmith check --task task.py kernel.cpp\n"
    "  warpsmith check --explain configs/examples/rms_norm_linear\n"
    "  warpsmith check --profile kernels.json --trace trace.json configs/examples/rms_norm_linear\n"
    "Further sizes that the task declares, by get_ragged_inputs or get_inputs_NAME, are judged "
    "too,\n"
    "up to the first on which the kernel is not correct. --explain and --compile-only use "
    "get_inputs.\n"
    "The first check of a task measures its baselines, which takes minutes; progress goes to\n"
    "standard error. Checks within --keep of the last one take seconds.\n"
    "Exit codes: 0 correct, 1 judged not correct, 2 bad input, 3 infrastructure failure,\n"
    "130 interrupted.";

void print_progress(const std::string& line) {
  std::cerr << line << '\n';
}

ExitCode exit_code(const Judgement& judgement) {
  if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
    return verdict->correct() ? ExitCode::success : ExitCode::judged_wrong;
  }
  const auto kind = std::get<InfraFailure>(judgement).kind;
  return kind == InfraKind::task_refused ? ExitCode::bad_input : ExitCode::infrastructure;
}

std::string text_of(const CheckArguments& args, const sandbox::EvaluateRequest& call,
                    const std::vector<JudgedShape>& judged,
                    const std::vector<std::string>& left_out) {
  return for_terminal(with_own_name(shapes_text(judged, left_out, call.want),
                                    call.submission.contract, args.place));
}

/// Prints the verdicts that there are, and names the sizes without one. No JSON: a program would
/// take it for the result.
ExitCode report_stopped(const CheckArguments& args, const sandbox::EvaluateRequest& call,
                        JudgedShapes all) {
  std::string missing = all.judged.back().function;
  for (const std::string& one : all.left_out) missing += ", " + one;
  all.judged.pop_back();
  if (!args.json) {
    if (all.judged.size() == 1) std::cout << all.judged.front().function << ": ";
    std::cout << text_of(args, call, all.judged, {});
  }
  print_progress("stopped: no verdict on " + missing);
  return ExitCode::interrupted;
}

ExitCode check(const CheckArguments& args) {
  const auto call = check_call(args);
  if (!call) return report(call.error());
  const SignalWait signals{"stopping"};
  const EndOnSignal end(signals);
  // Quick requests print progress only on a terminal.
  const bool print_all = runs(call->want) || isatty(STDERR_FILENO) == 1;
  auto all = judge_shapes(args, *call, end.ender(), [print_all](const std::string& line) {
    if (print_all) print_progress(line);
  });
  if (!all) return report(all.error());
  const Judgement& judgement = decisive(all->judged);
  if (signals.arrived() && !std::holds_alternative<Verdict>(all->judged.back().judgement)) {
    return report_stopped(args, *call, std::move(*all));
  }
  if (args.json) {
    std::cout << shapes_json(all->judged, call->want) << '\n';
  } else {
    std::cout << text_of(args, *call, all->judged, all->left_out);
  }
  if (auto written = write_profile(args, all->judged.front().judgement); !written)
    return report(written.error());
  return exit_code(judgement);
}

std::vector<OptionRule> check_rules() {
  using Kind = OptionRule::Kind;
  const std::vector<std::string> without_running{"DIR", "--task", "--contract", "--timeout",
                                                 "--json"};
  return {{"--explain", Kind::takes, without_running, "nothing is run"},
          {"--compile-only", Kind::takes, without_running, "nothing is run"},
          {"--verify-only",
           Kind::refuses,
           {"--baselines", "--profile", "--trace"},
           "nothing is timed"}};
}

void add_subject(CLI::App& app, CheckArguments& args) {
  app.add_option("DIR", args.place,
                 "Folder with reference.py and solution/. With --task: the solution's folder, or\n"
                 "its one file (kernel.cpp or model_new.py, under any name)")
      ->type_name("");
  app.add_option("--task", args.task, "Task file in KernelBench's format")->type_name("FILE");
  app.add_option("--contract", args.contract,
                 "cpu, device or host. Default: host for a *.py file or a folder with\n"
                 "model_new.py, device for a folder with plan.toml or kernels.cu, else cpu");
  app.add_option("--numerics", args.numerics,
                 "Bound on errors. paper: 1e-2, absolute and relative, on 5 input sets, to\n"
                 "compare with published numbers")
      ->capture_default_str()
      ->check(CLI::IsMember({"strict", "paper"}));
}

/// What is done with the kernel, and what is written about it.
void add_work(CLI::App& app, CheckArguments& args) {
  app.add_flag("--json", args.json, "Print one JSON object on standard output");
  app.add_flag("--explain", args.explain,
               "Contract device: print what would be launched; run nothing");
  app.add_flag("--compile-only", args.compile_only, "Compile and inspect; run nothing");
  app.add_flag("--verify-only", args.verify_only, "Compile and verify; time nothing");
  app.add_option("--profile", args.profile,
                 "On a GPU: write the kernels that ran, and those of eager and\n"
                 "torch.compile, to FILE as JSON. Only for a correct solution")
      ->type_name("FILE");
  app.add_option("--trace", args.trace,
                 "On a GPU: write the same kernels to FILE as a trace for ui.perfetto.dev")
      ->type_name("FILE");
}

void add_place(CLI::App& app, CheckArguments& args) {
  app.add_option("--gpu", args.gpu, "Number of the GPU for contracts device and host")
      ->capture_default_str()
      ->check(CLI::Range(0, 63));
  add_baselines_option(app, args.baselines);
  app.add_option("--timeout", args.timeout_s,
                 "Seconds for the whole evaluation of one declared size")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  app.add_option("--keep", args.keep_s,
                 "Seconds that the sandbox stays ready for the next check, with torch, the\n"
                 "task and its compiled baselines in memory; 0: it ends with this command")
      ->capture_default_str()
      ->check(CLI::Range(0, 3'600));
}

}  // namespace

Command check_command() {
  return {"check", "Judge one kernel: is it correct, and how fast?",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<CheckArguments>();
            add_subject(app, *args);
            add_work(app, *args);
            add_place(app, *args);
            app.footer(footer);
            return with_rules(app, check_rules(), [args] { return check(*args); });
          }};
}

}  // namespace warpsmith::commands
