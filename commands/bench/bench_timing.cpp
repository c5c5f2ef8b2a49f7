// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench timing`: a GPU's times as verdicts measure them, and as events of this process
// do.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/bench/bench.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/environment.hpp"
#include "sandbox/bench/timing_agreement.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

using sandbox::AgreementRow;

struct TimingArguments {
  std::vector<double> targets{10, 20, 50, 100, 200, 1000, 5000};
  int gpu = 0, calls = 101;
  bool json = false;
};

constexpr std::chrono::minutes timing_budget{20};

Result<sandbox::CudaCompiler> open_compiler(const sandbox::SandboxOptions& options,
                                            const sandbox::GpuSlot& slot, Deadline deadline) {
  TRY(auto toolchain, sandbox::find_cuda_toolchain(sandbox::built_with_toolkit(), options.python));
  return sandbox::CudaCompiler::open(
      {.sandbox = options, .toolchain = std::move(toolchain), .architecture = slot.architecture()},
      deadline);
}

Result<std::vector<AgreementRow>> measure(const TimingArguments& args) {
  SandboxConfig config;
  config.contract = "device";
  config.first_gpu = args.gpu;
  TRY_VOID(check_slots(config, SlotsOf::command));
  const auto options = slot_options(config, python_interpreter().string(), 0);
  const Deadline deadline = Deadline::after(timing_budget);
  // Processes that wait for each other share a core, as in a service.
  const sandbox::CorePin pin(*options.core);
  TRY(auto slot,
      sandbox::GpuSlot::open(
          {.gpu = args.gpu, .python = options.python, .cache_folder = options.cache_dir}));
  TRY(auto compiler, open_compiler(options, *slot, deadline));
  sandbox::DeviceLaunchers launchers(
      {.program = options.program, .gpu = slot->access(), .core = options.core});
  const sandbox::AgreementJob job{.gpu = args.gpu,
                                  .slot = *slot,
                                  .launchers = launchers,
                                  .compiler = compiler,
                                  .targets_us = args.targets,
                                  .calls = args.calls,
                                  .progress = print_progress};
  try {
    return sandbox::measure_agreement(job, deadline);
  } catch (const cuda::DeviceError& error) {
    return fail(ErrorCode::infrastructure, error.what());
  }
}

nlohmann::json to_json(const std::vector<AgreementRow>& rows) {
  nlohmann::json each = nlohmann::json::array();
  for (const AgreementRow& row : rows) {
    each.push_back({{"kernel", row.kernel},
                    {"target_us", row.target_us},
                    {"events_us", row.events_us},
                    {"graph_us", row.graph_us},
                    {"graph_ratio", row.graph_ratio()},
                    {"graph_bar", row.graph_bar()},
                    {"graph_agrees", row.graph_agrees()},
                    {"commit_us", row.commit_us},
                    {"commit_ratio", row.commit_ratio()},
                    {"commit_bar", row.commit_bar()},
                    {"commit_agrees", row.commit_agrees()}});
  }
  return {{"share_bar", sandbox::agreement_share},
          {"graph_bar_from_us", sandbox::graph_bar_from_us},
          {"commit_bar_from_us", sandbox::commit_bar_from_us},
          {"meets_bars", std::ranges::all_of(rows, &AgreementRow::graph_agrees) &&
                             std::ranges::all_of(rows, &AgreementRow::commit_agrees)},
          {"each", each}};
}

/// A time and its ratio to that of the events; marked if the bar is missed.
std::string beside_events(double us, double ratio, bool agrees) {
  return fmt::format("{:.2f} us ({:.3f}{})", us, ratio, agrees ? "" : ", missed");
}

std::string to_text(const std::vector<AgreementRow>& rows) {
  std::vector<BenchRow> lines;
  for (const AgreementRow& row : rows) {
    const std::string name = fmt::format("{}, about {:.0f} us: ", row.kernel, row.target_us);
    const auto bar = [](bool applies) { return applies ? "0.97 to 1.03" : ""; };
    lines.push_back({name + "events", fmt::format("{:.2f} us", row.events_us), {}});
    lines.push_back({name + "graph",
                     beside_events(row.graph_us, row.graph_ratio(), row.graph_agrees()),
                     bar(row.graph_bar())});
    lines.push_back({name + "commit",
                     beside_events(row.commit_us, row.commit_ratio(), row.commit_agrees()),
                     bar(row.commit_bar())});
  }
  return table_of(lines);
}

ExitCode bench_timing(const TimingArguments& args) {
  const auto rows = measure(args);
  if (!rows) return report(rows.error());
  std::cout << (args.json ? to_json(*rows).dump() + '\n' : to_text(*rows));
  return ExitCode::success;
}

const char* const timing_footer =
    "Three kernels with several amounts of work, caches cold, medians. Events: plain launches in\n"
    "this process between two events, minus two events around nothing; another process has just\n"
    "used the device, as in a verdict. Graph: as in a verdict, by a jailed launcher, minus an\n"
    "empty graph; must agree from 20 us on. Commit: the verifier's clock over the same calls,\n"
    "minus its no-op; must agree from 50 us on.";

}  // namespace

Command bench_timing_part() {
  return {"timing", "Times of a GPU's kernels by three clocks: do they agree?",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<TimingArguments>();
            app.add_option("--targets", args->targets,
                           "Kernel times in microseconds, separated by commas")
                ->capture_default_str()
                ->delimiter(',')
                ->check(CLI::Range(1.0, 1e6));
            app.add_option("--calls", args->calls, "Calls per clock")
                ->capture_default_str()
                ->check(CLI::Range(1, 10'000));
            app.add_option("--gpu", args->gpu, "Number of the GPU")
                ->capture_default_str()
                ->check(CLI::Range(0, 63));
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(timing_footer);
            return [args] { return bench_timing(*args); };
          }};
}

}  // namespace warpsmith::commands
