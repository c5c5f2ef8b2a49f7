// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/check_input.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "actors/commands/slots.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/contract/cpu/cpu_contract.hpp"
#include "sandbox/contract/host/host_submission.hpp"
#include "sandbox/plan/plan.hpp"
#include "sandbox/workspace/solution.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> contracts{"cpu", "device", "host"};

/// The contract of a solution that is one file.
std::string contract_of_file(const fs::path& file) {
  const std::string extension = file.extension();
  if (extension == ".py") return "host";
  return extension == ".cu" || extension == ".toml" ? "device" : "cpu";
}

/// The contract of --contract, else the one that the solution's files imply.
Result<std::string> contract_of(const CheckArguments& args, const fs::path& solution) {
  if (std::ranges::find(contracts, args.contract) != contracts.end()) return args.contract;
  if (!args.contract.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--contract " + args.contract + ": expected cpu, device or host");
  }
  std::error_code error;
  if (!fs::exists(solution, error)) {
    return fail(ErrorCode::not_found, solution.string() + ": no such file or folder");
  }
  if (fs::is_regular_file(solution, error)) return contract_of_file(solution);
  const auto holds = [&](const char* name) { return fs::exists(solution / name, error); };
  if (holds(sandbox::host_module_file)) return "host";
  return holds(sandbox::plan_file) || holds(sandbox::device_source_file) ? "device" : "cpu";
}

tl::unexpected<Error> refused_link(const fs::path& link, const std::string& what) {
  return fail(ErrorCode::invalid_argument,
              link.string() + ": symbolic links are not followed; copy the " + what);
}

/// Refuses symbolic links and special files. A solution is taken as an agent's is, which follows no
/// links, so their content would be missing.
Result<void> refuse_special_files(const fs::path& place) {
  constexpr int most_entries = 1024;
  std::error_code error;
  int seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place, error)) {
    if (++seen > most_entries) break;
    if (entry.is_symlink(error)) return refused_link(entry.path(), "file");
    if (entry.is_regular_file(error) || entry.is_directory(error)) continue;
    return fail(ErrorCode::invalid_argument, entry.path().string() + ": expected a file");
  }
  return {};
}

/// Reads a folder, which must contain the file `required`.
Result<FileSet> read_folder(const fs::path& place, const std::string& required) {
  std::error_code error;
  if (fs::is_symlink(place, error)) return refused_link(place, "folder");
  const auto folder = sandbox::SafeFolder::open(place);
  if (!folder) return tl::unexpected(folder.error());
  if (auto plain = refuse_special_files(place); !plain) {
    return tl::unexpected(std::move(plain.error()));
  }
  if (fs::is_directory(place / required, error)) {
    return fail(ErrorCode::invalid_argument, (place / required).string() + ": expected a file");
  }
  auto files = sandbox::freeze_folder(*folder, required, {});
  if (files) return files;
  const bool too_much = files.error().code == ErrorCode::capacity;
  return fail(too_much ? ErrorCode::invalid_argument : files.error().code,
              place.string() + ": " + files.error().message);
}

Result<FileSet> read_device(const fs::path& place) {
  std::error_code error;
  if (fs::exists(place, error) && !fs::is_directory(place, error)) {
    return fail(ErrorCode::invalid_argument,
                place.string() + ": contract device takes a folder with plan.toml and kernels.cu");
  }
  for (const char* name : {sandbox::plan_file, sandbox::device_source_file}) {
    if (!fs::is_directory(place / name, error)) continue;
    return fail(ErrorCode::invalid_argument, (place / name).string() + ": expected a file");
  }
  // If only the kernels are there, the verdict reports the missing plan, as it does to an agent.
  const bool kernels_alone = fs::exists(place / sandbox::device_source_file, error) &&
                             !fs::exists(place / sandbox::plan_file, error);
  return read_folder(place, kernels_alone ? sandbox::device_source_file : sandbox::plan_file);
}

/// Reads a solution of contract `cpu` or `host`; a single file stands for the required one.
Result<FileSet> read_module(const fs::path& place, const char* required) {
  if (fs::is_directory(place)) return read_folder(place, required);
  auto text = read_text_file(place, sandbox::SolutionLimits{}.bytes);
  if (!text) return tl::unexpected(std::move(text.error()));
  return FileSet{{required, std::move(*text)}};
}

Result<FileSet> read_solution(const std::string& contract, const fs::path& place) {
  if (contract == "device") return read_device(place);
  return read_module(place,
                     contract == "host" ? sandbox::host_module_file : sandbox::cpu_source_file);
}

/// Fails for CUDA sources.
Result<void> check_cpu_sources(const FileSet& files, const Task& task) {
  const auto is_source = [](const auto& file) { return file.first.ends_with(".cu"); };
  const auto source = std::ranges::find_if(files, is_source);
  if (source == files.end()) return {};
  const auto named = synthesis::named_device(task.code);
  const std::string why = named && *named ? task.source + " has DEVICE = \"cpu\""
                                          : std::string("this machine has none");
  return fail(ErrorCode::unsupported,
              source->first + " needs a GPU, but " + why + "; --compile-only works without one");
}

/// Checks that `place` is a folder, or with --task any name.
Result<void> check_place(const CheckArguments& args) {
  std::error_code error;
  if (args.place.empty()) {
    return fail(ErrorCode::invalid_argument, "check: expected a folder, got an empty name");
  }
  if (!args.task.empty() || !fs::is_regular_file(args.place, error)) return {};
  return fail(ErrorCode::invalid_argument,
              args.place +
                  ": expected a folder with reference.py and solution/, got a file; to judge one "
                  "file, name its task with --task FILE");
}

bool wants_profile(const CheckArguments& args) {
  return !args.profile.empty() || !args.trace.empty();
}

Request request_of(const CheckArguments& args) {
  if (args.explain) return Request::explain;
  if (wants_profile(args)) return Request::profile;
  return args.compile_only ? Request::compile : Request::final;
}

}  // namespace

Result<EvaluateCall> check_call(const CheckArguments& args) {
  if (auto named = check_place(args); !named) return tl::unexpected(std::move(named.error()));
  const fs::path place{args.place};
  const fs::path solution = args.task.empty() ? place / "solution" : place;
  auto contract = contract_of(args, solution);
  if (!contract) return tl::unexpected(std::move(contract.error()));
  if (args.explain && *contract != "device") {
    return fail(ErrorCode::invalid_argument,
                "--explain: only contract device has a plan (solution/plan.toml), got contract " +
                    *contract);
  }
  auto task =
      synthesis::load_task(args.task.empty() ? place / "reference.py" : fs::path{args.task});
  if (!task) return tl::unexpected(std::move(task.error()));
  if (*contract == "host") task->device = host_device(*task);
  const bool on_gpu = *contract == "device" || task->device == DeviceClass::cuda;
  if (wants_profile(args) && !on_gpu) {
    return fail(ErrorCode::invalid_argument,
                "--profile, --trace: contract " + *contract + " does not use a GPU here");
  }
  auto files = read_solution(*contract, solution);
  if (!files) return tl::unexpected(std::move(files.error()));
  if (runs(request_of(args)) && !on_gpu) {
    if (auto able = check_cpu_sources(*files, *task); !able)
      return tl::unexpected(std::move(able.error()));
  }
  EvaluateCall call;
  call.submission = {task->id, std::move(*contract), std::move(*files)};
  call.task = std::move(*task);
  call.request = request_of(args);
  return call;
}

}  // namespace warpsmith::actors
