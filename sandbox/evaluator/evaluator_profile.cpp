// SPDX-License-Identifier: Apache-2.0
// What a right candidate ran on the GPU beside the baselines: for a task that takes custom kernels
// only, and for the request `profile`.
#include <algorithm>

#include "sandbox/contract/host/host_review.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
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

Result<CallKernels> Evaluator::State::kernels_of_call(const EvaluateRequest& request,
                                                      const IngestRecord& record,
                                                      const CandidateRun& run, Verdict& verdict,
                                                      Deadline deadline) {
  const PhaseClock clock(verdict.phase_ms, "profile");
  tell(request.task.id + ": profiling");
  // What comes up beside a recording would be in its times; a search waits for who holds the GPU.
  const auto ready = worker_with(request, record, deadline);
  const auto warm = warm_up(run, deadline);
  auto held = warm ? lease(deadline) : tl::unexpected(warm.error());
  if (!held) {
    const std::string& reason = held.error().message;
    return CallKernels{{.reason = reason}, not_known(reason)};
  }
  // A candidate may take all the time that is left.
  BaselineKernels baselines = kernels_of_baselines(request.task, ready, deadline);
  auto candidate = candidate_kernels(run, deadline);
  if (!candidate) return tl::unexpected(std::move(candidate.error()));
  if (*held) verdict.device_held_ms = verdict.device_held_ms.value_or(0) + (*held)->held_ms();
  return CallKernels{std::move(*candidate), std::move(baselines)};
}

Result<void> Evaluator::State::look_at_kernels(const EvaluateRequest& request,
                                               const IngestRecord& record, const CandidateRun& run,
                                               Verdict& verdict, Deadline deadline) {
  auto kernels = kernels_of_call(request, record, run, verdict, profile_deadline(deadline));
  if (!kernels) return tl::unexpected(std::move(kernels.error()));
  if (run.custom_kernels_only) {
    const PartyKernels& eager = kernels->baselines.eager;
    if (eager.kernels.empty()) {
      return tl::unexpected(
          Error{ErrorCode::infrastructure,
                "custom_kernels_only: no kernels can be recorded here: " + eager.reason});
    }
    forbid_library_kernels(kernels->candidate, verdict);
  }
  if (request.want == Request::profile && verdict.correct()) {
    add_profile(record, run, std::move(*kernels), verdict);
  }
  return {};
}

void Evaluator::State::add_profile(const IngestRecord& record, const CandidateRun& run,
                                   CallKernels kernels, Verdict& verdict) {
  const Profile profile{.candidate = std::move(kernels.candidate),
                        .eager = std::move(kernels.baselines.eager),
                        .compiled = std::move(kernels.baselines.compiled),
                        .self_recorded = run.staged,
                        .limits = gpu->device_limits(),
                        .machine = machine.limits,
                        .timed = verdict.shapes.front(),
                        .call_bytes = record.facts.bytes_moved,
                        .call_flops = record.facts.flops};
  verdict.feedback += '\n' + profile_text(profile);
  verdict.evidence = with_profile(verdict.evidence, profile);
}

}  // namespace warpsmith::sandbox
