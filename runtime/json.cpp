// SPDX-License-Identifier: Apache-2.0
#include "runtime/json.hpp"

#include <algorithm>
#include <charconv>

namespace warpsmith::json_detail {
namespace {

using nlohmann::json;

std::string found_text(const json& found) {
  constexpr size_t most = 60;
  const std::string text = json_text(found);
  return text.size() <= most ? text : text.substr(0, most) + "…";
}

/// An integer that is written as a string of digits.
template <class T>
std::optional<T> from_digits(const json& value) {
  const auto& text = value.get_ref<const std::string&>();
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <class T>
std::optional<T> integer_in(const json& value) {
  if (value.is_string()) return from_digits<T>(value);
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<int64_t>();
  return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
}

}  // namespace

tl::unexpected<Error> misfit(const std::string& place, const char* expected, const json& found) {
  return fail(ErrorCode::parse_failed, (place.empty() ? "the value" : place) + ": expected " +
                                           expected + ", found " + found_text(found));
}

Result<void> check_fields(const json& value, const std::vector<std::string_view>& names,
                          const std::string& place) {
  if (!value.is_object()) return misfit(place, "an object", value);
  for (const auto& [name, unused] : value.items()) {
    if (std::ranges::find(names, name) == names.end()) {
      return fail(ErrorCode::parse_failed, field(place, name) + ": unknown field");
    }
  }
  return {};
}

Result<double> read_real(const json& value, const std::string& place) {
  if (value.is_number()) return value.get<double>();
  using Limits = std::numeric_limits<double>;
  if (value == "nan") return Limits::quiet_NaN();
  if (value == "inf") return Limits::infinity();
  if (value == "-inf") return -Limits::infinity();
  return misfit(place, "a number", value);
}

Result<int64_t> read_signed(const json& value, int64_t low, int64_t high,
                            const std::string& place) {
  const auto number = integer_in<int64_t>(value);
  if (!number || *number < low || *number > high) {
    return misfit(place, "an integer of its range", value);
  }
  return *number;
}

Result<uint64_t> read_unsigned(const json& value, uint64_t high, const std::string& place) {
  const auto number = integer_in<uint64_t>(value);
  if (!number || *number > high) return misfit(place, "a non-negative integer of its range", value);
  return *number;
}

}  // namespace warpsmith::json_detail
