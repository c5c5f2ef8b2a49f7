// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/file_tools.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "runtime/clock.hpp"
#include "sandbox/workspace/file_text.hpp"
#include "sandbox/workspace/tool_text.hpp"

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
    return fail(ErrorCode::invalid_argument,
                fmt::format("offset {} is past the last line, {}", first, total));
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
  TRY(const auto files, workspace.files().walk("", {}));
  if (files.size() < limits.files) return {};
  return fail(ErrorCode::capacity,
              fmt::format("the workspace holds {} files already", files.size()));
}

Result<std::string> edit_file(const Workspace& workspace, const ParsedCall& call,
                              std::span<const TextEdit> edits, FileLimits limits) {
  TRY(const auto path, writable_path(workspace, call));
  TRY(auto text, workspace.files().read(path, limits.file_bytes));
  const auto edited = apply_edits(std::move(text), edits, limits.file_bytes);
  if (!edited) return fail(path, edited.error());
  TRY_VOID(workspace.files().write(path, edited->text));
  return fmt::format("edited {} ({} replacement{}", path, edited->replacements,
                     edited->replacements == 1 ? ")" : "s)");
}

constexpr uint32_t match_steps = 200'000;
constexpr uint32_t match_heap_kib = 4096;
constexpr size_t max_pattern_bytes = 1024;
constexpr size_t max_line_bytes = 240;

struct FreePattern {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct FreeContext {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

/// A compiled pattern of grep. The agent's regular expressions run in PCRE2 with limits on steps
/// and memory, because std::regex would overflow the stack on a long line.
class Pattern {
 public:
  static Result<Pattern> compile(const std::string& text) {
    if (text.size() > max_pattern_bytes) {
      return fail(ErrorCode::invalid_argument, "the pattern is too long");
    }
    int code = 0;
    size_t at = 0;
    pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                         PCRE2_NEVER_BACKSLASH_C, &code, &at, nullptr);
    if (compiled) return Pattern{compiled};
    std::string reason(160, '\0');
    const int length =
        pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(reason.data()), reason.size());
    reason.resize(length < 0 ? 0 : static_cast<size_t>(length));
    return fail(ErrorCode::invalid_argument,
                fmt::format("the pattern is wrong at byte {}: {}", at, reason));
  }

  /// An error if a limit is exceeded.
  Result<bool> found_in(std::string_view line) const {
    const int got = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(),
                                0, 0, match_.get(), context_.get());
    if (got >= 0) return true;
    if (got == PCRE2_ERROR_NOMATCH) return false;
    return fail(ErrorCode::invalid_argument, "the pattern takes too many steps; make it simpler");
  }

 private:
  explicit Pattern(pcre2_code* code)
      : code_(code),
        match_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    pcre2_set_match_limit(context_.get(), match_steps);
    pcre2_set_heap_limit(context_.get(), match_heap_kib);
  }

  std::unique_ptr<pcre2_code, FreePattern> code_;
  std::unique_ptr<pcre2_match_data, FreeMatch> match_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
};

/// The lines for the agent, up to a limit; the rest are only counted.
class Matches {
 public:
  explicit Matches(size_t limit) : limit_(limit) {}
  void add(const std::string& line) {
    if (++count_ <= limit_) text_ += line + '\n';
  }
  std::string text() const {
    if (count_ == 0) return "no matches";
    std::string text = text_;
    if (count_ > limit_) text += fmt::format("[… {} more …]\n", count_ - limit_);
    text.pop_back();
    return text;
  }

 private:
  size_t limit_;
  size_t count_ = 0;
  std::string text_;
};

/// The state of one grep. PCRE2's limit applies to a single line; the deadline covers all of
/// them.
struct Search {
  const Pattern& pattern;
  const Deadline deadline;
  Matches matches;
};

Result<void> search_text(Search& search, const std::string& path, std::string_view text) {
  for (size_t number = 1; !text.empty(); ++number) {
    if (search.deadline.passed()) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format(
              "the search took too long, at {}:{}; make the pattern simpler or name a smaller path",
              path, number));
    }
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    TRY(const auto found, search.pattern.found_in(line));
    if (!found) continue;
    search.matches.add(fmt::format("{}:{}: {}", path, number, line.substr(0, max_line_bytes)));
  }
  return {};
}

/// The files to search: one file, or all beneath a folder.
Result<std::vector<FileEntry>> files_of(const Workspace& workspace, const ParsedCall& call) {
  const auto given = call.arguments.find("path");
  if (given == call.arguments.end() || given->second == ".") return workspace.files().walk("", {});
  TRY(const auto path, relative_path(given->second));
  if (workspace.files().has_file(path)) return std::vector<FileEntry>{{path, 0}};
  return workspace.files().walk(path, {});
}

}  // namespace

Result<std::string> read_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  TRY(const auto path, relative_path(call.arguments.at("path")));
  TRY(const auto first, number_argument(call, "offset", 1));
  TRY(const auto count, number_argument(call, "limit", SIZE_MAX));
  TRY(auto text, workspace.files().read(path, limits.file_bytes));
  if (text.empty()) return "(empty)";
  return some_lines(text, first, count);
}

Result<std::string> write_tool(const Workspace& workspace, const ParsedCall& call,
                               FileLimits limits) {
  TRY(const auto path, writable_path(workspace, call));
  const std::string& content = call.arguments.at("content");
  if (content.size() > limits.file_bytes) {
    return fail(ErrorCode::capacity, fmt::format("{}: {} bytes, allowed are {}", path,
                                                 content.size(), limits.file_bytes));
  }
  TRY_VOID(check_room(workspace, path, limits));
  TRY_VOID(workspace.files().write(path, content));
  const size_t lines = line_count(content);
  return fmt::format("wrote {} ({}{}", path, lines, lines == 1 ? " line)" : " lines)");
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
  TRY(const auto edits, parse_edits(call.arguments.at("edits")));
  return edit_file(workspace, call, edits, limits);
}

Result<std::string> glob_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  const std::string& pattern = call.arguments.at("pattern");
  if (pattern.empty() || pattern.size() > max_pattern_bytes) {
    return fail(ErrorCode::invalid_argument, "the pattern is empty or too long");
  }
  TRY(const auto files, workspace.files().walk("", {}));
  Matches matches{limits.matches};
  for (const FileEntry& file : files) {
    if (glob_matches(pattern, file.path)) matches.add(file.path);
  }
  return matches.text();
}

Result<std::string> grep_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  TRY(const auto pattern, Pattern::compile(call.arguments.at("pattern")));
  TRY(const auto files, files_of(workspace, call));
  Search search{pattern, Deadline::after(limits.search), Matches{limits.matches}};
  for (const FileEntry& file : files) {
    const auto text = workspace.files().read(file.path, limits.file_bytes);
    if (!text) continue;  // skip files that are too large or unreadable
    TRY_VOID(search_text(search, file.path, *text));
  }
  return search.matches.text();
}

}  // namespace warpsmith::sandbox
