// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/source_hash.hpp"

#include "runtime/checksum.hpp"

namespace warpsmith::sandbox {

std::string source_hash(const FileSet& files) {
  std::string bytes;
  for (const auto& [name, content] : files) {
    // Lengths separate names from contents, whatever bytes they contain.
    bytes.append(std::to_string(name.size())).append(" ").append(name);
    bytes.append(std::to_string(content.size())).append(" ").append(content);
  }
  return sha256_hex(bytes);
}

}  // namespace warpsmith::sandbox
