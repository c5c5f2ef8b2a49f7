// SPDX-License-Identifier: Apache-2.0
// A correct candidate's kernels beside those of eager and of torch.compile, and what the whole call
// achieves: text for the agent, JSON and a trace for people. Pure.
#pragma once

#include <optional>
#include <string>

#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/profile/occupancy.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

struct Profile {
  PartyKernels candidate, eager, compiled;
  bool candidate_tells = false;  // its own process recorded it: nothing may rest on that
  DeviceLimits limits;
  MachineLimits machine;  // as this device was measured
  ShapeResult timed;      // the call as it was timed, without a profiler
  double call_bytes = 0;  // that the call must move at least: inputs, parameters, outputs
  double call_flops = 0;  // of the reference; 0: unknown
};

/// Bytes that the text may take.
inline constexpr size_t profile_text_bytes = 3200;

/// Statistics only: every party's longest kernels, equal ones together, each beside the roofline
/// where it was counted, then the whole call. Lines, each ends with a newline.
std::string profile_text(const Profile& profile);

/// Every kernel with all facts; null where nothing was measured.
std::string profile_json(const Profile& profile);

/// The evidence of a verdict (a JSON object) with the profile in it, under "profile".
std::string with_profile(const std::string& evidence, const Profile& profile);

/// The profile of a verdict's evidence as JSON; nothing where it holds none.
std::optional<std::string> profile_of_evidence(const std::string& evidence);

/// Chrome trace events of what `profile_json` gave, as Perfetto opens them: candidate, eager and
/// torch.compile are processes, each kernel is a complete event. `parse_failed` for other JSON.
Result<std::string> profile_trace(const std::string& profile_json);

}  // namespace warpsmith::sandbox
