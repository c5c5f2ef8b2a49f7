// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu_contestant.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "runtime/codec.hpp"
#include "runtime/process/child.hpp"
#include "sandbox/commit/runner_plan.hpp"
#include "sandbox/jail/process_state.hpp"

namespace warpsmith::sandbox {
namespace {

/// Files that the runner needs to come alive: itself, the loader and its libraries, as the program
/// itself lists them.
Result<std::vector<std::string>> runner_files(const std::string& runner) {
  static std::map<std::string, std::vector<std::string>> known;
  if (const auto found = known.find(runner); found != known.end()) return found->second;
  ChildSpec ask;
  ask.argv = {runner, "libraries"};
  const auto answer = run_child(ask, Deadline::after(std::chrono::seconds{30}));
  if (!answer) return fail("runner " + runner, answer.error());
  if (answer->exit_code != 0) {
    return fail(ErrorCode::process_failed,
                "runner " + runner + " does not list its libraries: " + answer->err);
  }
  std::vector<std::string> files;
  std::stringstream lines(answer->out);
  for (std::string line; std::getline(lines, line);) files.push_back(line);
  return known[runner] = std::move(files);
}

/// Where the loader must look besides its own places: libraries of a host that unpacked them
/// itself.
std::string search_path_of(const std::vector<std::string>& files) {
  std::set<std::string> folders;
  for (const std::string& file : files) {
    const bool found_anyway = file.starts_with("/lib") || file.starts_with("/usr/lib");
    if (!found_anyway) folders.insert(std::filesystem::path(file).parent_path().string());
  }
  std::string path;
  for (const std::string& folder : folders) path += (path.empty() ? "" : ":") + folder;
  return path;
}

Result<JailSpec> runner_jail(const CpuContestantSpec& spec) {
  auto files = runner_files(spec.runner);
  if (!files) return tl::unexpected(std::move(files.error()));
  JailSpec jail;
  jail.kind = JailKind::run;
  jail.argv = {"/runner", "runner"};
  jail.read_only.push_back({spec.runner, "/runner"});
  for (const std::string& file : *files) jail.read_only.push_back({file, file});
  if (const std::string path = search_path_of(*files); !path.empty()) {
    jail.environment["LD_LIBRARY_PATH"] = path;
  }
  jail.files[runner_artefact_path] = spec.artefact;
  jail.core = spec.core;
  jail.limits = spec.limits;
  jail.limits.tmp_bytes = 0;
  return jail;
}

}  // namespace

Result<Contestant> start_cpu_contestant(const CpuContestantSpec& spec, Deadline deadline) {
  auto jail = runner_jail(spec);
  if (!jail) return tl::unexpected(std::move(jail.error()));
  auto control = ControlMemory::create();
  if (!control) return tl::unexpected(std::move(control.error()));
  const ByteBuffer bytes = codec::pack(RunnerPlan{spec.inputs.layout(), spec.dims});
  const auto plan = MemoryFile::sealed_copy("plan", {bytes.data(), bytes.size()});
  if (!plan) return tl::unexpected(plan.error());
  jail->descriptors = {{runner_control_fd, control->fd()},
                       {runner_inputs_fd, spec.inputs.fd()},
                       {runner_outputs_fd, spec.outputs.fd()},
                       {runner_plan_fd, plan->fd()}};
  auto process = JailedProcess::start(*jail);
  if (!process) return tl::unexpected(std::move(process.error()));
  auto contestant = Contestant::adopt(std::move(*process), std::move(*control), deadline);
  if (!contestant) return contestant;
  if (auto seen = contestant->process().observe(); !seen) return tl::unexpected(seen.error());
  const pid_t runner = contestant->process().pid();
  if (auto limited = limit_addresses(runner, spec.limits.memory_bytes); !limited) {
    return tl::unexpected(std::move(limited.error()));
  }
  if (auto done = contestant->confine(deadline); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  // Under the filter that the candidate's calls will pass.
  if (auto done = contestant->calibrate(spec.calibration_calls, deadline); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  return contestant;
}

}  // namespace warpsmith::sandbox
