// SPDX-License-Identifier: Apache-2.0
#include "runtime/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace warpsmith {
namespace {

using Row = std::vector<std::string>;

/// The number of cells that have to fit their columns.
size_t fitted_cells(std::string_view columns, const Row& row) {
  return row.size() < columns.size() ? row.size() - 1 : row.size();
}

std::vector<size_t> widths_of(std::string_view columns, const std::vector<Row>& rows) {
  std::vector<size_t> widths(columns.size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < fitted_cells(columns, row); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  return widths;
}

std::string line_of(std::string_view columns, const Row& row, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    const bool right = columns[i] == 'r' && i < fitted_cells(columns, row);
    line += i == 0 ? "" : "  ";
    line +=
        right ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::string size_text(double bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = bytes;
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.4g} {}", amount, units[unit]);
}

std::string number_text(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string brief_text(double value) {
  if (value >= 1e5) return fmt::format("{:.1e}", value);
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2g}", value);
}

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : "-";
}

std::string duration_text(std::chrono::nanoseconds span) {
  const auto whole = std::chrono::round<std::chrono::seconds>(span).count();
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  const double seconds = std::chrono::duration<double>(span).count();
  const double steps = seconds < 0.5 ? 1000 : 10;
  return fmt::format("{:g} s", std::round(seconds * steps) / steps);
}

std::string text_table(std::string_view columns, const std::vector<Row>& rows) {
  const std::vector<size_t> widths = widths_of(columns, rows);
  std::string text;
  for (const Row& row : rows) text += line_of(columns, row, widths);
  return text;
}

}  // namespace warpsmith
