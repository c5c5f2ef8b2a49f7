// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/python_lexer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace warpsmith::sandbox {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80U;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

bool is_string_prefix(std::string_view word) {
  const auto letter = [](char c) {
    return std::string_view("rRbBuUfF").find(c) != std::string_view::npos;
  };
  return word.size() <= 2 && std::ranges::all_of(word, letter);
}

/// The place after the closing mark of the string whose opening mark ends at `at`. A string of one
/// line ends with the line at the latest.
size_t end_of_string(std::string_view text, size_t at, std::string_view mark) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at).starts_with(mark)) {
      return at + mark.size();
    } else if (text[at] == '\n' && mark.size() == 1) {
      return at;
    }
  }
  return text.size();
}

/// The mark of the string that begins at `at`: one quote, or three.
std::string_view mark_at(std::string_view text, size_t at) {
  const std::string_view one = text.substr(at, 1);
  const bool three = text.substr(at + 1, 1) == one && text.substr(at + 2, 1) == one;
  return text.substr(at, three ? 3 : 1);
}

/// The end of the comment or string at `at`; `at` itself where code is.
size_t end_of_text(std::string_view text, size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  const std::string_view mark = mark_at(text, at);
  return end_of_string(text, at + mark.size(), mark);
}

/// Cuts a text into logical lines.
class Scanner {
 public:
  explicit Scanner(std::string_view code) : code_(code) {}

  std::vector<PythonLine> lines() {
    while (at_ < code_.size()) step();
    finish();
    return std::move(done_);
  }

 private:
  char here(size_t ahead = 0) const {
    return at_ + ahead < code_.size() ? code_[at_ + ahead] : '\0';
  }

  void step() {
    const char c = here();
    if (c == '\n') return newline();
    if (c == '#') {
      at_ = end_of_text(code_, at_);
    } else if (c == '\\' && (here(1) == '\n' || here(1) == '\r')) {
      at_ = std::min(code_.find('\n', at_), code_.size() - 1) + 1;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if (is_word(c)) {
      word();
    } else if (is_quote(c)) {
      string(at_);
    } else {
      symbol();
    }
  }

  void newline() {
    if (depth_ == 0) finish();
    ++at_;
    if (depth_ == 0) line_start_ = at_;
  }

  void finish() {
    open_.end = at_;
    if (!open_.tokens.empty()) done_.push_back(std::move(open_));
    open_ = {};
  }

  void add(PythonKind kind, size_t from, int depth) {
    if (open_.tokens.empty()) {
      open_.begin = line_start_;
      open_.indent = code_.find_first_not_of(" \t\f", line_start_) - line_start_;
    }
    const bool member = !open_.tokens.empty() && open_.tokens.back().is(".");
    open_.tokens.push_back({kind, code_.substr(from, at_ - from), depth, member});
  }

  void word() {
    const size_t from = at_;
    const bool number = is_digit(here());
    while (is_word(here()) || (number && here() == '.')) ++at_;
    if (is_quote(here()) && is_string_prefix(code_.substr(from, at_ - from))) return string(from);
    add(number ? PythonKind::other : PythonKind::name, from, depth_);
  }

  /// A string whose prefix begins at `from` and whose quote is here.
  void string(size_t from) {
    at_ = end_of_text(code_, at_);
    add(PythonKind::string, from, depth_);
  }

  void symbol() {
    static constexpr std::array<std::string_view, 19> long_ones{
        "**=", "//=", "<<=", ">>=", "==", "!=", "<=", ">=", "+=", "-=",
        "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@=", ":=", "->"};
    const size_t from = at_;
    const auto same = [&](std::string_view text) { return code_.substr(at_).starts_with(text); };
    const auto* const found = std::ranges::find_if(long_ones, same);
    at_ += found == long_ones.end() ? 1 : found->size();
    const char c = code_[from];
    if (c == ';' && depth_ == 0) return finish();
    const bool closes = c == ')' || c == ']' || c == '}';
    if (closes) depth_ = std::max(depth_ - 1, 0);
    add(PythonKind::other, from, depth_);
    if (c == '(' || c == '[' || c == '{') ++depth_;
  }

  std::string_view code_;
  size_t at_ = 0;
  size_t line_start_ = 0;  // of the physical line in which the next logical line would begin
  int depth_ = 0;
  PythonLine open_;
  std::vector<PythonLine> done_;
};

}  // namespace

std::vector<PythonLine> python_lines(std::string_view code) {
  return Scanner(code).lines();
}

std::string python_code(std::string_view text) {
  std::string code{text};
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_text(text, at);
    std::replace_if(
        code.begin() + static_cast<ptrdiff_t>(at), code.begin() + static_cast<ptrdiff_t>(end),
        [](char c) { return c != '\n'; }, ' ');
    at = std::max(at + 1, end);
  }
  return code;
}

}  // namespace warpsmith::sandbox
