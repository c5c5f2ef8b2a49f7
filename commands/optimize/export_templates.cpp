// SPDX-License-Identifier: Apache-2.0
// Fills the templates of an exported package: the files of templates/, which the build embeds.
//
// A placeholder is @NAME@, in capitals and underscores. Where it has a line to itself and its value
// is empty or ends with a newline, the value takes the place of the whole line. Values are not
// searched for placeholders.
#include <algorithm>
#include <span>
#include <stdexcept>

#include "commands/optimize/export_package.hpp"

namespace warpsmith::commands {

/// The names and texts of templates/, in a source that the build makes.
std::span<const std::pair<std::string_view, std::string_view>> export_template_files();

namespace {

struct Placeholder {
  size_t begin = std::string_view::npos, end = std::string_view::npos;  // with both @
  std::string_view name;
};

/// The first one at or after `from`; `begin` is npos if there is none.
Placeholder next_placeholder(std::string_view text, size_t from) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  for (size_t at = text.find('@', from); at < text.size(); at = text.find('@', at + 1)) {
    const size_t end = text.find_first_not_of(letters, at + 1);
    if (end < text.size() && end > at + 1 && text[end] == '@') {
      return {at, end + 1, text.substr(at + 1, end - at - 1)};
    }
  }
  return {};
}

bool has_line_to_itself(std::string_view text, const Placeholder& one) {
  return (one.begin == 0 || text[one.begin - 1] == '\n') && text.substr(one.end).starts_with('\n');
}

}  // namespace

std::string fill_template(std::string_view text, const Placeholders& values) {
  std::string out;
  size_t done = 0;
  for (Placeholder one; (one = next_placeholder(text, done)).begin < text.size();) {
    const auto value = values.find(one.name);
    if (value == values.end()) {
      throw std::logic_error("no value for the placeholder @" + std::string(one.name) + "@");
    }
    out.append(text.substr(done, one.begin - done)).append(value->second);
    const bool lines = value->second.empty() || value->second.ends_with('\n');
    done = one.end + (lines && has_line_to_itself(text, one) ? 1 : 0);
  }
  return out.append(text.substr(done));
}

std::string filled_template(std::string_view name, const Placeholders& values) {
  const auto files = export_template_files();
  const auto file = std::ranges::find(files, name, [](const auto& one) { return one.first; });
  if (file == files.end()) throw std::logic_error("no template " + std::string(name));
  try {
    return fill_template(file->second, values);
  } catch (const std::logic_error& error) {
    throw std::logic_error("template " + std::string(name) + ": " + error.what());
  }
}

}  // namespace warpsmith::commands
