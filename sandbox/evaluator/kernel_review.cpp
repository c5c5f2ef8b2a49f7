// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/kernel_review.hpp"

#include <algorithm>

#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The verdict exists already: it waits no longer than this for a profile, and still reaches its
// caller.
constexpr seconds profile_patience{60}, answer_reserve{3};

Deadline profile_deadline(Deadline deadline) {
  const auto left = deadline.left() - answer_reserve;
  return Deadline::after(std::clamp<milliseconds>(left, milliseconds{0}, profile_patience));
}

}  // namespace

bool KernelReview::is_wanted(const Verdict& verdict) const {
  const bool asked =
      judged_.request.want == Request::profile || judged_.candidate.reviews_kernels();
  return slot_.gpu() != nullptr && asked && verdict.correct();
}

OrFailure<PartyKernels> KernelReview::candidate_kernels(Deadline deadline) {
  const uint64_t free_before = slot_.gpu()->free_memory();
  auto recorded = judged_.candidate.record(slot_.place(), deadline);
  if (recorded) return recorded;
  if (auto well = slot_.gpu()->check_health(free_before, deadline); !well) {
    return tl::unexpected(std::move(well.error()));
  }
  const bool by_candidate = recorded.error().blame == Blame::candidate;
  if (judged_.candidate.reviews_kernels() && !by_candidate) return recorded;
  return PartyKernels{.reason = std::move(recorded.error().message)};
}

OrFailure<KernelReview::CallKernels> KernelReview::record_call(const IngestRecord& record,
                                                               Verdict& verdict,
                                                               Deadline deadline) {
  const Task& task = judged_.request.task;
  const PhaseClock clock(verdict.phase_ms, "profile");
  slot_.tell(task.id + ": profiling");
  // All processes are warm before the lease, or starting them would show in the recorded times.
  const auto ready = tasks_.worker_with(judged_.request, record, deadline);
  const auto warm = judged_.contract.warm_up(deadline);
  auto held = warm ? OrFailure<std::optional<DeviceLease>>{slot_.lease(deadline)}
                   : tl::unexpected(warm.error());
  if (!held && judged_.candidate.reviews_kernels()) return tl::unexpected(std::move(held.error()));
  if (!held) {
    const std::string& reason = held.error().message;
    return CallKernels{{.reason = reason}, {{.reason = reason}, {.reason = reason}}};
  }
  // The baselines come first: a candidate may take all the time that is left.
  BaselineKernels baselines = tasks_.baseline_kernels(task, ready, deadline);
  auto candidate = candidate_kernels(deadline);
  if (!candidate) return tl::unexpected(std::move(candidate.error()));
  if (*held) verdict.device_held_ms = verdict.device_held_ms.value_or(0) + (*held)->held_ms();
  return CallKernels{std::move(*candidate), std::move(baselines)};
}

OrFailure<void> KernelReview::apply(const IngestRecord& record, Verdict& verdict,
                                    Deadline deadline) {
  auto kernels = record_call(record, verdict, profile_deadline(deadline));
  if (!kernels) return tl::unexpected(std::move(kernels.error()));
  if (judged_.candidate.reviews_kernels()) {
    const PartyKernels& eager = kernels->baselines.eager;
    if (eager.kernels.empty()) {
      return fail(ErrorCode::process_failed,
                  "custom_kernels_only: no kernels can be recorded here: " + eager.reason);
    }
    judged_.candidate.review_kernels(kernels->candidate, verdict);
  }
  if (judged_.request.want == Request::profile && verdict.correct()) {
    add_profile(record, std::move(*kernels), verdict);
  }
  return {};
}

void KernelReview::add_profile(const IngestRecord& record, CallKernels kernels,
                               Verdict& verdict) const {
  const Profile profile{.candidate = std::move(kernels.candidate),
                        .eager = std::move(kernels.baselines.eager),
                        .compiled = std::move(kernels.baselines.compiled),
                        .self_recorded = judged_.entry.staged,
                        .limits = slot_.gpu()->device_limits(),
                        .machine = slot_.machine().limits,
                        .timed = verdict.shapes.front(),
                        .call_bytes = record.facts.bytes_moved,
                        .call_flops = record.facts.flops};
  verdict.feedback += '\n' + profile_text(profile);
  verdict.evidence = with_profile(verdict.evidence, profile);
}

}  // namespace warpsmith::sandbox
