// SPDX-License-Identifier: Apache-2.0
// Reads TOML text into the fields of a `describe` function and writes it back. Nothing else uses
// the TOML library.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

using Describe = std::function<void(Fields&)>;

/// A text, and the name that complaints give it; relative paths in it start from that file.
struct TomlSource {
  std::string name;
  std::string text;
  std::string section = "";  // NAME of a table [stage.NAME]; empty: none
};

/// Fills the fields that `describe` lists. Unknown keys (with the nearest valid one), wrong types,
/// values out of range and missing required keys all go to `complaints`; a field with a complaint
/// keeps its default. `overrides` are "a.b=value", applied in order; the value is in TOML's syntax
/// or a bare word. The keys of [stage.SECTION] replace those of the same text; other tables
/// [stage.NAME] are not read, but `complaints` remembers the place of each as "stage.NAME". Returns
/// false if a text is not TOML: then no field was read, and missing keys are not reported.
bool read_toml(const TomlSource& source, const std::vector<std::string>& overrides,
               const Describe& describe, Complaints& complaints);

/// Returns those of the dotted `keys` whose effective value is set in [stage.SECTION]; an option
/// that sets the key for all stages overrides the table. None if a text is not TOML.
std::set<std::string> keys_of_section(const TomlSource& source,
                                      const std::vector<std::string>& overrides,
                                      const std::set<std::string>& keys);

/// A TOML basic string, quotes included.
std::string quote_toml(std::string_view text);

/// Every field with its value, in the order of `describe`. read_toml reads it back unchanged.
std::string write_toml(const Describe& describe);

}  // namespace warpsmith
