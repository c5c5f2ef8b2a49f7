// SPDX-License-Identifier: Apache-2.0
#include "commands/train/stage_place.hpp"

namespace warpsmith::commands {

StagePlace place_of(const std::filesystem::path& chain, size_t index, const std::string& name) {
  return {chain / "stages", std::to_string(index + 1) + '-' + name};
}

}  // namespace warpsmith::commands
