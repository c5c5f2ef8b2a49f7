// SPDX-License-Identifier: Apache-2.0
// The texts of one reading as parsed tables: the file and each option are layers; the last layer
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
};

Place place_of(const TomlLayer& layer, const toml::node& node);

/// A value as a complaint shows it.
std::string show(const toml::node& node);

/// One layer per text that is TOML; the others are complained about.
std::vector<TomlLayer> parse_layers(const TomlSource& source,
                                    const std::vector<std::string>& overrides,
                                    Complaints& complaints);

}  // namespace warpsmith
