// SPDX-License-Identifier: Apache-2.0
// Reads TOML into fields and complains about unknown keys.
#include "runtime/config/nearest_name.hpp"
#include "runtime/config/table_reader.hpp"

namespace warpsmith {
namespace {

std::string nearest(const std::string& dotted, const std::set<std::string>& names) {
  // The same word in another table is nearer than another spelling in this one.
  const std::string word = dotted.substr(dotted.rfind('.') + 1);
  for (const std::string& name : names) {
    if (name.substr(name.rfind('.') + 1) == word) return name;
  }
  return nearest_name(dotted, names);
}

/// Names the nearest table, or all of them: there are few tables, but hundreds of keys.
std::string table_hint(const std::string& dotted, const std::set<std::string>& tables) {
  const std::string found = nearest(dotted, tables);
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
    text += "; " + (is_table ? table_hint(dotted, reading.tables)
                             : "the nearest is " + nearest(dotted, reading.keys));
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

}  // namespace warpsmith
