// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_contestant.hpp"

#include "runtime/codec.hpp"
#include "sandbox/contract/cpu/runner_plan.hpp"
#include "sandbox/jail/own_program.hpp"
#include "sandbox/jail/process_state.hpp"

namespace warpsmith::sandbox {
namespace {

Result<JailSpec> runner_jail(const CpuContestantSpec& spec) {
  JailSpec jail;
  jail.kind = JailKind::run;
  jail.argv = {own_program_path, "runner"};
  if (auto added = add_own_program(jail, spec.runner); !added) {
    return tl::unexpected(std::move(added.error()));
  }
  jail.files[runner_artefact_path] = spec.artefact;
  jail.cores = pinned_to(spec.core);
  jail.limits = spec.limits;
  jail.limits.tmp_bytes = 0;
  return jail;
}

}  // namespace

OrFailure<Contestant> start_cpu_contestant(const CpuContestantSpec& spec, Deadline deadline) {
  auto jail = runner_jail(spec);
  if (!jail) return tl::unexpected(std::move(jail.error()));
  auto control = ControlMemory::create();
  if (!control) return tl::unexpected(std::move(control.error()));
  const ByteBuffer bytes = codec::pack(RunnerPlan{spec.memory.layout, spec.dims});
  const auto plan = MemoryFile::sealed_copy("plan", {bytes.data(), bytes.size()});
  if (!plan) return tl::unexpected(plan.error());
  jail->descriptors = {{runner_control_fd, control->fd()},
                       {runner_inputs_fd, spec.memory.inputs},
                       {runner_outputs_fd, spec.memory.outputs},
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
  // After `confine`, so that no-ops pass the same filter as the candidate's calls.
  if (auto done = contestant->calibrate(spec.calibration_calls, deadline); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  return contestant;
}

}  // namespace warpsmith::sandbox
