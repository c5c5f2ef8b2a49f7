// SPDX-License-Identifier: Apache-2.0
// What the runner gets at its start, and the numbers of its descriptors.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

inline constexpr int runner_control_fd = 3;
inline constexpr int runner_inputs_fd = 4;
inline constexpr int runner_outputs_fd = 5;
inline constexpr int runner_plan_fd = 6;  // sealed bytes of a RunnerPlan
inline constexpr const char* runner_artefact_path = "/kernel.so";

struct RunnerPlan {
  BufferLayout layout;
  std::vector<int64_t> dims;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(layout, dims);
  }
  /// Every tensor lies within its memory.
  Result<void> validate() const;
};

/// Pointers that `solve` gets for one set.
struct SetPointers {
  std::vector<const void*> in;
  std::vector<void*> out;
};
/// Requires a valid plan and mappings of the layout's total sizes.
std::vector<SetPointers> pointers_of(const RunnerPlan& plan, std::byte* inputs, std::byte* outputs);

/// The runner's main function: maps the memories and serves commands. Returns the exit code.
int run_runner();

}  // namespace warpsmith::sandbox
