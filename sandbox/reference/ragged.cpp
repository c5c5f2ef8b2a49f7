// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/ragged.hpp"

#include <fmt/format.h>

#include <string_view>

#include "runtime/bytes.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::string_view definition = "def get_ragged_inputs(";
constexpr std::string_view trailer = "\n\nget_inputs = get_ragged_inputs\n";

bool begins_statement(std::string_view line) {
  return !line.empty() && std::string_view(" \t\r#)]}").find(line[0]) == std::string_view::npos;
}

/// The text with the function's lines emptied.
std::string without_definition(std::string_view code) {
  std::string text;
  bool inside = false;
  while (!code.empty()) {
    const std::string_view line = code.substr(0, code.find('\n'));
    if (begins_statement(line)) inside = line.starts_with(definition);
    if (!inside) text += line;
    const bool ended = line.size() < code.size();
    if (ended) text += '\n';
    code.remove_prefix(line.size() + (ended ? 1 : 0));
  }
  return text;
}

std::string shape_text(const TensorSpec& spec) {
  std::string text;
  for (const int64_t extent : spec.shape) {
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  }
  return spec.name + " [" + text + ']';
}

/// How two tensors differ in more than their sizes; empty if they do not.
std::string complaint(const TensorSpec& shown, const TensorSpec& ragged) {
  const auto both = [&] { return shape_text(ragged) + ", by get_inputs " + shape_text(shown); };
  if (shown.role != ragged.role || shown.name != ragged.name) {
    return "tensors differ: " + both();
  }
  if (shown.dtype != ragged.dtype) return "the type of " + shown.name + " differs";
  if (shown.shape.size() != ragged.shape.size()) return "ranks differ: " + both();
  if (shown.role == TensorRole::parameter && shown.shape != ragged.shape) {
    return "a parameter differs: " + both();
  }
  if (shown.symbols != ragged.symbols) {
    return "sizes that are equal by get_inputs must stay equal, and different ones different: " +
           both();
  }
  return {};
}

}  // namespace

std::optional<Task> ragged_task(const Task& task) {
  if (without_definition(task.code) == task.code) return std::nullopt;
  Task ragged = task;
  ragged.id += "#ragged";
  ragged.source = "get_ragged_inputs";  // what refusals name
  ragged.code += trailer;
  ragged.content_hash = sha256_hex(ragged.code);
  return ragged;
}

Task shown_task(const Task& task) {
  Task shown = task;
  shown.code = without_definition(task.code);
  shown.content_hash = sha256_hex(shown.code);
  return shown;
}

std::string ragged_complaint(const TaskSignature& shown, const TaskSignature& ragged) {
  if (shown.tensors.size() != ragged.tensors.size()) {
    return fmt::format("{} tensors, by get_inputs {}", ragged.tensors.size(), shown.tensors.size());
  }
  for (size_t i = 0; i < shown.tensors.size(); ++i) {
    std::string why = complaint(shown.tensors[i], ragged.tensors[i]);
    if (!why.empty()) return why;
  }
  const auto shape_of = [](const TensorSpec& tensor) { return tensor.shape; };
  const bool same = std::ranges::equal(shown.tensors, ragged.tensors, {}, shape_of, shape_of);
  return same ? "all sizes are those of get_inputs" : "";
}

}  // namespace warpsmith::sandbox
