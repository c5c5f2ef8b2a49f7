// SPDX-License-Identifier: Apache-2.0
// A folder of this process in the system's temporary one. Removed at the end; if this process was
// killed, by the next one that makes such a folder.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "sandbox/workspace/workspace.hpp"

namespace warpsmith::actors {

class ScratchFolder {
 public:
  ScratchFolder() : base_(opened()), path_(base_.folder() / "scratch") {
    std::filesystem::create_directory(path_);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  static sandbox::WorkspaceBase opened() {
    auto base = sandbox::WorkspaceBase::open(std::filesystem::temp_directory_path());
    if (!base) throw std::runtime_error(base.error().message);
    return std::move(*base);
  }

  sandbox::WorkspaceBase base_;
  std::filesystem::path path_;
};

}  // namespace warpsmith::actors
