// SPDX-License-Identifier: Apache-2.0
// Converts records to and from JSON, using their single list of fields. Include it only in sources,
// because it includes the JSON library.
//
// Numbers that are not finite are the strings "nan", "inf" and "-inf". Integers beyond 2^53, which
// other readers would round (hashes, seeds), are strings of digits. An enum is its name, an empty
// optional is null. A record with `json_as_array` is an array of its values.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/describe.hpp"
#include "runtime/json_text.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

inline constexpr int64_t exact_json_integer = int64_t{1} << 53;

/// A record that is a JSON array of its values, e.g. an interval.
template <class T>
concept DescribedAsArray = Described<T> && T::json_as_array;

namespace json_detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
nlohmann::json write_number(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  } else if (std::cmp_greater(value, exact_json_integer) ||
             std::cmp_less(value, -exact_json_integer)) {
    return std::to_string(value);
  }
  return value;
}

}  // namespace json_detail

template <class T>
nlohmann::json json_of(const T& value) {
  using nlohmann::json;
  if constexpr (std::is_same_v<T, JsonText>) {
    json parsed = value.empty() ? json() : json::parse(value, nullptr, false);
    return parsed.is_discarded() ? json(std::string(value)) : parsed;
  } else if constexpr (DescribedAsArray<T>) {
    json out = json::array();
    T::describe([&](std::string_view, const auto& field) { out.push_back(json_of(field)); }, value);
    return out;
  } else if constexpr (Described<T>) {
    json out = json::object();
    T::describe([&](std::string_view name, const auto& field) { out[name] = json_of(field); },
                value);
    return out;
  } else if constexpr (NamedEnum<T>) {
    return to_string(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return json_detail::write_number(value);
  } else if constexpr (json_detail::is_optional<T>) {
    return value ? json_of(*value) : json(nullptr);
  } else if constexpr (requires { typename T::mapped_type; }) {
    json out = json::object();
    for (const auto& [name, element] : value) out[name] = json_of(element);
    return out;
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string_view{value};
  } else {
    json out = json::array();
    for (const auto& element : value) out.push_back(json_of(element));
    return out;
  }
}

namespace json_detail {

/// "shapes[0].eager_ms: expected a number, found "fast"".
tl::unexpected<Error> misfit(const std::string& place, const char* expected,
                             const nlohmann::json& found);
Result<void> check_fields(const nlohmann::json& json, const std::vector<std::string_view>& names,
                          const std::string& place);
Result<double> read_real(const nlohmann::json& json, const std::string& place);
Result<int64_t> read_signed(const nlohmann::json& json, int64_t low, int64_t high,
                            const std::string& place);
Result<uint64_t> read_unsigned(const nlohmann::json& json, uint64_t high, const std::string& place);

inline std::string element(const std::string& place, size_t index) {
  return fmt::format("{}[{}]", place, index);
}
inline std::string field(const std::string& place, std::string_view name) {
  return place.empty() ? std::string{name} : place + '.' + std::string{name};
}

template <class T>
Result<void> read(const nlohmann::json& json, T& value, const std::string& place);

template <class T>
Result<void> read_record(const nlohmann::json& json, T& record, const std::string& place) {
  std::vector<std::string_view> names;
  T::describe([&](std::string_view name, auto&) { names.push_back(name); }, record);
  TRY_VOID(check_fields(json, names, place));
  Result<void> done;
  T::describe(
      [&](std::string_view name, auto& into) {
        const auto found = json.find(name);
        if (!done || (found == json.end() && is_optional<std::remove_cvref_t<decltype(into)>>)) {
          return;
        }
        done = found == json.end()
                   ? fail(ErrorCode::parse_failed, field(place, name) + ": the field is missing")
                   : read(*found, into, field(place, name));
      },
      record);
  if constexpr (requires { record.validate(); }) {
    if (done) done = record.validate();
  }
  return done;
}

template <class T>
Result<void> read_as_array(const nlohmann::json& json, T& record, const std::string& place) {
  size_t count = 0;
  T::describe([&](std::string_view, auto&) { ++count; }, record);
  if (!json.is_array() || json.size() != count)
    return misfit(place, "an array of its fields", json);
  Result<void> done;
  size_t index = 0;
  T::describe(
      [&](std::string_view, auto& into) {
        if (done) done = read(json[index], into, element(place, index));
        ++index;
      },
      record);
  return done;
}

template <class T>
Result<void> read_number(const nlohmann::json& json, T& value, const std::string& place) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    TRY(const double read, read_real(json, place));
    value = static_cast<T>(read);
  } else if constexpr (std::is_signed_v<T>) {
    TRY(const int64_t read, read_signed(json, Limits::min(), Limits::max(), place));
    value = static_cast<T>(read);
  } else {
    TRY(const uint64_t read, read_unsigned(json, Limits::max(), place));
    value = static_cast<T>(read);
  }
  return {};
}

template <class T>
Result<void> read_elements(const nlohmann::json& json, T& values, const std::string& place) {
  if (!json.is_array()) return misfit(place, "an array", json);
  if constexpr (requires { std::tuple_size<T>::value; }) {
    if (json.size() != values.size()) return misfit(place, "an array of its length", json);
    for (size_t i = 0; i < json.size(); ++i) TRY_VOID(read(json[i], values[i], element(place, i)));
    return {};
  } else {
    values.clear();
    for (size_t i = 0; i < json.size(); ++i) {
      typename T::value_type one{};
      TRY_VOID(read(json[i], one, element(place, i)));
      values.insert(values.end(), std::move(one));
    }
    return {};
  }
}

template <class T>
Result<void> read_map(const nlohmann::json& json, T& values, const std::string& place) {
  if (!json.is_object()) return misfit(place, "an object", json);
  values.clear();
  for (const auto& [name, found] : json.items()) {
    TRY_VOID(read(found, values[name], field(place, name)));
  }
  return {};
}

template <class T>
Result<void> read(const nlohmann::json& json, T& value, const std::string& place) {
  if constexpr (std::is_same_v<T, JsonText>) {
    value = json.is_string() ? json.get<std::string>() : json.is_null() ? "" : json_text(json);
  } else if constexpr (DescribedAsArray<T>) {
    return read_as_array(json, value, place);
  } else if constexpr (Described<T>) {
    return read_record(json, value, place);
  } else if constexpr (NamedEnum<T>) {
    const auto named =
        json.is_string() ? enum_of<T>(json.get_ref<const std::string&>()) : std::optional<T>{};
    if (!named) return misfit(place, "one of the known names", json);
    value = *named;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return misfit(place, "true or false", json);
    value = json.get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    return read_number(json, value, place);
  } else if constexpr (is_optional<T>) {
    if (json.is_null()) {
      value.reset();
      return {};
    }
    return read(json, value.emplace(), place);
  } else if constexpr (requires { typename T::mapped_type; }) {
    return read_map(json, value, place);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return misfit(place, "a string", json);
    value = json.get<std::string>();
  } else {
    return read_elements(json, value, place);
  }
  return {};
}

}  // namespace json_detail

/// Returns the record, or `parse_failed` with the place of an unknown, missing or mistyped field.
/// `place` is put in front, e.g. a file and line.
template <class T>
Result<T> from_json(const nlohmann::json& json, const std::string& place = {}) {
  T value{};
  TRY_VOID(json_detail::read(json, value, place));
  return value;
}

/// The same from text.
template <class T>
Result<T> from_json_text(std::string_view text, const std::string& place = {}) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return fail(ErrorCode::parse_failed, (place.empty() ? "" : place + ": ") + "not JSON");
  }
  return from_json<T>(json, place);
}

}  // namespace warpsmith
