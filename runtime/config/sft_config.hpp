// SPDX-License-Identifier: Apache-2.0
// [sft]: the supervised stage that makes the first policy from demonstrations. Stage `rft`
// optimises by the same keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct SftConfig {
  std::filesystem::path data;          // JSONL of conversations; if empty, `script` writes it
  std::filesystem::path script;        // Python, run as: script --tasks DIR... --seed N --out FILE
  std::vector<std::string> arguments;  // further ones of the script
  int64_t epochs = 1;
  int64_t batch_tokens = 8'192;   // per optimiser step, packed
  int64_t context = 2'048;        // longer conversations are left out and counted
  double learning_rate = 1e-3;    // the highest of the schedule
  double final_rate_share = 0.1;  // the lowest rate, at the end of the cosine, as a share of it
  int64_t warmup = 50;            // steps
  double weight_decay = 0.01;
  double held_out_share = 0.02;     // of the conversations, for the reported loss
  std::filesystem::path export_to;  // folder to copy the final model to; not copied if empty
};

void describe(Fields& fields, SftConfig& c);
void validate(const SftConfig& c, Complaints& complaints);

}  // namespace warpsmith
