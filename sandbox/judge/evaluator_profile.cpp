// SPDX-License-Identifier: Apache-2.0
// The request `profile` beyond verifying and timing: what ran on the GPU, for agents and people.
#include <algorithm>

#include "sandbox/judge/evaluator_state.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The verdict is there already: it never waits longer for a profile, and reaches its caller.
constexpr seconds profile_patience{60}, answer_reserve{3};

Deadline profile_deadline(Deadline deadline) {
  const auto left = deadline.left() - answer_reserve;
  return Deadline::after(std::clamp<milliseconds>(left, milliseconds{0}, profile_patience));
}

/// Of parties that have none.
BaselineKernels not_known(const std::string& reason) {
  return {{.reason = reason}, {.reason = reason}};
}

}  // namespace

Result<PartyKernels> Evaluator::State::candidate_kernels(const CandidateRun& run,
                                                         Deadline deadline) {
  if (!run.record) return PartyKernels{.reason = "kernels of this contract are not recorded"};
  const uint64_t free_before = gpu->free_memory();
  auto recorded = run.record(*bench, deadline);
  if (recorded) return recorded;
  if (auto well = gpu->check_health(free_before, deadline); !well) {
    return tl::unexpected(std::move(well.error()));
  }
  return PartyKernels{.reason = std::move(recorded.error().message)};
}

BaselineKernels Evaluator::State::kernels_of_baselines(const Task& task,
                                                       const Result<ReferenceWorker*>& ready,
                                                       Deadline deadline) {
  const std::string key = task_key(task);
  if (const auto known = tasks.baseline_kernels.find(key); known != tasks.baseline_kernels.end()) {
    return known->second;
  }
  auto told = ready ? (*ready)->profile(task, deadline)
                    : Result<BaselineKernels>{tl::unexpected(ready.error())};
  if (told) return tasks.baseline_kernels.emplace(key, std::move(*told)).first->second;
  if (told.error().code != ErrorCode::invalid_argument) worker.reset();  // its state is unknown
  return not_known(told.error().message);
}

Result<void> Evaluator::State::add_profile(const EvaluateRequest& request,
                                           const IngestRecord& record, const CandidateRun& run,
                                           Verdict& verdict, Deadline deadline) {
  const PhaseClock clock(verdict.phase_ms, "profile");
  tell(request.task.id + ": profiling");
  const Deadline by = profile_deadline(deadline);
  Profile profile{.limits = gpu->device_limits(),
                  .machine = machine.limits,
                  .timed = verdict.shapes.front(),
                  .call_bytes = record.facts.bytes_moved,
                  .call_flops = record.facts.flops};
  profile.candidate_tells = run.staged;
  BaselineKernels baselines;
  // What comes up beside a recording would be in its times; a search waits for who holds the GPU.
  const auto ready = worker_with(request, record, by);
  const auto warm = warm_up(run, by);
  auto held = warm ? lease(by) : tl::unexpected(warm.error());
  if (!held) {
    profile.candidate.reason = held.error().message;
    baselines = not_known(held.error().message);
  } else {
    auto candidate = candidate_kernels(run, by);
    if (!candidate) return tl::unexpected(std::move(candidate.error()));
    profile.candidate = std::move(*candidate);
    baselines = kernels_of_baselines(request.task, ready, by);
    if (*held) verdict.device_held_ms = verdict.device_held_ms.value_or(0) + (*held)->held_ms();
  }
  profile.eager = std::move(baselines.eager);
  profile.compiled = std::move(baselines.compiled);
  verdict.feedback += '\n' + profile_text(profile);
  verdict.evidence = with_profile(verdict.evidence, profile);
  return {};
}

}  // namespace warpsmith::sandbox
