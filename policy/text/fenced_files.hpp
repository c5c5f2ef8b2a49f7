// SPDX-License-Identifier: Apache-2.0
// Parses an answer that contains whole files, each in a fenced block whose opening line names it:
//   ```cpp solution/kernel.cpp
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/model_turn.hpp"

namespace warpsmith::policy {

struct FencedFile {
  std::string path;
  std::string content;  // without the newline before the closing fence
};

/// Limit of one answer; further files are left out.
inline constexpr size_t max_fenced_files = 16;

/// The files in order. The last word of an opening line is the path; blocks whose last word has
/// neither '.' nor '/' name no file and are skipped. Text before a last `</think>` is skipped. A
/// block that is not closed ends the search, without that block.
std::vector<FencedFile> fenced_files(std::string_view answer);

/// The calls that such an answer represents: a `write` of each file, below solution/, then
/// `submit`. None if there is no file.
std::vector<ParsedCall> calls_of_files(const std::vector<FencedFile>& files);

}  // namespace warpsmith::policy
