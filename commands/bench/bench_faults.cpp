// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench faults`: random faults among honest evaluations must change no verdict and leave
// nothing behind.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands/bench/bench.hpp"
#include "commands/bench/fault_run.hpp"
#include "commands/signals.hpp"
#include "commands/slots.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/owned_folder.hpp"
#include "runtime/text.hpp"
#include "sandbox/judge/gpu/gpu_bench.hpp"

namespace warpsmith::commands {
namespace {

struct FaultsArguments {
  std::string contract = "cpu", tasks;
  int64_t evaluations = 200, faults = 200, kernels = 64, slots = 2, gpus = 1;
  uint64_t seed = 1;
  bool json = false;
};

Result<FaultLoad> load_of(const FaultsArguments& args) {
  TRY(auto known, tasks_with_kernels(args.contract, args.tasks));
  return FaultLoad{.contract = args.contract,
                   .tasks = std::move(known.tasks),
                   .sources = std::move(known.sources),
                   .kernels = args.kernels,
                   .evaluations = args.evaluations,
                   .faults = args.faults,
                   .seed = args.seed,
                   .progress = print_progress};
}

SandboxConfig config_of(const FaultsArguments& args) {
  SandboxConfig config;
  config.contract = args.contract;
  config.count = args.slots;
  config.gpus = args.gpus;
  // Each hang takes as long as this limit. A GPU's traps take longer, see `patience_with`.
  if (args.contract == "cpu") config.settings.call_timeout = std::chrono::seconds{2};
  return config;
}

/// Reads the free memory of each GPU that slots use.
class DeviceMemories {
 public:
  static Result<DeviceMemories> open(const SandboxConfig& config) {
    DeviceMemories all;
    for (int64_t i = 0; uses_gpus(config) && i < config.gpus; ++i) {
      TRY(auto verifier, sandbox::GpuVerifier::open(static_cast<int>(config.first_gpu + i)));
      all.verifiers_.push_back(std::move(verifier));
    }
    return all;
  }
  /// The sum over all GPUs; nullopt if there are none.
  std::optional<uint64_t> free_bytes() const {
    if (verifiers_.empty()) return std::nullopt;
    uint64_t sum = 0;
    for (const auto& verifier : verifiers_) sum += verifier->free_memory();
    return sum;
  }

 private:
  std::vector<std::shared_ptr<sandbox::GpuVerifier>> verifiers_;
};

nlohmann::json kinds_json(const FaultFigures& f) {
  nlohmann::json kinds = nlohmann::json::object();
  for (const auto& [name, kind] : f.kinds) {
    kinds[name] = {{"count", kind.count},
                   {"unexpected", kind.unexpected},
                   {"got", kind.got},
                   {"seconds", kind.ms / 1000}};
  }
  return kinds;
}

nlohmann::json to_json(const FaultFigures& f, const FaultsArguments& args) {
  const Leftovers& r = f.leftovers;
  return {{"contract", args.contract},
          {"slots", args.slots},
          {"seed", args.seed},
          {"meets_bars", f.meets_bars()},
          {"honest", f.honest},
          {"honest_equal", f.honest_equal},
          {"beside_faults", f.beside_faults},
          {"faults", f.faults()},
          {"unexpected", f.unexpected()},
          {"struck", f.killed},
          {"struck_equal", f.killed_equal},
          {"missed_strikes", f.missed},
          {"repeats", f.repeats},
          {"failures", f.failures},
          {"kinds", kinds_json(f)},
          {"refused_tasks", f.refused},
          {"differences", f.differences},
          {"free_bytes_before", nullable(r.free_bytes_before)},
          {"free_bytes_after", nullable(r.free_bytes_after)},
          {"zombies", r.zombies},
          {"processes_left", r.processes},
          {"groups_left", r.groups},
          {"files_left", r.files},
          {"processes_seen", f.processes_seen},
          {"seconds", f.seconds}};
}

std::string counts_text(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text.empty() ? "none" : text;
}

std::string to_text(const FaultFigures& f) {
  const Leftovers& r = f.leftovers;
  const auto number = [](auto value) { return std::to_string(value); };
  std::vector<BenchRow> rows{
      {"honest evaluations", number(f.honest), {}},
      {"of them during a fault", number(f.beside_faults), {}},
      {"same verdict as undisturbed", number(f.honest_equal), number(f.honest)},
      {"evaluations with a process killed", number(f.killed), {}},
      {"same verdict as undisturbed", number(f.killed_equal), number(f.killed)},
      {"faults", number(f.faults()), {}},
      {"with an unexpected verdict", number(f.unexpected()), "0"},
      {"infrastructure failures, retried", counts_text(f.failures), {}}};
  if (r.free_bytes_before) {
    rows.push_back({"device memory not returned", size_text(r.missing_bytes()),
                    "<= " + size_text(device_slack_bytes)});
  }
  rows.insert(rows.end(), {{"zombies", number(r.zombies.size()), "0"},
                           {"processes left", number(r.processes.size()), "0"},
                           {"control groups left", number(r.groups.size()), "0"},
                           {"files left", number(r.files.size()), "0"},
                           {"processes seen", number(f.processes_seen), {}},
                           {"wall time", fmt::format("{:.1f} s", f.seconds), {}}});
  for (const auto& [name, kind] : f.kinds) {
    const double mean_s = kind.ms / 1000 / static_cast<double>(std::max<int64_t>(kind.count, 1));
    rows.push_back(
        {"fault " + name, fmt::format("{}, {:.1f} s", counts_text(kind.got), mean_s), {}});
  }
  std::string out = table_of(rows);
  for (const auto& [task, why] : f.refused) {
    out.append("  left out: ").append(task).append(": ").append(why).append(1, '\n');
  }
  for (const std::string& line : f.differences) out += "  differs: " + line + '\n';
  for (const auto* left : {&r.zombies, &r.processes, &r.groups, &r.files}) {
    for (const std::string& line : *left) out += "  left: " + line + '\n';
  }
  return out;
}

/// Sets TMPDIR to a folder, for this process and those that it starts.
class PrivateTemporaries {
 public:
  explicit PrivateTemporaries(const OwnedFolder& folder) {
    if (const char* before = std::getenv(variable)) before_ = before;
    ::setenv(variable, folder.path().c_str(), 1);
  }
  ~PrivateTemporaries() {
    if (before_) {
      ::setenv(variable, before_->c_str(), 1);
    } else {
      ::unsetenv(variable);
    }
  }
  PrivateTemporaries(const PrivateTemporaries&) = delete;
  PrivateTemporaries& operator=(const PrivateTemporaries&) = delete;

 private:
  static constexpr const char* variable = "TMPDIR";
  std::optional<std::string> before_;
};

/// Reports how much Ctrl-C left undone, if anything, and returns the exit code.
ExitCode exit_code_of(const FaultFigures& figures, const FaultsArguments& args) {
  const bool whole = figures.honest >= args.evaluations && figures.faults() >= args.faults;
  if (whole) return figures.meets_bars() ? ExitCode::success : ExitCode::infrastructure;
  std::cerr << "stopped: " << figures.honest << " of " << args.evaluations
            << " honest evaluations, " << figures.faults() << " of " << args.faults << " faults\n";
  return ExitCode::interrupted;
}

ExitCode bench_faults(const FaultsArguments& args) {
  const SignalWait signals{stop_notice};
  auto load = load_of(args);
  if (!load) return report_unless_stopped(load.error(), signals);
  load->stop = [&] { return signals.arrived(); };
  const EndOnSignal end(signals);
  load->ender = end.ender();
  const SandboxConfig config = config_of(args);
  const auto slots = take_slots(config);
  if (!slots) return report(slots.error());
  // Files in the temporary folder are then those of the services.
  const auto folder = OwnedFolder::make_temporary();
  if (!folder) return report(folder.error());
  const PrivateTemporaries temporaries(*folder);
  const auto memories = DeviceMemories::open(config);
  if (!memories) return report(memories.error());
  const auto free_before = memories->free_bytes();
  auto figures = run_faults(*slots, *load);
  if (!figures) return report(figures.error());
  figures->leftovers.free_bytes_before = free_before;
  figures->leftovers.free_bytes_after = memories->free_bytes();
  std::cout << (args.json ? json_text(to_json(*figures, args)) + '\n' : to_text(*figures));
  return exit_code_of(*figures, args);
}

const char* const faults_footer =
    "Half of the slots judge honest kernels while the others get faults: submissions that crash,\n"
    "hang, take all memory or write out of bounds, and honest evaluations whose candidate,\n"
    "reference worker, compiler or service gets SIGKILL. Once --evaluations are done, all slots\n"
    "but one get faults. Every honest kernel is judged once before, undisturbed. After an\n"
    "infrastructure failure an evaluation is repeated, at most 5 times; its verdict must then be\n"
    "the undisturbed one: the same class and, if it passed, the same result of each input set. At\n"
    "the end no process, control group or unfinished file may be left, and all device memory must\n"
    "be returned. Ctrl-C ends with the figures so far.\n"
    "Exit codes: 0 every bar is met, 3 one is missed, 130 interrupted.";

}  // namespace

Command bench_faults_part() {
  return {
      "faults", "Random faults among honest evaluations: does any verdict change?",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<FaultsArguments>();
        app.add_option("--contract", args->contract, "Contract of the kernels")
            ->capture_default_str()
            ->check(CLI::IsMember({"cpu", "device"}));
        const auto number = [&](const char* name, int64_t& value, int64_t least, int64_t most,
                                const char* about) {
          app.add_option(name, value, about)->capture_default_str()->check(CLI::Range(least, most));
        };
        number("--evaluations", args->evaluations, 1, 100'000,
               "Least number of honest evaluations");
        number("--faults", args->faults, 1, 100'000, "Least number of faults");
        number("--kernels", args->kernels, 1, 100'000, "Most distinct honest kernels");
        number("--slots", args->slots, 2, 64, "Services; half of them for honest evaluations");
        number("--gpus", args->gpus, 1, 64, "GPUs that the slots of contract device share");
        app.add_option("--tasks", args->tasks, "Folder of tasks (default: the training tasks)")
            ->type_name("FOLDER");
        app.add_option("--seed", args->seed, "Seed of the order of faults and the moments of kills")
            ->capture_default_str();
        app.add_flag("--json", args->json, "Print one JSON object on standard output");
        app.footer(faults_footer);
        return [args] { return bench_faults(*args); };
      }};
}

}  // namespace warpsmith::commands
