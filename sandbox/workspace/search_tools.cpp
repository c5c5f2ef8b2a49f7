// SPDX-License-Identifier: Apache-2.0
// glob and grep. The agent's regular expressions run in PCRE2 with limits on steps and memory,
// because std::regex would overflow the stack on a long line.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>

#include "runtime/clock.hpp"
#include "sandbox/workspace/file_tools.hpp"
#include "sandbox/workspace/glob_pattern.hpp"
#include "sandbox/workspace/truncate.hpp"

namespace warpsmith::sandbox {
namespace {

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

/// A compiled pattern with its limits.
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
                "the pattern is wrong at byte " + std::to_string(at) + ": " + reason);
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
    if (count_ > limit_) text += "[… " + std::to_string(count_ - limit_) + " more …]\n";
    text.pop_back();
    return text;
  }

 private:
  size_t limit_;
  size_t count_ = 0;
  std::string text_;
};

/// The state of one grep. PCRE2's limit applies to a single line; the deadline covers all of them.
struct Search {
  const Pattern& pattern;
  const Deadline deadline;
  Matches matches;
};

Result<void> search_text(Search& search, const std::string& path, std::string_view text) {
  for (size_t number = 1; !text.empty(); ++number) {
    if (search.deadline.passed()) {
      return fail(ErrorCode::invalid_argument,
                  "the search took too long, at " + path + ":" + std::to_string(number) +
                      "; make the pattern simpler or name a smaller path");
    }
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto found = search.pattern.found_in(line);
    if (!found) return tl::unexpected(found.error());
    if (!*found) continue;
    search.matches.add(path + ":" + std::to_string(number) + ": " +
                       std::string(line.substr(0, max_line_bytes)));
  }
  return {};
}

/// The files to search: one file, or all beneath a folder.
Result<std::vector<FileEntry>> files_of(const Workspace& workspace, const ParsedCall& call) {
  const auto given = call.arguments.find("path");
  if (given == call.arguments.end() || given->second == ".") return workspace.files().walk("", {});
  const auto path = relative_path(given->second);
  if (!path) return tl::unexpected(path.error());
  if (workspace.files().has_file(*path)) return std::vector<FileEntry>{{*path, 0}};
  return workspace.files().walk(*path, {});
}

}  // namespace

Result<std::string> glob_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  const std::string& pattern = call.arguments.at("pattern");
  if (pattern.empty() || pattern.size() > max_pattern_bytes) {
    return fail(ErrorCode::invalid_argument, "the pattern is empty or too long");
  }
  const auto files = workspace.files().walk("", {});
  if (!files) return tl::unexpected(files.error());
  Matches matches{limits.matches};
  for (const FileEntry& file : *files) {
    if (glob_matches(pattern, file.path)) matches.add(file.path);
  }
  return matches.text();
}

Result<std::string> grep_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits) {
  const auto pattern = Pattern::compile(call.arguments.at("pattern"));
  if (!pattern) return tl::unexpected(pattern.error());
  const auto files = files_of(workspace, call);
  if (!files) return tl::unexpected(files.error());
  Search search{*pattern, Deadline::after(limits.search), Matches{limits.matches}};
  for (const FileEntry& file : *files) {
    const auto text = workspace.files().read(file.path, limits.file_bytes);
    if (!text) continue;  // skip files that are too large or unreadable
    if (auto done = search_text(search, file.path, *text); !done) {
      return tl::unexpected(done.error());
    }
  }
  return search.matches.text();
}

}  // namespace warpsmith::sandbox
