// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/line_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace warpsmith::commands {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// common[i][j]: the longest common subsequence of a[i…] and b[j…].
class CommonLines {
 public:
  CommonLines(const Lines& a, const Lines& b)
      : columns_(b.size() + 1), lengths_((a.size() + 1) * columns_) {
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        lengths_[i * columns_ + j] =
            a[i] == b[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  uint32_t at(size_t i, size_t j) const { return lengths_[i * columns_ + j]; }

 private:
  size_t columns_;
  std::vector<uint32_t> lengths_;
};

void add_line(std::string& out, char mark, std::string_view line) {
  out.append(1, mark).append(line).append(1, '\n');
}

std::string both_in_full(const Lines& a, const Lines& b) {
  std::string out;
  for (const auto line : a) add_line(out, '-', line);
  for (const auto line : b) add_line(out, '+', line);
  return out;
}

}  // namespace

std::string line_diff(std::string_view from, std::string_view to) {
  constexpr size_t most_cells = 4'000'000;
  const Lines a = lines_of(from), b = lines_of(to);
  if ((a.size() + 1) * (b.size() + 1) > most_cells) return both_in_full(a, b);
  const CommonLines common(a, b);
  std::string out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      add_line(out, ' ', a[i]);
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common.at(i + 1, j) >= common.at(i, j + 1))) {
      add_line(out, '-', a[i++]);
    } else {
      add_line(out, '+', b[j++]);
    }
  }
  return out;
}

}  // namespace warpsmith::commands
