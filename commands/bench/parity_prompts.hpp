// SPDX-License-Identifier: Apache-2.0
// What engine, learner and `transformers` continue and score: random tokens, or prompts of
// demonstrations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::commands {

struct ParityPrompts {
  std::vector<std::vector<int32_t>> prompts;  // at least one, none empty
  std::vector<int32_t> stop_tokens;           // end a continuation; none for random prompts
};

/// Prompts of 32 random tokens each.
ParityPrompts random_parity_prompts(size_t count, uint64_t seed, int64_t vocab);

/// What precedes the first answer of each conversation of `demonstrations` (JSON lines), in ChatML
/// and in the tokens of the folder `model`. `invalid_argument` for a tokenizer without ChatML's
/// tokens or a file without conversations.
Result<ParityPrompts> prompts_of_demonstrations(const std::filesystem::path& demonstrations,
                                                const std::filesystem::path& model);

}  // namespace warpsmith::commands
