// SPDX-License-Identifier: Apache-2.0
// [synthesis]: where tasks come from and how they are drawn.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

/// Which task comes next.
enum class Curriculum : uint8_t {
  rounds,    // each once per shuffled round
  headroom,  // more often where much reward is left to gain
};

struct SynthesisConfig {
  std::vector<std::filesystem::path> tasks;     // folders or files in KernelBench's format
  std::vector<std::filesystem::path> held_out;  // what `eval` uses by default; never trained on
  Curriculum curriculum = Curriculum::rounds;
  int64_t max_tasks = 100'000;  // of the pool; what comes after them is left out, and logged
};

void describe(Fields& fields, SynthesisConfig& c);
void validate(const SynthesisConfig& c, Complaints& complaints);

}  // namespace warpsmith
