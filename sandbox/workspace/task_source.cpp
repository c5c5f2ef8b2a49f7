// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/task_source.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace warpsmith::sandbox {
namespace {

/// True if a line at the margin belongs to the statement before it.
bool continues(const PythonLine& line, const PythonStatement& before) {
  const auto decorates = [](const PythonLine& l) { return l.tokens.front().is("@"); };
  const std::string_view head = line.tokens.front().text;
  return head == "elif" || head == "else" || head == "except" || head == "finally" ||
         std::ranges::all_of(before.lines, decorates);
}

/// The statements at the margin, in order. Their texts are views of `code`.
std::vector<PythonStatement> python_statements(std::string_view code) {
  std::vector<PythonStatement> statements;
  size_t begin = 0;
  size_t end = 0;
  for (PythonLine& line : python_lines(code)) {
    const bool same_line = line.begin < end;  // after a semicolon
    const bool inside = line.indent > 0 || same_line;
    if (statements.empty() || !(inside || continues(line, statements.back()))) {
      statements.emplace_back();
      begin = line.begin;
    }
    end = std::min(code.find('\n', line.end), code.size());
    statements.back().lines.push_back(std::move(line));
    statements.back().text = code.substr(begin, end - begin);
  }
  return statements;
}

using Names = std::set<std::string_view>;
using Tokens = std::vector<PythonToken>;

bool meets(const Names& a, const Names& b) {
  return std::ranges::any_of(a, [&](std::string_view name) { return b.contains(name); });
}

/// The first line after the decorators.
const PythonLine& head_of(const PythonStatement& statement) {
  const auto is_head = [](const PythonLine& line) { return !line.tokens.front().is("@"); };
  const auto found = std::ranges::find_if(statement.lines, is_head);
  return found == statement.lines.end() ? statement.lines.front() : *found;
}

bool is_import(const PythonStatement& statement) {
  const PythonToken& first = statement.lines.front().tokens.front();
  return first.is("import") || first.is("from");
}

/// The name of a function or class that a line begins to define; empty for other lines.
std::string_view defined_by(const PythonLine& line) {
  const Tokens& tokens = line.tokens;
  const size_t at = tokens.front().is("async") ? 1 : 0;
  if (tokens.size() < at + 2 || !(tokens[at].is("def") || tokens[at].is("class"))) return {};
  return tokens[at + 1].text;
}

/// Adds the words of a string. A text in triple quotes is documentation, unless it is formatted.
void add_words(std::string_view string, Names& names) {
  const size_t quote = string.find_first_of("\"'");
  const bool formatted = string.substr(0, quote).find_first_of("fF") != std::string_view::npos;
  const std::string_view body = string.substr(quote);
  if (!formatted && (body.starts_with(R"(""")") || body.starts_with("'''"))) return;
  const auto letter = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  for (const char* at = body.begin(); at != body.end();) {
    at = std::find_if(at, body.end(), letter);
    const char* const end = std::find_if_not(at, body.end(), letter);
    if (at != end) names.insert({at, static_cast<size_t>(end - at)});
    at = end;
  }
}

bool is_assignment(const PythonToken& token) {
  const std::string_view text = token.text;
  const bool compares = text == "==" || text == "!=" || text == "<=" || text == ">=";
  return token.kind == PythonKind::other && token.depth == 0 && text.ends_with('=') && !compares;
}

/// What a line outside of definitions does to names.
struct LineEffect {
  Names bound;    // gives them values
  Names changed;  // sets members or elements of their values
};

bool is_keyword(std::string_view word) {
  static const Names words{"and", "as",   "assert", "await", "del",    "elif",   "else",
                           "for", "if",   "in",     "is",    "lambda", "not",    "or",
                           "try", "with", "while",  "None",  "True",   "return", "False"};
  return words.contains(word);
}

void add_target(const Tokens& tokens, size_t at, LineEffect& effect) {
  const int brackets = tokens.front().is("(") || tokens.front().is("[") ? 1 : 0;  // of a tuple
  const PythonToken& token = tokens[at];
  if (!token.is_name() || token.depth > brackets || is_keyword(token.text)) return;
  const bool part = at + 1 < tokens.size() && (tokens[at + 1].is(".") || tokens[at + 1].is("["));
  (part ? effect.changed : effect.bound).insert(tokens[at].text);
}

LineEffect effect_of(const PythonLine& line) {
  LineEffect effect;
  const Tokens& tokens = line.tokens;
  const auto last = std::find_if(tokens.rbegin(), tokens.rend(), is_assignment);
  const auto targets_end = static_cast<size_t>(tokens.rend() - last);
  for (size_t i = 0; i < targets_end; ++i) add_target(tokens, i, effect);
  bool loops = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].depth > 0) continue;
    if (tokens[i].is("in")) loops = false;
    if (loops || (i > 0 && tokens[i - 1].is("as"))) add_target(tokens, i, effect);
    if (tokens[i].is("for")) loops = true;
  }
  return effect;
}

/// One statement and the names that count.
struct Part {
  bool defines = false;  // a function or class
  Names bound, changed;
  Names used;
  Names heads;  // the first word of each line that binds and changes nothing
};

void add_line(const PythonLine& line, Part& part) {
  LineEffect effect = effect_of(line);
  if (effect.bound.empty() && effect.changed.empty()) part.heads.insert(line.tokens.front().text);
  part.bound.merge(effect.bound);
  part.changed.merge(effect.changed);
}

Part part_of(const PythonStatement& statement) {
  Part part;
  const std::string_view definition = defined_by(head_of(statement));
  part.defines = !definition.empty();
  if (part.defines) part.bound.insert(definition);
  for (const PythonLine& line : statement.lines) {
    if (!part.defines) add_line(line, part);
    for (const PythonToken& token : line.tokens) {
      if (token.is_name()) part.used.insert(token.text);
      if (token.kind == PythonKind::string) add_words(token.text, part.used);
    }
  }
  return part;
}

/// Finds the parts that the roots need.
class Closure {
 public:
  Closure(const std::vector<PythonStatement>& statements,
          std::initializer_list<std::string_view> roots)
      : needed_(roots), kept_(statements.size()) {
    for (const PythonStatement& statement : statements) {
      parts_.push_back(is_import(statement) ? Part{} : part_of(statement));
      own_.insert(parts_.back().bound.begin(), parts_.back().bound.end());
    }
    while (grow()) continue;
  }

  bool keeps(size_t i) const { return kept_[i]; }

 private:
  /// From the last statement to the first: most names are defined before they are used.
  bool grow() {
    bool grew = false;
    for (size_t i = parts_.size(); i-- > 0;) {
      if (kept_[i] || !belongs(parts_[i])) continue;
      kept_[i] = grew = true;
      needed_.insert(parts_[i].used.begin(), parts_[i].used.end());
    }
    return grew;
  }

  bool belongs(const Part& part) const {
    if (meets(part.bound, needed_)) return true;
    if (!part.bound.empty()) return false;
    if (meets(part.changed, own_)) return meets(part.changed, needed_);
    return is_effect(part);
  }

  /// A statement that binds nothing and changes nothing of the task's own.
  bool is_effect(const Part& part) const {
    static const Names never{"get_inputs", "get_ragged_inputs", "__name__"};
    if (part.used.empty() || meets(part.used, never)) return false;
    if (!meets(part.heads, own_)) return true;
    const auto counts = [&](std::string_view n) { return own_.contains(n) && needed_.contains(n); };
    return std::ranges::any_of(part.used, counts);
  }

  std::vector<Part> parts_;
  Names own_;     // bound by the text itself, imports aside
  Names needed_;  // used by what is kept
  std::vector<bool> kept_;
};

/// The names of a function's parameters, by the tokens of its first line.
Names parameters_of(const Tokens& line) {
  Names names;
  for (size_t i = 1; i < line.size(); ++i) {
    const bool starts = line[i - 1].is("(") || line[i - 1].is(",") || line[i - 1].is("*");
    if (line[i].is_name() && line[i].depth == 1 && starts) names.insert(line[i].text);
  }
  names.erase("self");
  return names;
}

/// True if a line uses one of the names outside of the brackets of `Parameter(…)`.
bool uses_openly(const Tokens& line, const Names& names) {
  int inside = -1;  // the depth of the brackets; -1: outside
  for (size_t i = 0; i < line.size(); ++i) {
    const PythonToken& token = line[i];
    if (inside < 0 && token.is("(") && i > 0 && line[i - 1].is("Parameter")) inside = token.depth;
    if (inside >= 0 && token.is(")") && token.depth == inside) inside = -1;
    const bool named = token.is_name() && names.contains(token.text);
    if ((named || token.is("locals")) && inside < 0) return true;
  }
  return false;
}

bool gives_nothing(const PythonStatement& function) {
  const Tokens& last = function.lines.back().tokens;
  const size_t n = last.size();
  return n >= 3 && last[n - 3].is("return") && last[n - 2].is("[") && last[n - 1].is("]");
}

}  // namespace

TaskSource::TaskSource(std::string_view code) : code_(code.begin(), code.end()) {
  std::erase(code_, '\r');
  statements_ = python_statements({code_.data(), code_.size()});
}

Result<TaskSource> TaskSource::parse(std::string_view code) {
  TaskSource source(code);
  if (!source.model().empty()) return source;
  return fail(ErrorCode::parse_failed, "the task has no `class Model`");
}

std::string TaskSource::imports() const {
  std::string text;
  for (const PythonStatement& statement : statements_) {
    if (is_import(statement)) text.append(statement.text).append("\n");
  }
  return text;
}

std::string TaskSource::parts(std::initializer_list<std::string_view> roots) const {
  const Closure closure(statements_, roots);
  std::string text;
  bool after_definition = false;
  for (size_t i = 0; i < statements_.size(); ++i) {
    if (!closure.keeps(i)) continue;
    const bool defines = !defined_by(head_of(statements_[i])).empty();
    if (!text.empty()) text += defines || after_definition ? "\n\n\n" : "\n";
    text += statements_[i].text;
    after_definition = defines;
  }
  return text;
}

const PythonStatement* TaskSource::definition(std::string_view name) const {
  const auto is_it = [&](const PythonStatement& s) { return defined_by(head_of(s)) == name; };
  const auto found = std::find_if(statements_.rbegin(), statements_.rend(), is_it);
  return found == statements_.rend() ? nullptr : &*found;
}

bool TaskSource::arguments_matter() const {
  const PythonStatement* arguments = definition("get_init_inputs");
  const PythonStatement* model = definition("Model");
  if (arguments == nullptr || gives_nothing(*arguments)) return false;
  if (model == nullptr) return true;
  const auto is_init = [](const PythonLine& line) { return defined_by(line) == "__init__"; };
  auto line = std::ranges::find_if(model->lines, is_init);
  if (line == model->lines.end()) return true;
  const Names names = parameters_of(line->tokens);
  const size_t indent = line->indent;
  for (++line; line != model->lines.end() && line->indent > indent; ++line) {
    if (uses_openly(line->tokens, names)) return true;
  }
  return false;
}

}  // namespace warpsmith::sandbox
