// SPDX-License-Identifier: Apache-2.0
// Reads fields from the layers of one TOML reading. Plain values are in table_reader.cpp; lists,
// paths and numbers with a unit in table_reader_values.cpp.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/config/toml_layers.hpp"

namespace warpsmith {

/// One table of one layer.
struct TomlView {
  const TomlLayer* layer = nullptr;
  const toml::table* table = nullptr;
};

/// The state that all tables of one reading share.
struct TomlReading {
  Complaints& complaints;
  std::set<std::string> keys;    // every valid dotted key
  std::set<std::string> tables;  // every valid dotted table
};

/// Reads one table through all layers.
class TableReader final : public Fields {
 public:
  TableReader(std::vector<TomlView> views, std::string prefix, TomlReading& reading)
      : views_(std::move(views)), prefix_(std::move(prefix)), reading_(reading) {}

  void integer(std::string_view key, int64_t& value, IntegerRange range) override;
  void real(std::string_view key, double& value, RealRange range) override;
  void flag(std::string_view key, bool& value) override;
  void text(std::string_view key, std::string& value) override;
  void texts(std::string_view key, std::vector<std::string>& value,
             std::span<const std::string_view> allowed) override;
  void path(std::string_view key, std::filesystem::path& value) override;
  void paths(std::string_view key, std::vector<std::filesystem::path>& value) override;
  void duration(std::string_view key, std::chrono::milliseconds& value,
                DurationRange range) override;
  void bytes(std::string_view key, int64_t& value, IntegerRange range) override;
  void choice(std::string_view key, const Choice& choice) override;
  void require(std::string_view key) override;
  void table(std::string_view key, const std::function<void(Fields&)>& describe) override;

 private:
  struct Found {
    const TomlLayer* layer = nullptr;
    const toml::node* node = nullptr;
    explicit operator bool() const { return node != nullptr; }
  };
  /// How to parse, format and name a number with a unit.
  struct Unit {
    const char* what;
    std::function<Result<int64_t>(std::string_view)> parse;
    std::function<std::string(int64_t)> format;
  };

  Found find(std::string_view key);
  void complain(const Found& found, std::string_view key, const std::string& message);
  void expected(const Found& found, std::string_view key, const std::string& what);
  std::optional<std::vector<std::string>> strings_of(const Found& found, std::string_view key);
  void quantity(std::string_view key, int64_t& value, IntegerRange range, const Unit& unit);
  static Result<int64_t> number_with_unit(const Found& found, const Unit& unit);

  std::vector<TomlView> views_;
  std::string prefix_;
  TomlReading& reading_;
};

/// The names in quotes, separated by commas: "a", "b", "c".
std::string in_quotes(std::span<const std::string_view> names);

/// " from 1 to 5", " of at least 1", or an empty text.
template <class T, class Format>
std::string show_range(T low, T high, const Format& format) {
  const bool has_low = low != std::numeric_limits<T>::lowest();
  const bool has_high = high != std::numeric_limits<T>::max();
  if (has_low && has_high) return " from " + format(low) + " to " + format(high);
  if (has_low) return " of at least " + format(low);
  return has_high ? " of at most " + format(high) : "";
}

}  // namespace warpsmith
