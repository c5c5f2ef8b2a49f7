// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/shell_text.hpp"

namespace warpsmith::sandbox {
namespace {

void add_line(std::string& text, const std::string& more) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += more;
}

}  // namespace

std::string output_text(const ShellResult& result) {
  std::string text = result.out;
  if (!result.err.empty()) add_line(text, result.err);
  if (result.output_cut) add_line(text, "[output cut]");
  return text;
}

std::string shell_text(const ShellResult& result) {
  std::string text = output_text(result);
  if (result.timed_out) {
    add_line(text, "[timed out]");
  } else if (result.out_of_memory) {
    add_line(text, "[out of memory]");
  } else if (result.signal != 0) {
    add_line(text, "[ended by signal " + std::to_string(result.signal) + "]");
  } else if (result.exit_code != 0) {
    add_line(text, "[exit code " + std::to_string(result.exit_code) + "]");
  }
  return text.empty() ? "(no output)" : text;
}

}  // namespace warpsmith::sandbox
