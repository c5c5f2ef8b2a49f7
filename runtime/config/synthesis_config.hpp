// SPDX-License-Identifier: Apache-2.0
// [synthesis]: the sources of tasks and the order in which they are drawn.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

/// Chooses the next task.
enum class Curriculum : uint8_t {
  rounds,    // each task once per shuffled round
  headroom,  // tasks with much reward left to gain more often
};

struct SynthesisConfig {
  std::vector<std::filesystem::path> tasks;     // folders or files in KernelBench's format
  std::vector<std::filesystem::path> held_out;  // never trained on; the default tasks of `eval`
  Curriculum curriculum = Curriculum::rounds;
  int64_t max_tasks = 100'000;  // size of the pool; further tasks are left out, and logged
};

void describe(Fields& fields, SynthesisConfig& c);
void validate(const SynthesisConfig& c, Complaints& complaints);

}  // namespace warpsmith
