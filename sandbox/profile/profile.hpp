// SPDX-License-Identifier: Apache-2.0
// A correct candidate's kernels compared with those of eager and of torch.compile, and the rates of
// the whole call: text for the agent, JSON and a trace for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/profile/occupancy.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

struct Profile {
  CallKernels candidate, eager, compiled;
  bool self_recorded = false;  // by the candidate's own process: not trustworthy
  DeviceLimits limits;
  MachineLimits machine;  // measured on this device
  ShapeResult timed;      // the call as timed without a profiler
  double call_bytes = 0;  // least that the call must move: inputs, parameters, outputs
  double call_flops = 0;  // of the reference; 0: unknown
};

/// Limit of the text's length.
inline constexpr size_t profile_text_bytes = 3200;

/// Statistics only, in lines that end with a newline: each side's longest kernels with equal ones
/// merged, each with its roofline shares where it was counted; then the whole call.
std::string profile_text(const Profile& profile);

/// Every kernel with all its facts; null if a fact was not measured.
std::string profile_json(const Profile& profile);

/// A verdict's evidence (a JSON object) with the profile added under "profile".
std::string with_profile(const std::string& evidence, const Profile& profile);

/// The profile in a verdict's evidence, as JSON; empty if there is none.
std::optional<std::string> profile_of_evidence(const std::string& evidence);

/// Converts the result of `profile_json` to Chrome trace events for Perfetto: candidate, eager and
/// torch.compile are processes, and each kernel is a complete event. `parse_failed` for other JSON.
Result<std::string> profile_trace(const std::string& profile_json);

// Kernels of a candidate of contract `host` are classified by their names. The candidate chooses
// the names, so this protects against nothing.

/// True for cuBLAS, cuDNN, CUTLASS as instantiated in libraries, ATen and inductor.
bool is_library_kernel(std::string_view name);

/// True for torch kernels that only fill, copy or concatenate tensors.
bool is_moving_kernel(std::string_view name);

/// The share of the candidate's own kernels in the device time of a call; copies and fills do not
/// count as its own. Empty unless the candidate recorded the call itself.
std::optional<double> own_share(const Profile& profile);

}  // namespace warpsmith::sandbox
