// SPDX-License-Identifier: Apache-2.0
#include "commands/composed_text.hpp"

#include "synthesis/funnel.hpp"

namespace warpsmith::commands {
namespace {

constexpr size_t most_bytes = size_t{1} << 20U;

}  // namespace

std::string composed_text(const RunPaths& run) {
  const auto file = run.folder / "synthesis" / synthesis::funnel_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return "";
  const auto text = read_text_file(file, most_bytes);
  if (!text) return text.error().message;
  const auto funnel = synthesis::parse_funnel(*text);
  return funnel ? line_of(*funnel) : file.string() + ": " + funnel.error().message;
}

}  // namespace warpsmith::commands
