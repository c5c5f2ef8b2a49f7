// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace warpsmith {

/// Removes a tree that untrusted code may have made: follows no links, does not recurse, and makes
/// folders writable first, so neither depth nor missing permissions stop it. True if it is gone.
bool remove_tree(const std::filesystem::path& tree);

}  // namespace warpsmith
