// SPDX-License-Identifier: Apache-2.0
// Reads TOML into fields. The file and each option are layers; the last layer that has a key wins.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "runtime/config/toml.hpp"
#include "runtime/config/toml_library.hpp"
#include "runtime/config/units.hpp"
#include "runtime/message_text.hpp"

namespace warpsmith {
namespace {

struct TomlLayer {
  std::string name;
  bool has_lines = true;
  std::filesystem::path folder;  // relative paths start here
  toml::table table;
  bool is_of_stage = false;  // the table [stage.NAME] of the layer before it
};

/// Returns false, with a complaint, if the text is not TOML.
bool parse_layer(TomlLayer& layer, const std::string& text, Complaints& complaints) {
  if (const auto fault = toml_fault(text)) {
    complaints.at({layer.name, layer.has_lines ? int64_t{fault->line} : 0}, fault->text);
    return false;
  }
  try {
    layer.table = toml::parse(text, layer.name);
    return true;
  } catch (const toml::parse_error& error) {
    const auto line = layer.has_lines ? static_cast<int64_t>(error.source().begin.line) : 0;
    complaints.at({layer.name, line}, "not TOML: " + std::string{error.description()});
  } catch (const std::runtime_error& error) {
    complaints.at({layer.name, 0}, "not TOML: " + std::string{error.what()});
  }
  return false;
}

bool is_dotted_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

/// At most the first 200 bytes of a text, cut between UTF-8 characters.
std::string beginning_of(const std::string& text) {
  constexpr size_t most = 200;
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

bool parse_override(TomlLayer& layer, const std::string& option, Complaints& complaints) {
  layer.name = "--set " + beginning_of(option);
  layer.has_lines = false;
  const size_t equals = option.find('=');
  const std::string key = option.substr(0, equals);
  if (equals == std::string::npos || !is_dotted_key(key) ||
      option.find('\n') != std::string::npos) {
    complaints.at({layer.name, 0}, "expected TABLE.KEY=VALUE on one line");
    return false;
  }
  const std::string value = option.substr(equals + 1);
  Complaints as_written;
  if (parse_layer(layer, key + " = " + value, as_written)) return true;
  return parse_layer(layer, key + " = " + quote_toml(value), complaints);
}

Place place_of(const TomlLayer& layer, const toml::node& node) {
  return {layer.name, layer.has_lines ? static_cast<int64_t>(node.source().begin.line) : 0};
}

/// Formats a value for a complaint.
std::string show(const toml::node& node) {
  std::ostringstream out;
  out << node.type();
  if (const auto* text = node.as_string())
    return out.str() + " \"" + beginning_of(text->get()) + "\"";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) {
    std::ostringstream value;
    value << number->get();
    return value.str();
  }
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return out.str();
}

/// One layer per text that is TOML; complains about the others.
std::vector<TomlLayer> parse_layers(const TomlSource& source,
                                    const std::vector<std::string>& overrides,
                                    Complaints& complaints) {
  std::vector<TomlLayer> layers;
  TomlLayer file{.name = source.name,
                 .has_lines = true,
                 .folder = std::filesystem::path{source.name}.parent_path(),
                 .table = {}};
  if (parse_layer(file, source.text, complaints)) layers.push_back(std::move(file));
  for (const std::string& option : overrides) {
    TomlLayer layer;
    if (parse_override(layer, option, complaints)) layers.push_back(std::move(layer));
  }
  return layers;
}

/// Moves the keys of [stage.`section`] out of a layer's `stages`; none if it has no such table. A
/// copy would lose the line numbers.
std::optional<toml::table> table_of(toml::table& stages, const std::string& section) {
  auto* table = stages.get_as<toml::table>(section);
  return table == nullptr ? std::nullopt : std::optional{std::move(*table)};
}

void remember_stages(const TomlLayer& layer, const toml::table& stages, Complaints& complaints) {
  for (const auto& [key, node] : stages) {
    const std::string name = "stage." + std::string{key.str()};
    if (node.is_table()) {
      complaints.remember(name, place_of(layer, node));
    } else {
      complaints.at(place_of(layer, node), name + ": expected a table, got " + show(node));
    }
  }
}

/// Takes the tables [stage.NAME] out of all layers and remembers their places. The table of
/// `section` becomes a layer after its own.
std::vector<TomlLayer> with_section(std::vector<TomlLayer> layers, const std::string& section,
                                    Complaints& complaints) {
  std::vector<TomlLayer> all;
  for (TomlLayer& layer : layers) {
    std::optional<toml::table> own;
    if (auto* stages = layer.table.get_as<toml::table>("stage")) {
      remember_stages(layer, *stages, complaints);
      own = table_of(*stages, section);
      layer.table.erase("stage");
    }
    all.push_back(std::move(layer));
    if (own) {
      TomlLayer inner{all.back().name, all.back().has_lines, all.back().folder, std::move(*own),
                      /*is_of_stage=*/true};
      all.push_back(std::move(inner));
    }
  }
  return all;
}

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

std::string show_real(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The names in quotes, separated by commas: "a", "b", "c".
std::string in_quotes(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += "\"" + std::string{name} + "\"";
  }
  return text;
}

/// The nearest name, if it is near.
std::string nearest_text(const std::string& given, std::span<const std::string_view> names) {
  const std::string nearest = nearest_name(given, {names.begin(), names.end()});
  return is_near(given, nearest) ? "; the nearest is \"" + nearest + '"' : "";
}

/// " from 1 to 5", " of at least 1", or an empty text.
template <class T, class Format>
std::string show_range(T low, T high, const Format& format) {
  const bool has_low = low != std::numeric_limits<T>::lowest();
  const bool has_high = high != std::numeric_limits<T>::max();
  if (has_low && has_high) return " from " + format(low) + " to " + format(high);
  if (has_low) return " of at least " + format(low);
  return has_high ? " of at most " + format(high) : "";
}

std::filesystem::path resolve(const TomlLayer& layer, const std::string& written) {
  return written.empty() ? std::filesystem::path{} : (layer.folder / written).lexically_normal();
}

/// Reads one table through all layers.
class TableReader final : public Fields {
 public:
  TableReader(std::vector<TomlView> views, std::string prefix, TomlReading& reading)
      : views_(std::move(views)), prefix_(std::move(prefix)), reading_(reading) {}

  void integer(std::string_view key, int64_t& value, IntegerRange range) override {
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

  void real(std::string_view key, double& value, RealRange range) override {
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

  void flag(std::string_view key, bool& value) override {
    const Found found = find(key);
    if (!found) return;
    if (const auto* node = found.node->as_boolean()) {
      value = node->get();
    } else {
      expected(found, key, "true or false");
    }
  }

  void text(std::string_view key, std::string& value) override {
    const Found found = find(key);
    if (!found) return;
    if (const auto* node = found.node->as_string()) {
      value = node->get();
    } else {
      expected(found, key, "a string");
    }
  }

  void texts(std::string_view key, std::vector<std::string>& value,
             std::span<const std::string_view> allowed) override {
    const Found found = find(key);
    if (!found) return;
    auto read = strings_of(found, key);
    if (!read) return;
    for (const std::string& element : *read) {
      if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), element) == allowed.end()) {
        complain(found, key, "expected any of " + in_quotes(allowed) + ", got \"" + element + "\"");
        return;
      }
    }
    value = std::move(*read);
  }

  void path(std::string_view key, std::filesystem::path& value) override {
    std::string read;
    const Found found = find(key);
    if (!found) return;
    text(key, read);
    if (found.node->is_string()) value = resolve(*found.layer, read);
  }

  void paths(std::string_view key, std::vector<std::filesystem::path>& value) override {
    const Found found = find(key);
    if (!found) return;
    const auto read = strings_of(found, key);
    if (!read) return;
    value.clear();
    for (const std::string& element : *read) value.push_back(resolve(*found.layer, element));
  }

  void duration(std::string_view key, std::chrono::milliseconds& value,
                DurationRange range) override {
    int64_t ms = value.count();
    quantity(key, ms, {range.low.count(), range.high.count()},
             {.what = "a duration",
              .parse = [](std::string_view text) -> Result<int64_t> {
                TRY(const auto span, parse_duration(text));
                return span.count();
              },
              .format = [](int64_t x) { return format_duration(std::chrono::milliseconds{x}); }});
    value = std::chrono::milliseconds{ms};
  }

  void bytes(std::string_view key, int64_t& value, IntegerRange range) override {
    quantity(key, value, range, {.what = "a size", .parse = parse_bytes, .format = format_bytes});
  }

  void choice(std::string_view key, const Choice& choice) override {
    const Found found = find(key);
    if (!found) return;
    const auto* node = found.node->as_string();
    const auto name = node == nullptr ? choice.names.end()
                                      : std::find(choice.names.begin(), choice.names.end(),
                                                  std::string_view{node->get()});
    if (name == choice.names.end()) {
      complain(found, key,
               "expected one of " + in_quotes(choice.names) + ", got " + show(*found.node) +
                   (node == nullptr ? "" : nearest_text(node->get(), choice.names)));
    } else {
      choice.set(static_cast<size_t>(name - choice.names.begin()));
    }
  }

  void require(std::string_view key) override {
    if (!find(key)) reading_.complaints.about(prefix_ + std::string{key}, "required, and not set");
  }

  void table(std::string_view key, const std::function<void(Fields&)>& describe) override {
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

  Found find(std::string_view key) {
    const std::string dotted = prefix_ + std::string{key};
    reading_.keys.insert(dotted);
    Found found;
    for (const TomlView& view : views_) {
      if (const toml::node* node = view.table->get(key)) found = {view.layer, node};
    }
    if (found) reading_.complaints.remember(dotted, place_of(*found.layer, *found.node));
    return found;
  }

  void complain(const Found& found, std::string_view key, const std::string& message) {
    reading_.complaints.at(place_of(*found.layer, *found.node),
                           prefix_ + std::string{key} + ": " + message);
  }

  void expected(const Found& found, std::string_view key, const std::string& what) {
    complain(found, key, "expected " + what + ", got " + show(*found.node));
  }

  std::optional<std::vector<std::string>> strings_of(const Found& found, std::string_view key) {
    std::vector<std::string> values;
    const auto* array = found.node->as_array();
    if (array != nullptr) {
      for (const toml::node& element : *array) {
        if (const auto* text = element.as_string()) values.push_back(text->get());
      }
    }
    if (array != nullptr && values.size() == array->size()) return values;
    expected(found, key, "a list of strings");
    return std::nullopt;
  }

  void quantity(std::string_view key, int64_t& value, IntegerRange range, const Unit& unit) {
    const Found found = find(key);
    if (!found) return;
    const auto read = number_with_unit(found, unit);
    if (!read) return complain(found, key, read.error().message);
    if (*read >= range.low && *read <= range.high) {
      value = *read;
      return;
    }
    expected(found, key, unit.what + show_range(range.low, range.high, unit.format));
  }

  static Result<int64_t> number_with_unit(const Found& found, const Unit& unit) {
    if (const auto* number = found.node->as_integer()) return number->get();
    if (const auto* text = found.node->as_string()) return unit.parse(text->get());
    return fail(ErrorCode::parse_failed,
                "expected " + std::string{unit.what} + ", got " + show(*found.node));
  }

  std::vector<TomlView> views_;
  std::string prefix_;
  TomlReading& reading_;
};

/// Names the nearest key; if a table is nearer (learner.stepp for learner.step.epochs), the table
/// with its keys.
std::string key_hint(const std::string& dotted, const TomlReading& reading) {
  std::set<std::string> all = reading.keys;
  all.insert(reading.tables.begin(), reading.tables.end());
  const std::string found = nearest_path(dotted, all);
  if (!reading.tables.contains(found)) return "the nearest is " + found;
  std::string keys;
  for (const std::string& key : reading.keys) {
    const bool inside = key.starts_with(found + ".") && key.rfind('.') == found.size();
    if (inside) keys += (keys.empty() ? "" : ", ") + key;
  }
  return "the nearest is the table " + found + " with the keys " + keys;
}

/// Names the nearest table, or all of them: there are few tables, but hundreds of keys.
std::string table_hint(const std::string& dotted, const std::set<std::string>& tables) {
  const std::string found = nearest_path(dotted, tables);
  return is_near(dotted, found) || found.ends_with("." + dotted) ? "the nearest is " + found
                                                                 : list_of(tables);
}

void report_unknown(const TomlView& view, const std::string& prefix, TomlReading& reading) {
  for (const auto& [key, node] : *view.table) {
    const std::string name{key.str()};
    const std::string dotted = prefix + name;
    const bool quoted = name.find('.') != std::string::npos;  // "a.b" = 1 is not key b of table a
    if (!quoted && reading.tables.contains(dotted)) {
      if (const auto* inner = node.as_table()) {
        report_unknown({view.layer, inner}, dotted + ".", reading);
      }
      continue;
    }
    if (!quoted && reading.keys.contains(dotted)) continue;
    const bool is_table = node.is_table();
    std::string text = is_table ? "unknown table " : "unknown key ";
    text += quoted ? prefix : dotted;
    if (quoted) text.append("\"").append(name).append("\"");
    text += "; " + (is_table ? table_hint(dotted, reading.tables) : key_hint(dotted, reading));
    reading.complaints.at(place_of(*view.layer, node), std::move(text));
  }
}

}  // namespace

bool read_toml(const TomlSource& source, const std::vector<std::string>& overrides,
               const Describe& describe, Complaints& complaints) {
  std::vector<TomlLayer> parsed = parse_layers(source, overrides, complaints);
  if (parsed.size() != overrides.size() + 1) return false;
  const auto layers = with_section(std::move(parsed), source.section, complaints);
  std::vector<TomlView> views;
  views.reserve(layers.size());
  for (const TomlLayer& layer : layers) views.push_back({&layer, &layer.table});
  TomlReading reading{complaints, {}, {}};
  TableReader reader{views, "", reading};
  describe(reader);
  for (const TomlView& view : views) report_unknown(view, "", reading);
  return true;
}

std::set<std::string> keys_of_section(const TomlSource& source,
                                      const std::vector<std::string>& overrides,
                                      const std::set<std::string>& keys) {
  Complaints ignored;
  std::set<std::string> found;
  const auto layers =
      with_section(parse_layers(source, overrides, ignored), source.section, ignored);
  for (const TomlLayer& layer : layers) {
    for (const std::string& key : keys) {
      if (!layer.table.at_path(key)) continue;
      if (layer.is_of_stage) {
        found.insert(key);
      } else {
        found.erase(key);
      }
    }
  }
  return found;
}

}  // namespace warpsmith
