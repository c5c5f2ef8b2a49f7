// SPDX-License-Identifier: Apache-2.0
#include "commands/check/judge_call.hpp"

#include "commands/baselines_option.hpp"
#include "commands/slots.hpp"
#include "actors/sandbox/service_backend.hpp"
#include "runtime/clock.hpp"
#include "sandbox/contract/registry.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

using std::chrono::seconds;

/// Names --timeout as the cause of a failure, if it is, with `last`, the newest progress line.
Judgement with_cause(Judgement judgement, seconds budget, SteadyClock::time_point began,
                     const std::string& last) {
  constexpr seconds reserve{1};  // kept by the sandbox program for its answer
  auto* failure = std::get_if<InfraFailure>(&judgement);
  if (failure == nullptr || failure->kind != InfraKind::deadline) return judgement;
  if (SteadyClock::now() - began + reserve < budget) return judgement;
  failure->detail = "the " + std::to_string(budget.count()) + " s of --timeout ran out" +
                    (last.empty() ? "" : " (" + last + ")") + ": " + failure->detail;
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
SandboxConfig config_of(const EvaluateCall& call, const CheckArguments& args) {
  SandboxConfig config;
  if (runs(call.request)) {
    config.contract = slot_contract(call.submission.contract, call.task.device);
    config.baselines = selected_baselines(args.baselines);
  }
  config.first_gpu = args.gpu;
  config.numerics = args.numerics;
  return config;
}

bool judged_by_task(const Submission& submission) {
  return sandbox::contract_named(submission.contract).runs_on == sandbox::RunsOn::task;
}

/// Reports the device, since the numbers depend on it.
std::string host_device_text(const EvaluateCall& call) {
  return "contract " + call.submission.contract + ": judged on " +
         std::string(call.task.device == DeviceClass::cuda ? "a GPU" : "the CPU");
}

Judgement judge_on(const sandbox::SandboxOptions& slot, const EvaluateCall& call, seconds budget,
                   const std::shared_ptr<sandbox::EndSwitch>& ender,
                   const std::function<void(const std::string&)>& progress) {
  auto backend = service_backend(slot, ender)();
  if (!backend) return InfraFailure{InfraKind::sandbox_lost, backend.error().message};
  std::string last;
  (*backend)->on_progress([&last, &progress](const std::string& line) {
    last = line;
    progress(line);
  });
  if (runs(call.request) && judged_by_task(call.submission)) progress(host_device_text(call));
  const auto began = SteadyClock::now();
  auto judgement = (*backend)->evaluate(call.task, call.submission, call.request, budget);
  return with_advice(with_cause(std::move(judgement), budget, began, last));
}

}  // namespace

Judgement with_advice(Judgement judgement) {
  auto* failure = std::get_if<InfraFailure>(&judgement);
  if (failure == nullptr || failure->kind != InfraKind::noise) return judgement;
  failure->detail +=
      "\n  three attempts gave no stable times: end other work on this machine and check again, "
      "or judge correctness alone with --verify-only";
  return judgement;
}

Result<Judgement> judge_call(const CheckArguments& args, const EvaluateCall& call,
                             const std::shared_ptr<sandbox::EndSwitch>& ender,
                             const std::function<void(const std::string&)>& progress) {
  const SandboxConfig config = config_of(call, args);
  auto slots = take_slots(config);
  if (!slots) return tl::unexpected(with_alternatives(slots.error(), config));
  if (runs(call.request)) slots->front().keep_s = static_cast<uint32_t>(args.keep_s);
  return judge_on(slots->front(), call, seconds{args.timeout_s}, ender, progress);
}

}  // namespace warpsmith::commands
