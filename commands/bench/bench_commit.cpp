// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench commit` and `bench pairs`: the accuracy of the times in verdicts, measured with
// a kernel that does nothing, a loop of known length, and repeated evaluations of one kernel.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/bench/bench.hpp"
#include "commands/bench/kernel_sources.hpp"
#include "commands/bench/repetition.hpp"
#include "commands/slots.hpp"
#include "runtime/clock.hpp"
#include "runtime/environment.hpp"
#include "runtime/median.hpp"
#include "runtime/process/child.hpp"
#include "runtime/text.hpp"
#include "sandbox/bench/self_check.hpp"
#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/service/client.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

/// The speed-up over eager that one complete evaluation measured.
struct SpeedupSample {
  Interval interval;  // 95 %
  std::string evidence;
};

/// Two evaluations of one kernel.
struct VerdictPair {
  SpeedupSample first, second;

  bool overlaps() const {
    return first.interval.low <= second.interval.high && second.interval.low <= first.interval.high;
  }
};

Result<std::string> compile_check(const sandbox::SandboxOptions& options, Deadline deadline) {
  TRY(auto compiler, sandbox::CpuCompiler::create(options));
  TRY(auto compiled, compiler.compile({{"kernel.cpp", sandbox::self_check_kernel}}, deadline));
  if (compiled.failure) {
    return fail(ErrorCode::infrastructure, "the self-check's kernel: " + compiled.text);
  }
  return std::move(compiled.artefact);
}

Result<SpeedupSample> speedup_sample(const Judgement& judgement) {
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
    return fail(ErrorCode::infrastructure, failure->detail);
  }
  const auto& verdict = std::get<Verdict>(judgement);
  if (verdict.shapes.empty() || !verdict.shapes.front().speedup_eager_interval) {
    return fail(ErrorCode::infrastructure, "no times: " + verdict.feedback);
  }
  return SpeedupSample{*verdict.shapes.front().speedup_eager_interval, verdict.evidence};
}

/// Compiles the self-check's kernel and measures it in `processes` fresh processes. Call it from
/// the program's main thread.
Result<std::vector<sandbox::SelfCheck>> measure_commit(const sandbox::SandboxOptions& options,
                                                       int64_t processes, Deadline deadline) {
  TRY(auto artefact, compile_check(options, deadline));
  const sandbox::SelfCheckOptions check{options.program, std::move(artefact), options.core};
  std::vector<sandbox::SelfCheck> all;
  for (int64_t i = 0; i < processes; ++i) {
    TRY(auto one, sandbox::self_check(check, deadline));
    all.push_back(one);
  }
  return all;
}

/// Evaluates one kernel twice per pair. Fails at a verdict without times, with its feedback.
Result<std::vector<VerdictPair>> measure_pairs(sandbox::Backend& backend, const Task& task,
                                               const std::string& source, int64_t pairs,
                                               const BenchProgress& progress) {
  const Submission submission{task.id, "cpu", {{"kernel.cpp", source}}};
  std::vector<VerdictPair> all;
  for (int64_t i = 0; i < pairs; ++i) {
    VerdictPair pair;
    for (SpeedupSample* sample : {&pair.first, &pair.second}) {
      TRY(auto seen, speedup_sample(final_verdict(backend, task, submission).judgement));
      *sample = std::move(seen);
    }
    all.push_back(pair);
    progress(fmt::format("pair {} of {}", i + 1, pairs));
  }
  return all;
}

constexpr double bar_overhead_us = 20;
constexpr double bar_noop_us = 2;
constexpr double bar_loop_share = 0.03;
constexpr double loop_us = 1000;
constexpr double bar_overlap = 0.95;

struct CommitArguments {
  int64_t processes = 20, pairs = 40;
  std::string task, style = "rows";
  bool while_learning = false, json = false;
};

/// Runs the program's own training bench on the cores that the slot does not use, until this object
/// is destroyed.
class BackgroundTraining {
 public:
  static Result<BackgroundTraining> start(bool wanted) {
    BackgroundTraining training;
    if (!wanted) return training;
    ChildSpec spec;
    spec.argv = {"/proc/self/exe", "bench", "learn", "--steps", "1000000"};
    TRY(auto child, Child::start(spec));
    training.child_.emplace(std::move(child));
    return training;
  }

  /// Fails if the training has ended: the figures are then those of an idle machine.
  Result<void> check_running() {
    if (!child_ || child_->alive()) return {};
    const ChildExit end = child_->wait(Deadline::after(std::chrono::seconds{1}));
    return fail(ErrorCode::process_failed,
                fmt::format("--while-learning: the training process ended early (exit code "
                            "{}, signal {}): {}",
                            end.exit_code, end.signal, end.err));
  }

 private:
  std::optional<Child> child_;
};

/// The figure that is farthest from `expected`, over all processes.
double worst(const std::vector<sandbox::SelfCheck>& all, double sandbox::SelfCheck::* field,
             double expected) {
  double farthest = expected;
  for (const sandbox::SelfCheck& one : all) {
    if (std::fabs(one.*field - expected) > std::fabs(farthest - expected)) farthest = one.*field;
  }
  return farthest;
}

double median_of_checks(const std::vector<sandbox::SelfCheck>& all,
                        double sandbox::SelfCheck::* field) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const sandbox::SelfCheck& one : all) values.push_back(one.*field);
  return warpsmith::median(values);
}

nlohmann::json check_json(const sandbox::SelfCheck& one) {
  return {{"raw_overhead_us", one.raw_overhead_us},
          {"noop_us", one.noop_us},
          {"loop_us", one.loop_us},
          {"stop_us", one.stop_us},
          {"start_ms", one.start_ms}};
}

void print_commit(const std::vector<sandbox::SelfCheck>& all, const CommitArguments& args) {
  using Check = sandbox::SelfCheck;
  const double overhead = worst(all, &Check::raw_overhead_us, 0);
  const double noop = worst(all, &Check::noop_us, 0);
  const double loop = worst(all, &Check::loop_us, loop_us);
  if (args.json) {
    nlohmann::json each = nlohmann::json::array();
    for (const Check& one : all) each.push_back(check_json(one));
    const nlohmann::json out{
        {"processes", all.size()},
        {"while_learning", args.while_learning},
        {"worst_raw_overhead_us", overhead},
        {"raw_overhead_us_bar", bar_overhead_us},
        {"worst_noop_us", noop},
        {"noop_us_bar", bar_noop_us},
        {"worst_loop_us", loop},
        {"loop_us_bar", {loop_us * (1 - bar_loop_share), loop_us * (1 + bar_loop_share)}},
        {"each", each}};
    std::cout << out.dump() << '\n';
    return;
  }
  const auto figure = [&](double farthest, double Check::* field) {
    return fmt::format("{:.1f} us, median {:.1f} us", farthest, median_of_checks(all, field));
  };
  std::cout << table_of({{"fresh processes", std::to_string(all.size()), {}},
                         {"worst overhead of a call", figure(overhead, &Check::raw_overhead_us),
                          fmt::format("<= {:.0f} us", bar_overhead_us)},
                         {"worst no-op, overhead subtracted", figure(noop, &Check::noop_us),
                          fmt::format("within {:.0f} us of 0", bar_noop_us)},
                         {"worst loop of 1,000 us", figure(loop, &Check::loop_us),
                          "within " + percent_text(bar_loop_share)}});
}

ExitCode bench_commit(const CommitArguments& args) {
  const auto slots = take_slots({});
  if (!slots) return report(slots.error());
  auto load = BackgroundTraining::start(args.while_learning);
  if (!load) return report(load.error());
  const auto all =
      measure_commit(slots->front(), args.processes, Deadline::after(std::chrono::minutes{10}));
  if (!all) return report(all.error());
  if (auto loaded = load->check_running(); !loaded) return report(loaded.error());
  print_commit(*all, args);
  return ExitCode::success;
}

nlohmann::json sample_json(const SpeedupSample& one) {
  return {{"speedup_eager", {one.interval.low, one.interval.high}},
          {"evidence", nlohmann::json::parse(one.evidence, nullptr, false)}};
}

void print_pairs(const std::vector<VerdictPair>& all, const CommitArguments& args) {
  const auto overlapping = std::ranges::count_if(all, &VerdictPair::overlaps);
  const auto bar = static_cast<int64_t>(std::ceil(bar_overlap * static_cast<double>(all.size())));
  if (args.json) {
    nlohmann::json each = nlohmann::json::array();
    for (const VerdictPair& p : all) each.push_back({sample_json(p.first), sample_json(p.second)});
    const nlohmann::json out{{"pairs", all.size()},
                             {"while_learning", args.while_learning},
                             {"overlapping", overlapping},
                             {"overlapping_bar", bar},
                             {"each", each}};
    std::cout << out.dump() << '\n';
    return;
  }
  std::cout << table_of(
      {{"pairs of evaluations of one kernel", std::to_string(all.size()), {}},
       {"whose 95 % intervals overlap", std::to_string(overlapping), fmt::format(">= {}", bar)}});
}

ExitCode bench_pairs(const CommitArguments& args) {
  const auto folder = source_folder() / "configs/tasks/cpu/train";
  const auto task = synthesis::load_task(args.task.empty() ? folder / "rms_norm.py"
                                                           : std::filesystem::path{args.task});
  if (!task) return report(task.error());
  const std::string task_folder =
      args.task.empty() ? folder.string() : std::filesystem::path{args.task}.parent_path().string();
  const auto sources = write_kernels({.folders = {task_folder}, .styles = {args.style}});
  if (!sources) return report(sources.error());
  const auto slots = take_slots({});
  if (!slots) return report(slots.error());
  auto backend = service_backend(slots->front())();
  if (!backend) return report(backend.error());
  auto load = BackgroundTraining::start(args.while_learning);
  if (!load) return report(load.error());
  const auto all = measure_pairs(**backend, *task, sources->at(task->id).front().at("kernel.cpp"),
                                 args.pairs, print_progress);
  if (!all) return report(all.error());
  if (auto loaded = load->check_running(); !loaded) return report(loaded.error());
  print_pairs(*all, args);
  return ExitCode::success;
}

void add_shared(CLI::App& app, const std::shared_ptr<CommitArguments>& args) {
  app.add_flag("--while-learning", args->while_learning,
               "Train on the other cores meanwhile, as a run does");
  app.add_flag("--json", args->json, "Print one JSON object on standard output");
}

const char* const commit_footer =
    "A jailed kernel is stopped while its inputs are written and its outputs are read; the\n"
    "verifier's clock runs in between. This measures the overhead with a kernel that does\n"
    "nothing, whether subtracting it gives zero, and whether a loop of 1,000 us takes 1,000 us.";
const char* const pairs_footer =
    "Judges one kernel over and over. With correct 95 % intervals, those of the two evaluations\n"
    "of a pair overlap for at least 95 of 100 pairs. The first evaluation may have to measure the\n"
    "task, which takes minutes.";

}  // namespace

Command bench_commit_part() {
  return {"commit", "Overhead and accuracy of the clock behind verdicts, over fresh processes",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<CommitArguments>();
            app.add_option("--processes", args->processes, "Number of fresh jailed processes")
                ->capture_default_str()
                ->check(CLI::Range(1, 10'000));
            add_shared(app, args);
            app.footer(commit_footer);
            return [args] { return bench_commit(*args); };
          }};
}

Command bench_pairs_part() {
  return {
      "pairs", "Pairs of evaluations of one kernel: do their speed-ups agree?",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<CommitArguments>();
        app.add_option("--pairs", args->pairs, "Number of pairs of complete evaluations")
            ->capture_default_str()
            ->check(CLI::Range(1, 10'000));
        app.add_option("--task", args->task, "Task file (default: rms_norm)")->type_name("FILE");
        app.add_option("--style", args->style, "Style of the kernel")->capture_default_str();
        add_shared(app, args);
        app.footer(pairs_footer);
        return [args] { return bench_pairs(*args); };
      }};
}

}  // namespace warpsmith::commands
