// SPDX-License-Identifier: Apache-2.0
#include "commands/declared_shapes.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "runtime/bytes.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::string_view main_function = "get_inputs";
constexpr std::string_view ragged_function = "get_ragged_inputs";

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view name_at(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, in_name);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

/// The function that a line defines at the top level; empty if none.
std::string_view defined_function(std::string_view line) {
  constexpr std::string_view keyword = "def ";
  return line.starts_with(keyword) ? name_at(line.substr(keyword.size())) : std::string_view{};
}

bool declares_shape(std::string_view function) {
  return function == ragged_function || function.starts_with("get_inputs_");
}

/// The text with two names exchanged wherever they are whole names.
std::string exchanged(std::string_view text, std::string_view a, std::string_view b) {
  std::string out;
  while (!text.empty()) {
    const std::string_view name = name_at(text);
    if (name.empty()) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    out += name == a ? b : name == b ? a : name;
    text.remove_prefix(name.size());
  }
  return out;
}

DeclaredShape shape_of(const Task& task, std::string_view function) {
  Task own = task;
  own.id += '#' + std::string(function);
  own.code = exchanged(task.code, main_function, function);
  own.content_hash = sha256_hex(own.code);
  return {std::string(function), std::move(own)};
}

}  // namespace

std::vector<DeclaredShape> declared_shapes(const Task& task) {
  std::vector<DeclaredShape> shapes{{std::string(main_function), task}};
  std::istringstream lines(task.code);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view function = defined_function(line);
    if (!declares_shape(function)) continue;
    const bool known =
        std::ranges::find(shapes, function, &DeclaredShape::function) != shapes.end();
    if (!known) shapes.push_back(shape_of(task, function));
  }
  return shapes;
}

}  // namespace warpsmith::commands
