// SPDX-License-Identifier: Apache-2.0
#include "commands/check/check_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/declared_shapes.hpp"
#include "commands/options.hpp"
#include "commands/slots.hpp"
#include "runtime/clock.hpp"
#include "runtime/message_text.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/workspace/solution.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

using sandbox::ContractEntry;
using std::chrono::seconds;

/// The contract that `matches`, the one registered last if several do, else the first of all.
const ContractEntry& matching_contract(const std::function<bool(const ContractEntry&)>& matches) {
  const auto& all = sandbox::all_contracts();
  const auto last = std::find_if(all.rbegin(), all.rend(),
                                 [&](const ContractEntry* entry) { return matches(*entry); });
  return last == all.rend() ? *all.front() : **last;
}

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " or ";
    text += names[i];
  }
  return text;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : " and ").append(name);
  return text;
}

/// One file of several suffices: the verdict names the missing ones, as an agent would read it.
bool has_file_of(const ContractEntry& entry, const fs::path& folder) {
  std::error_code error;
  return std::ranges::any_of(
      entry.files, [&](std::string_view file) { return fs::exists(folder / file, error); });
}

/// The contract of --contract, else the one that the solution's files imply.
const ContractEntry& contract_of(const CheckArguments& args, const fs::path& solution) {
  if (const ContractEntry* named = sandbox::find_contract(args.contract)) return *named;
  std::error_code error;
  if (fs::is_regular_file(solution, error)) {
    const std::string ending = solution.extension();
    return matching_contract([&](const ContractEntry& entry) {
      return std::ranges::find(entry.endings, ending) != entry.endings.end();
    });
  }
  return matching_contract(
      [&](const ContractEntry& entry) { return has_file_of(entry, solution); });
}

Result<void> check_exists(const CheckArguments& args, const fs::path& solution) {
  std::error_code error;
  if (fs::exists(solution, error)) return {};
  return fail(ErrorCode::not_found, solution.string() + ": no such file or folder; expected " +
                                        expected_files(args.contract));
}

/// Fails for a folder without a solution of the contract, or of any contract if none is named.
Result<void> check_has_solution(const CheckArguments& args, const fs::path& solution) {
  std::error_code error;
  if (!fs::is_directory(solution, error) || holds_solution(solution, args.contract)) return {};
  return fail(ErrorCode::not_found, solution.string() + ": expected " +
                                        expected_files(args.contract) + " in it, found none");
}

tl::unexpected<Error> refused_link(const fs::path& link, const std::string& what) {
  return fail(ErrorCode::invalid_argument,
              link.string() + ": symbolic links are not followed; copy the " + what);
}

/// Refuses symbolic links and special files. A solution is read as an agent's is, without following
/// links, so the content of links would be missing.
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
  TRY(const auto folder, sandbox::SafeFolder::open(place));
  TRY_VOID(refuse_special_files(place));
  if (fs::is_directory(place / required, error)) {
    return fail(ErrorCode::invalid_argument, (place / required).string() + ": expected a file");
  }
  auto files = sandbox::freeze_folder(folder, required, {});
  if (files) return files;
  const bool too_much = files.error().code == ErrorCode::capacity;
  return fail(too_much ? ErrorCode::invalid_argument : files.error().code,
              place.string() + ": " + files.error().message);
}

/// For a contract in which no single file is always required.
Result<FileSet> read_parts(const fs::path& place, const ContractEntry& contract) {
  std::error_code error;
  if (fs::exists(place, error) && !fs::is_directory(place, error)) {
    return fail(ErrorCode::invalid_argument, place.string() + ": contract " +
                                                 std::string(contract.name) +
                                                 " takes a folder with " + joined(contract.files));
  }
  for (const std::string_view name : contract.files) {
    if (!fs::is_directory(place / name, error)) continue;
    return fail(ErrorCode::invalid_argument, (place / name).string() + ": expected a file");
  }
  // If only some files exist, the verdict names the missing ones, as an agent would read it.
  const auto there = std::ranges::find_if(
      contract.files, [&](std::string_view name) { return fs::exists(place / name, error); });
  const bool none = there == contract.files.end();
  return read_folder(place, std::string(none ? contract.files.front() : *there));
}

/// A solution that is one file counts as the file that a folder must contain.
Result<FileSet> read_solution(const ContractEntry& contract, const fs::path& place) {
  if (contract.required_file.empty()) return read_parts(place, contract);
  std::string required{contract.required_file};
  std::error_code error;
  if (fs::is_directory(place, error)) return read_folder(place, required);
  if (fs::is_symlink(place, error)) return refused_link(place, "file");
  if (!fs::is_regular_file(place, error)) {
    return fail(ErrorCode::invalid_argument, place.string() + ": expected a file");
  }
  TRY(auto text, read_text_file(place, sandbox::SolutionLimits{}.bytes));
  return FileSet{{std::move(required), std::move(text)}};
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
  if (args.place.empty() && !args.task.empty()) {
    return fail(ErrorCode::invalid_argument,
                "check: the kernel is missing: expected its file, or a folder with it, after the "
                "task; for example: warpsmith check --task " +
                    args.task + " kernel.cpp");
  }
  if (args.place.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        "check: expected a folder with reference.py and solution/, or a task with --task "
        "and its kernel, got neither; for example: warpsmith check --task op.py kernel.cpp");
  }
  if (!args.task.empty()) return {};
  if (!fs::exists(args.place, error)) {
    return fail(ErrorCode::not_found, args.place +
                                          ": no such folder; expected one with reference.py and "
                                          "solution/");
  }
  if (!fs::is_regular_file(args.place, error)) return {};
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
  if (args.verify_only) return Request::verify;
  return args.compile_only ? Request::compile : Request::final;
}

/// The device on which the contract runs the task.
DeviceClass device_of(const ContractEntry& contract, const Task& task) {
  if (contract.runs_on == sandbox::RunsOn::task) return host_device(task);
  return contract.runs_on == sandbox::RunsOn::gpu ? DeviceClass::cuda : DeviceClass::cpu;
}

/// Names --timeout as the cause of a failure, if it is, with `last`, the newest progress line.
Judgement with_cause(Judgement judgement, seconds budget, SteadyClock::time_point began,
                     const std::string& last) {
  constexpr seconds reserve{1};  // kept by the sandbox program for its answer
  auto* failure = std::get_if<InfraFailure>(&judgement);
  if (failure == nullptr || failure->kind != InfraKind::deadline) return judgement;
  if (SteadyClock::now() - began + reserve < budget) return judgement;
  failure->detail = fmt::format("the {} s of --timeout ran out{}: {}", budget.count(),
                                last.empty() ? "" : " (" + last + ")", failure->detail);
  return judgement;
}

/// Adds to an error about a missing GPU the options that work without one.
Error with_alternatives(Error error, const SandboxConfig& config) {
  if (sandbox::contract_named(config.contract).explains && error.code == ErrorCode::unsupported) {
    error.message += "; --explain and --compile-only work without a GPU";
  }
  return error;
}

/// Compiling, explaining, and contract host on a task for CPUs need no GPU.
SandboxConfig config_of(const sandbox::EvaluateRequest& call, const CheckArguments& args) {
  SandboxConfig config;
  if (runs(call.want)) {
    config.contract = slot_contract(call.submission.contract, call.task.device);
    config.baselines = selected_baselines(args.baselines);
  }
  config.first_gpu = args.gpu;
  config.settings.numerics = enum_of<Numerics>(args.numerics).value();
  return config;
}

bool judged_by_task(const Submission& submission) {
  return sandbox::contract_named(submission.contract).runs_on == sandbox::RunsOn::task;
}

/// Reports the device, since the numbers depend on it.
std::string host_device_text(const sandbox::EvaluateRequest& call) {
  return "contract " + call.submission.contract + ": judged on " +
         std::string(call.task.device == DeviceClass::cuda ? "a GPU" : "the CPU");
}

/// The slot that judges the call.
Result<sandbox::SandboxOptions> slot_for(const CheckArguments& args,
                                         const sandbox::EvaluateRequest& call) {
  const SandboxConfig config = config_of(call, args);
  auto slots = take_slots(config);
  if (!slots) return tl::unexpected(with_alternatives(slots.error(), config));
  if (runs(call.want)) slots->front().keep_s = static_cast<uint32_t>(args.keep_s);
  return std::move(slots->front());
}

Judgement judge_on(const sandbox::SandboxOptions& slot, const sandbox::EvaluateRequest& call,
                   seconds budget, const std::shared_ptr<sandbox::EndSwitch>& ender,
                   const std::function<void(const std::string&)>& progress) {
  auto backend = service_backend(slot, ender)();
  if (!backend) return InfraFailure{InfraKind::sandbox_lost, backend.error().message};
  std::string last;
  (*backend)->on_progress([&last, &progress](const std::string& line) {
    last = line;
    progress(line);
  });
  if (runs(call.want) && judged_by_task(call.submission)) progress(host_device_text(call));
  const auto began = SteadyClock::now();
  auto judgement = (*backend)->evaluate(call, Deadline::after(budget));
  return with_advice(with_cause(std::move(judgement), budget, began, last));
}

}  // namespace

Result<void> check_contract_name(const std::string& name, const std::string& option) {
  if (name.empty() || sandbox::find_contract(name) != nullptr) return {};
  return fail(ErrorCode::invalid_argument,
              option + ' ' + name + ": expected " + alternatives(sandbox::contract_names()));
}

bool holds_solution(const fs::path& folder, const std::string& contract) {
  return std::ranges::any_of(sandbox::all_contracts(), [&](const ContractEntry* entry) {
    return (contract.empty() || entry->name == contract) && has_file_of(*entry, folder);
  });
}

std::string expected_files(const std::string& contract) {
  std::vector<std::string> names;
  for (const ContractEntry* entry : sandbox::all_contracts()) {
    if (!contract.empty() && entry->name != contract) continue;
    names.push_back(joined(entry->files) + " (contract " + std::string(entry->name) + ')');
  }
  return alternatives(names);
}

Result<sandbox::EvaluateRequest> check_call(const CheckArguments& args) {
  TRY_VOID(check_place(args));
  const fs::path place{args.place};
  const fs::path solution = args.task.empty() ? place / "solution" : place;
  TRY_VOID(check_contract_name(args.contract));
  TRY_VOID(check_exists(args, solution));
  const ContractEntry& contract = contract_of(args, solution);
  if (args.explain && !contract.explains) {
    return fail(ErrorCode::invalid_argument,
                "--explain: only contract device has a plan (solution/plan.toml), got contract " +
                    std::string(contract.name));
  }
  TRY_VOID(check_has_solution(args, solution));
  auto task =
      synthesis::load_task(args.task.empty() ? place / "reference.py" : fs::path{args.task});
  if (!task) return tl::unexpected(std::move(task.error()));
  task->device = device_of(contract, *task);
  const bool on_gpu = task->device == DeviceClass::cuda;
  if (wants_profile(args) && !on_gpu) {
    return fail(
        ErrorCode::invalid_argument,
        "--profile, --trace: contract " + std::string(contract.name) + " does not use a GPU here");
  }
  TRY(auto files, read_solution(contract, solution));
  if (runs(request_of(args)) && !on_gpu) {
    TRY_VOID(check_cpu_sources(files, *task));
  }
  sandbox::EvaluateRequest call;
  call.submission = {task->id, std::string(contract.name), std::move(files)};
  call.task = std::move(*task);
  call.want = request_of(args);
  return call;
}

std::string with_own_name(std::string text, const std::string& contract,
                          const std::string& solution) {
  const fs::path file{solution};
  const ContractEntry* entry = sandbox::find_contract(contract);
  if (entry == nullptr || entry->required_file.empty()) return text;
  if (std::ranges::find(entry->endings, file.extension().string()) == entry->endings.end()) {
    return text;
  }
  return with_file_name(std::move(text), entry->required_file, file.filename().string());
}

Judgement with_advice(Judgement judgement) {
  auto* failure = std::get_if<InfraFailure>(&judgement);
  if (failure == nullptr || failure->kind != InfraKind::noise) return judgement;
  failure->detail +=
      "\n  three attempts gave no stable times: stop other work on this machine and check again, "
      "or judge only correctness (check --verify-only, tool verify of mcp)";
  return judgement;
}

Result<JudgedShapes> judge_shapes(const CheckArguments& args, const sandbox::EvaluateRequest& call,
                                  const std::shared_ptr<sandbox::EndSwitch>& ender,
                                  const std::function<void(const std::string&)>& progress) {
  TRY(const auto slot, slot_for(args, call));
  JudgedShapes out;
  std::vector<DeclaredShape> shapes = declared_shapes(call.task);
  if (!runs(call.want)) shapes.resize(1);
  bool correct = true;
  for (DeclaredShape& shape : shapes) {
    if (!correct) {
      out.left_out.push_back(shape.function);
      continue;
    }
    sandbox::EvaluateRequest one = call;
    one.task = std::move(shape.task);
    one.submission.task_id = one.task.id;
    if (!out.judged.empty() && call.want == Request::profile) one.want = Request::final;
    out.judged.push_back(
        {shape.function, judge_on(slot, one, seconds{args.timeout_s}, ender, progress)});
    const auto* verdict = std::get_if<Verdict>(&out.judged.back().judgement);
    correct = verdict != nullptr && verdict->correct();
  }
  return out;
}

}  // namespace warpsmith::commands
