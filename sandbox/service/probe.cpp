// SPDX-License-Identifier: Apache-2.0
// Probes the jail of this machine with a contestant of contract cpu. A separate source: the server
// itself names no contract (scripts/lib/check_contracts.py).
#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/service/server.hpp"

namespace warpsmith::sandbox {
namespace {

/// Fails with bubblewrap's message and the remedy if this machine can make no jail. A contestant's
/// own jail keeps no messages.
Result<void> make_any_jail(Deadline deadline) {
  JailSpec spec = compile_jail();
  spec.argv = {"/bin/true"};
  const auto exit = run_jailed(spec, deadline);
  return exit ? Result<void>{} : tl::unexpected(exit.error());
}

}  // namespace

Result<std::map<std::string, std::string>> probe_run_jail(const std::string& runner,
                                                          Deadline deadline) {
  TaskSignature signature;
  signature.tensors.push_back({"x", TensorRole::input, Dtype::f32, {16}, {"n"}});
  signature.tensors.push_back({"y", TensorRole::output, Dtype::f32, {16}, {"n"}});
  const BufferLayout layout = make_layout(signature, 1);
  auto inputs = SharedBuffers::inputs(layout);
  if (!inputs) return fail("probe", std::move(inputs.error()));
  auto outputs = SharedBuffers::outputs(layout);
  if (!outputs) return fail("probe", std::move(outputs.error()));
  TRY_VOID(make_any_jail(deadline));
  const CpuContestantSpec spec{
      runner, "no artefact", {16}, candidate_memory(*inputs, *outputs), {}, {}, 1};
  auto contestant = start_cpu_contestant(spec, deadline);
  if (!contestant) return tl::unexpected(error_of(std::move(contestant.error())));
  return contestant->process().report();
}

}  // namespace warpsmith::sandbox
