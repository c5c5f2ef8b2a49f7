// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace warpsmith {
namespace {

struct Unit {
  std::string_view name;
  int64_t size;
};

// Largest first; in milliseconds.
constexpr std::array<Unit, 5> time_units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 5> byte_units{
    {{"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20}, {"KiB", 1LL << 10}, {"B", 1}}};

// Doubles are exact up to here, and 2^53 ms is 285,000 years.
constexpr double largest_exact = 9'007'199'254'740'992.0;

std::optional<int64_t> size_of(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.size;
  }
  return std::nullopt;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Removes one part such as "12.5min" from the front of `text` and returns its value; nullopt if
/// there is no number or no such unit.
std::optional<double> take_part(std::string_view& text, std::span<const Unit> units) {
  double number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (parsed.ec != std::errc{} || !(number >= 0)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  size_t letters = 0;
  while (letters < text.size() && is_letter(text[letters])) ++letters;
  const auto unit = size_of(units, text.substr(0, letters));
  text.remove_prefix(letters);
  if (!unit) return std::nullopt;
  return number * static_cast<double>(*unit);
}

/// The sum of all parts, rounded to a whole number of the smallest unit.
std::optional<int64_t> parse(std::string_view text, std::span<const Unit> units) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const auto part = take_part(text, units);
    if (!part) return std::nullopt;
    total += *part;
  }
  if (!(total <= largest_exact)) return std::nullopt;
  return std::llround(total);
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (const auto ms = parse(text, time_units)) return std::chrono::milliseconds{*ms};
  return fail(ErrorCode::parse_failed,
              "expected a duration such as \"30s\" or \"1h30m\" (units ms, s, m, h, d), got \"" +
                  std::string{text} + "\"");
}

std::string format_duration(std::chrono::milliseconds span) {
  int64_t left = span.count();
  if (left == 0) return "0s";
  std::string text;
  for (const Unit& unit : time_units) {
    if (left < unit.size) continue;
    text += std::to_string(left / unit.size) + std::string{unit.name};
    left %= unit.size;
  }
  return text;
}

Result<int64_t> parse_bytes(std::string_view text) {
  if (const auto bytes = parse(text, byte_units)) return *bytes;
  return fail(ErrorCode::parse_failed,
              "expected a size such as \"64MiB\" (units B, KiB, MiB, GiB, TiB), got \"" +
                  std::string{text} + "\"");
}

std::string format_bytes(int64_t bytes) {
  for (const Unit& unit : byte_units) {
    if (bytes >= unit.size && bytes % unit.size == 0) {
      return std::to_string(bytes / unit.size) + std::string{unit.name};
    }
  }
  return fmt::format("{}B", bytes);
}

}  // namespace warpsmith
