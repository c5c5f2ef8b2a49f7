// SPDX-License-Identifier: Apache-2.0
#include "runtime/task_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace warpsmith {
namespace {

constexpr std::string_view option = "custom_kernels_only";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The text after "option =", without a comment; nullopt if the line assigns something else.
std::optional<std::string_view> assigned(std::string_view line) {
  if (!line.starts_with(option)) return std::nullopt;
  line = trimmed(line.substr(option.size()));
  if (!line.starts_with('=') || line.starts_with("==")) return std::nullopt;
  return trimmed(line.substr(1, line.find('#') - 1));
}

}  // namespace

Result<TaskOptions> read_task_options(std::string_view code) {
  TaskOptions options;
  bool seen = false;
  size_t number = 0;
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find('\n', at), code.size());
    const auto value = assigned(code.substr(at, end - at));
    at = end + 1;
    ++number;
    if (!value) continue;
    if (seen || (*value != "True" && *value != "False")) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("line {}: {}: expected True or False, once", number, option));
    }
    seen = true;
    options.custom_kernels_only = *value == "True";
  }
  return options;
}

}  // namespace warpsmith
