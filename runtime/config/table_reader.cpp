// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/table_reader.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace warpsmith {
namespace {

std::string show_real(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

std::string in_quotes(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += "\"" + std::string{name} + "\"";
  }
  return text;
}

TableReader::Found TableReader::find(std::string_view key) {
  const std::string dotted = prefix_ + std::string{key};
  reading_.keys.insert(dotted);
  Found found;
  for (const TomlView& view : views_) {
    if (const toml::node* node = view.table->get(key)) found = {view.layer, node};
  }
  if (found) reading_.complaints.remember(dotted, place_of(*found.layer, *found.node));
  return found;
}

void TableReader::complain(const Found& found, std::string_view key, const std::string& message) {
  reading_.complaints.at(place_of(*found.layer, *found.node),
                         prefix_ + std::string{key} + ": " + message);
}

void TableReader::expected(const Found& found, std::string_view key, const std::string& what) {
  complain(found, key, "expected " + what + ", got " + show(*found.node));
}

void TableReader::integer(std::string_view key, int64_t& value, IntegerRange range) {
  const Found found = find(key);
  if (!found) return;
  const auto* node = found.node->as_integer();
  if (node != nullptr && node->get() >= range.low && node->get() <= range.high) {
    value = node->get();
    return;
  }
  const auto format = [](int64_t x) { return std::to_string(x); };
  expected(found, key, "an integer" + show_range(range.low, range.high, format));
}

void TableReader::real(std::string_view key, double& value, RealRange range) {
  const Found found = find(key);
  if (!found) return;
  const auto number =
      found.node->is_number() ? found.node->value<double>() : std::optional<double>{};
  const bool fits = number && std::isfinite(*number) && *number <= range.high &&
                    (range.above_low ? *number > range.low : *number >= range.low);
  if (fits) {
    value = *number;
    return;
  }
  expected(found, key,
           "a number" + show_range(range.low, range.high, show_real) +
               (range.above_low ? ", the low end excluded" : ""));
}

void TableReader::flag(std::string_view key, bool& value) {
  const Found found = find(key);
  if (!found) return;
  if (const auto* node = found.node->as_boolean()) {
    value = node->get();
  } else {
    expected(found, key, "true or false");
  }
}

void TableReader::text(std::string_view key, std::string& value) {
  const Found found = find(key);
  if (!found) return;
  if (const auto* node = found.node->as_string()) {
    value = node->get();
  } else {
    expected(found, key, "a string");
  }
}

void TableReader::choice(std::string_view key, const Choice& choice) {
  const Found found = find(key);
  if (!found) return;
  const auto* node = found.node->as_string();
  const auto name = node == nullptr ? choice.names.end()
                                    : std::find(choice.names.begin(), choice.names.end(),
                                                std::string_view{node->get()});
  if (name == choice.names.end()) {
    expected(found, key, "one of " + in_quotes(choice.names));
  } else {
    choice.set(static_cast<size_t>(name - choice.names.begin()));
  }
}

void TableReader::require(std::string_view key) {
  if (!find(key)) reading_.complaints.about(prefix_ + std::string{key}, "required, and not set");
}

void TableReader::table(std::string_view key, const std::function<void(Fields&)>& describe) {
  const std::string dotted = prefix_ + std::string{key};
  reading_.tables.insert(dotted);
  std::vector<TomlView> views;
  for (const TomlView& view : views_) {
    const toml::node* node = view.table->get(key);
    if (node == nullptr) continue;
    if (const auto* inner = node->as_table()) {
      views.push_back({view.layer, inner});
    } else {
      reading_.complaints.at(place_of(*view.layer, *node),
                             dotted + ": expected a table, got " + show(*node));
    }
  }
  TableReader reader{std::move(views), dotted + ".", reading_};
  describe(reader);
}

}  // namespace warpsmith
