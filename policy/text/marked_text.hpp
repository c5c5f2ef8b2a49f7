// SPDX-License-Identifier: Apache-2.0
// A text whose untrusted parts contain no control tokens. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpsmith::policy {

/// A part of a text. In an untrusted one, a control token that is written out is ordinary text.
struct TextRun {
  std::string text;
  bool untrusted = false;
};

/// The program's text, with untrusted text of tasks and tools in it.
class MarkedText {
 public:
  MarkedText() = default;
  /// A text that the program wrote.
  explicit MarkedText(std::string own) { add(std::move(own)); }

  MarkedText& add(std::string own) { return append({std::move(own), false}); }
  MarkedText& add_untrusted(std::string text) { return append({std::move(text), true}); }
  MarkedText& add(MarkedText other) {
    for (TextRun& run : other.runs_) append(std::move(run));
    return *this;
  }

  /// Neighbours differ in kind; none is empty.
  const std::vector<TextRun>& runs() const { return runs_; }
  std::string text() const {
    std::string all;
    for (const TextRun& run : runs_) all += run.text;
    return all;
  }

 private:
  MarkedText& append(TextRun run) {
    if (run.text.empty()) return *this;
    if (!runs_.empty() && runs_.back().untrusted == run.untrusted) {
      runs_.back().text += run.text;
    } else {
      runs_.push_back(std::move(run));
    }
    return *this;
  }

  std::vector<TextRun> runs_;
};

}  // namespace warpsmith::policy
