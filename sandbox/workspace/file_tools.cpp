// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/file_tools.hpp"

#include <charconv>

#include "sandbox/workspace/text_edit.hpp"

namespace warpsmith::sandbox {
namespace {

/// A positive number, or `fallback` if the argument is absent.
Result<size_t> number_argument(const ParsedCall& call, const std::string& key, size_t fallback) {
  const auto found = call.arguments.find(key);
  if (found == call.arguments.end()) return fallback;
  const std::string& text = found->second;
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) {
    return fail(ErrorCode::invalid_argument,
                key + " must be a whole number from 1, got `" + text.substr(0, 20) + "`");
  }
  return value;
}

/// Lines `first` to `first + count − 1`, counted from 1.
Result<std::string> some_lines(std::string_view text, size_t first, size_t count) {
  const size_t total = line_count(text);
  if (first > total) {
    return fail(
        ErrorCode::invalid_argument,
        "offset " + std::to_string(first) + " is past the last line, " + std::to_string(total));
  }
  for (size_t skipped = 1; skipped < first; ++skipped) text.remove_prefix(text.find('\n') + 1);
  size_t end = 0;
  for (size_t taken = 0; taken < count && end < text.size(); ++taken) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  return std::string(text.substr(0, end));
}

/// The path of a file that tools may change.
Result<std::string> writable_path(const Workspace& workspace, const ParsedCall& call) {
  auto path = relative_path(call.arguments.at("path"));
  if (path && workspace.is_given(*path)) {
    return fail(ErrorCode::invalid_argument, *path + " is read-only; write under solution/");
  }
  return path;
}

Result<void> check_room(const Workspace& workspace, const std::string& path, FileLimits limits) {
  if (workspace.files().has_file(path)) return {};
  const auto files = workspace.files().walk("", {});
  if (!files) return tl::unexpected(files.error());
  if (files->size() < limits.files) return {};
  return fail(ErrorCode::capacity,
              "the workspace holds " + std::to_string(files->size()) + " files already");
}

Result<std::string> edit_file(const Workspace& workspace, const ParsedCall& call,
                              std::span<const TextEdit> edits, FileLimits limits) {
  const auto path = writable_path(workspace, call);
  if (!path) return tl::unexpected(path.error());
  auto text = workspace.files().read(*path, limits.file_bytes);
  if (!text) return text;
  const auto edited = apply_edits(std::move(*text), edits, limits.file_bytes);
  if (!edited) return fail(*path, edited.error());
  if (auto written = workspace.files().write(*path, edited->text); !written) {
    return tl::unexpected(written.error());
  }
  return "edited " + *path + " (" + std::to_string(edited->replacements) + " replacement" +
         (edited->replacements == 1 ? ")" : "s)");
}

}  // namespace

Result<std::string> read_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  const auto path = relative_path(call.arguments.at("path"));
  if (!path) return tl::unexpected(path.error());
  const auto first = number_argument(call, "offset", 1);
  if (!first) return tl::unexpected(first.error());
  const auto count = number_argument(call, "limit", SIZE_MAX);
  if (!count) return tl::unexpected(count.error());
  auto text = workspace.files().read(*path, limits.file_bytes);
  if (!text) return text;
  if (text->empty()) return "(empty)";
  return some_lines(*text, *first, *count);
}

Result<std::string> write_tool(const Workspace& workspace, const ParsedCall& call,
                               FileLimits limits) {
  const auto path = writable_path(workspace, call);
  if (!path) return tl::unexpected(path.error());
  const std::string& content = call.arguments.at("content");
  if (content.size() > limits.file_bytes) {
    return fail(ErrorCode::capacity, *path + ": " + std::to_string(content.size()) +
                                         " bytes, allowed are " +
                                         std::to_string(limits.file_bytes));
  }
  if (auto room = check_room(workspace, *path, limits); !room) {
    return tl::unexpected(room.error());
  }
  if (auto written = workspace.files().write(*path, content); !written) {
    return tl::unexpected(written.error());
  }
  const size_t lines = line_count(content);
  return "wrote " + *path + " (" + std::to_string(lines) + (lines == 1 ? " line)" : " lines)");
}

Result<std::string> edit_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  const auto all = call.arguments.find("replace_all");
  const bool replace_all =
      all != call.arguments.end() && (all->second == "true" || all->second == "True");
  const TextEdit edit{call.arguments.at("old_string"), call.arguments.at("new_string"),
                      replace_all};
  return edit_file(workspace, call, {&edit, 1}, limits);
}

Result<std::string> multi_edit_tool(const Workspace& workspace, const ParsedCall& call,
                                    FileLimits limits) {
  const auto edits = parse_edits(call.arguments.at("edits"));
  if (!edits) return tl::unexpected(edits.error());
  return edit_file(workspace, call, *edits, limits);
}

}  // namespace warpsmith::sandbox
