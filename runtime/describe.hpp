// SPDX-License-Identifier: Apache-2.0
// The single list of a record's fields. Wire bytes (runtime/codec.hpp), JSON (runtime/json.hpp) and
// database columns (runtime/run/) come from it, so none of them can miss a field.
//
//   struct Interval {
//     double low = 0;
//     double high = 0;
//     WARPSMITH_RECORD(low, high)
//   };
//
// The order of the fields is the format on disk and on the wire: add new fields at the end, and
// raise the version of every format that contains the record. A list that misses a member does not
// compile.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#define WARPSMITH_PARENTHESES ()
#define WARPSMITH_EXPAND(...) WARPSMITH_EXPAND1(WARPSMITH_EXPAND1(WARPSMITH_EXPAND1(__VA_ARGS__)))
#define WARPSMITH_EXPAND1(...) WARPSMITH_EXPAND2(WARPSMITH_EXPAND2(WARPSMITH_EXPAND2(__VA_ARGS__)))
#define WARPSMITH_EXPAND2(...) WARPSMITH_EXPAND3(WARPSMITH_EXPAND3(WARPSMITH_EXPAND3(__VA_ARGS__)))
#define WARPSMITH_EXPAND3(...) __VA_ARGS__
/// macro(a) macro(b) …
#define WARPSMITH_EACH(macro, ...) \
  __VA_OPT__(WARPSMITH_EXPAND(WARPSMITH_EACH_STEP(macro, __VA_ARGS__)))
#define WARPSMITH_EACH_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(WARPSMITH_EACH_AGAIN WARPSMITH_PARENTHESES(macro, __VA_ARGS__))
#define WARPSMITH_EACH_AGAIN() WARPSMITH_EACH_STEP
/// macro(a), macro(b), …
#define WARPSMITH_LIST(macro, ...) \
  __VA_OPT__(WARPSMITH_EXPAND(WARPSMITH_LIST_STEP(macro, __VA_ARGS__)))
#define WARPSMITH_LIST_STEP(macro, first, ...) \
  macro(first) __VA_OPT__(, WARPSMITH_LIST_AGAIN WARPSMITH_PARENTHESES(macro, __VA_ARGS__))
#define WARPSMITH_LIST_AGAIN() WARPSMITH_LIST_STEP

#define WARPSMITH_BIND_FIELD(name) bound_##name
#define WARPSMITH_VISIT_FIELD(name) fields(#name, record.name);

/// Defines `T::describe(fields, record)`, which calls `fields(name, value)` for each field in
/// order. The structured binding fails to compile unless the list names every member.
#define WARPSMITH_RECORD(...)                                                            \
  template <class Fields, class Record>                                                  \
  static constexpr void describe(Fields&& fields, Record& record) {                      \
    [[maybe_unused]] auto& [WARPSMITH_LIST(WARPSMITH_BIND_FIELD, __VA_ARGS__)] = record; \
    WARPSMITH_EACH(WARPSMITH_VISIT_FIELD, __VA_ARGS__)                                   \
  }

namespace warpsmith {

/// A string of JSON, e.g. a verdict's evidence; the record's JSON embeds it. Empty for none.
struct JsonText : std::string {
  using std::string::string;
  JsonText(std::string text) : std::string(std::move(text)) {}
};

struct IgnoredFields {
  void operator()(std::string_view, const auto&) const {}
};

/// A record with WARPSMITH_RECORD.
template <class T>
concept Described = requires(T& record) { T::describe(IgnoredFields{}, record); };

/// An enum whose values count from 0 and have names: `constexpr auto names_of(E)` returns them in
/// order. Files, databases and messages contain the names.
template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) { names_of(value).size(); };

template <NamedEnum E>
inline constexpr auto enum_names = names_of(E{});

/// "unknown" for a number outside the enum.
template <NamedEnum E>
constexpr std::string_view to_string(E value) noexcept {
  const auto index = static_cast<size_t>(value);
  return index < enum_names<E>.size() ? enum_names<E>[index] : std::string_view{"unknown"};
}

/// The value with that name; nullopt if there is none.
template <NamedEnum E>
constexpr std::optional<E> enum_of(std::string_view name) noexcept {
  for (size_t i = 0; i < enum_names<E>.size(); ++i) {
    if (enum_names<E>[i] == name) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace warpsmith
