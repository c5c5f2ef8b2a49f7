// SPDX-License-Identifier: Apache-2.0
// The texts of one reading as parsed tables. The file and each option are layers; the last layer
// that has a key wins.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/toml.hpp"
#include "runtime/config/toml_library.hpp"

namespace warpsmith {

struct TomlLayer {
  std::string name;
  bool has_lines = true;
  std::filesystem::path folder;  // relative paths start here
  toml::table table;
  bool is_of_stage = false;  // the table [stage.NAME] of the layer before it
};

Place place_of(const TomlLayer& layer, const toml::node& node);

/// Formats a value for a complaint.
std::string show(const toml::node& node);

/// One layer per text that is TOML; complains about the others.
std::vector<TomlLayer> parse_layers(const TomlSource& source,
                                    const std::vector<std::string>& overrides,
                                    Complaints& complaints);

/// Takes the tables [stage.NAME] out of all layers and remembers their places. That of `section`
/// becomes a layer after its own.
std::vector<TomlLayer> with_section(std::vector<TomlLayer> layers, const std::string& section,
                                    Complaints& complaints);

}  // namespace warpsmith
