// SPDX-License-Identifier: Apache-2.0
// Numbers and tables as text for readers. Values of a configuration are written by units.hpp.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith {

/// Editors put it in front of files; it is not part of the text.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The text after its byte order mark, if it has one.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

/// Formats with four significant digits in the largest unit that is not above the size: "1.25 GiB",
/// "300 MiB".
std::string size_text(double bytes);
std::string size_text(std::integral auto bytes) {
  return size_text(static_cast<double>(bytes));
}

/// Formats with that many decimals; "-" if there is no value.
std::string number_text(const std::optional<double>& value, int decimals);

/// Formats about three significant digits, without an exponent below 100,000.
std::string brief_text(double value);

/// Formats a share of 1 in whole percent, "43 %"; "-" if there is none.
std::string percent_text(const std::optional<double>& share);

/// Formats a span as "1h02m", "3m10s", "20 s", "1.5 s" or "0.25 s": below a minute to a tenth of a
/// second, below half a second to a millisecond.
std::string duration_text(std::chrono::nanoseconds span);

/// Formats rows of at least one cell as lines, two spaces between columns. `columns` has a letter
/// per column: 'l' aligns it left, 'r' right. The last cell of a row that ends early does not widen
/// its column, so it may be a heading or a sentence.
std::string text_table(std::string_view columns, const std::vector<std::vector<std::string>>& rows);

}  // namespace warpsmith
