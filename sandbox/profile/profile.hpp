// SPDX-License-Identifier: Apache-2.0
// A correct candidate's kernels beside those of eager and of torch.compile, and the rates of the
// whole call: text for the agent, JSON and a trace for people.
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
  bool self_recorded = false;  // by the candidate's own process: not trustworthy
  DeviceLimits limits;
  MachineLimits machine;  // measured on this device
  ShapeResult timed;      // the call as timed without a profiler
  double call_bytes = 0;  // least that the call must move: inputs, parameters, outputs
  double call_flops = 0;  // of the reference; 0: unknown
};

/// Limit of the text's length.
inline constexpr size_t profile_text_bytes = 3200;

/// Statistics only, in lines that end with a newline: each party's longest kernels with equal ones
/// merged, each with its roofline shares where it was counted; then the whole call.
std::string profile_text(const Profile& profile);

/// Every kernel with all its facts; null where a fact was not measured.
std::string profile_json(const Profile& profile);

/// A verdict's evidence (a JSON object) with the profile added under "profile".
std::string with_profile(const std::string& evidence, const Profile& profile);

/// The profile in a verdict's evidence, as JSON; empty where there is none.
std::optional<std::string> profile_of_evidence(const std::string& evidence);

/// Converts the result of `profile_json` to Chrome trace events for Perfetto: candidate, eager and
/// torch.compile are processes, and each kernel is a complete event. `parse_failed` for other JSON.
Result<std::string> profile_trace(const std::string& profile_json);

}  // namespace warpsmith::sandbox
