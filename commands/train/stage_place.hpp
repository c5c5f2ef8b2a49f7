// SPDX-License-Identifier: Apache-2.0
// Where a chain keeps the files of one stage.
#pragma once

#include <filesystem>
#include <string>

namespace warpsmith::commands {

/// The files of one stage of a chain, by its place in it.
struct StagePlace {
  std::filesystem::path root;  // stages/ of the chain
  std::string name;            // "2-warmup"

  std::filesystem::path run() const { return root / name; }
  std::filesystem::path config() const { return root / (name + ".toml"); }
  std::filesystem::path record() const { return root / (name + ".json"); }
};

StagePlace place_of(const std::filesystem::path& chain, size_t index, const std::string& name);

}  // namespace warpsmith::commands
