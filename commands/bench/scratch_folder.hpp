// SPDX-License-Identifier: Apache-2.0
// A folder of this process below the system's temporary one.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "runtime/run/owned_folder.hpp"

namespace warpsmith::commands {

class ScratchFolder {
 public:
  ScratchFolder() : folder_(made()) {}
  std::filesystem::path path() const { return folder_.path(); }

 private:
  static OwnedFolder made() {
    const auto base = std::filesystem::temp_directory_path();
    OwnedFolder::sweep(base);
    auto folder = OwnedFolder::make(base);
    if (!folder) throw std::runtime_error(folder.error().message);
    return std::move(*folder);
  }

  OwnedFolder folder_;
};

}  // namespace warpsmith::commands
