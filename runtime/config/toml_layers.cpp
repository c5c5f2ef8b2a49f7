// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/toml_layers.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "runtime/config/toml_scan.hpp"

namespace warpsmith {
namespace {

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

/// The first 200 bytes of a text at most, cut between UTF-8 characters.
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

}  // namespace

Place place_of(const TomlLayer& layer, const toml::node& node) {
  return {layer.name, layer.has_lines ? static_cast<int64_t>(node.source().begin.line) : 0};
}

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

namespace {

/// Takes the keys of [stage.`section`] out of a layer's `stages`; none if it has no such table. A
/// copy would lose the lines.
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

}  // namespace

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
