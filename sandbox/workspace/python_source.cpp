// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/python_source.hpp"

#include <algorithm>
#include <array>

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

/// Cuts a text into logical lines. `end` of a line is the offset after its last physical line.
class Scanner {
 public:
  struct Placed {
    PythonLine line;
    size_t begin = 0;
    size_t end = 0;
  };

  explicit Scanner(std::string_view code) : code_(code) {}

  std::vector<Placed> lines() {
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
      at_ = std::min(code_.find('\n', at_), code_.size());
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
    if (!open_.tokens.empty()) done_.push_back({std::move(open_), begin_, at_});
    open_ = {};
  }

  void add(PythonKind kind, size_t from, int depth) {
    if (open_.tokens.empty()) {
      begin_ = line_start_;
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
    const std::string_view three = code_.substr(at_, 3);
    const bool triple = three == R"(""")" || three == "'''";
    const std::string_view quote = triple ? three : code_.substr(at_, 1);
    for (at_ += quote.size(); at_ < code_.size() && !code_.substr(at_).starts_with(quote); ++at_) {
      if (here() == '\n' && !triple) break;  // the text is broken
      if (here() == '\\') ++at_;
    }
    at_ = std::min(at_ + quote.size(), code_.size());
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
  size_t begin_ = 0;
  int depth_ = 0;
  PythonLine open_;
  std::vector<Placed> done_;
};

/// True if a line at the margin belongs to the statement before it.
bool continues(const PythonLine& line, const PythonStatement& before) {
  const auto decorates = [](const PythonLine& l) { return l.tokens.front().is("@"); };
  const std::string_view head = line.tokens.front().text;
  return head == "elif" || head == "else" || head == "except" || head == "finally" ||
         std::ranges::all_of(before.lines, decorates);
}

}  // namespace

std::vector<PythonStatement> python_statements(std::string_view code) {
  std::vector<PythonStatement> statements;
  size_t begin = 0;
  size_t end = 0;
  for (auto& placed : Scanner(code).lines()) {
    const bool same_line = placed.begin < end;  // after a semicolon
    const bool inside = placed.line.indent > 0 || same_line;
    if (statements.empty() || !(inside || continues(placed.line, statements.back()))) {
      statements.emplace_back();
      begin = placed.begin;
    }
    end = std::min(code.find('\n', placed.end), code.size());
    statements.back().lines.push_back(std::move(placed.line));
    statements.back().text = code.substr(begin, end - begin);
  }
  return statements;
}

}  // namespace warpsmith::sandbox
