// SPDX-License-Identifier: Apache-2.0
// A bounded content-addressed store of compile results on disk. Only the trusted side writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Entries are files named by their key; each carries its own checksum, and a damaged one is
/// removed and counts as absent. Several processes may share a folder.
class CompileCache {
 public:
  /// `max_bytes` 0: nothing is kept.
  static Result<CompileCache> open(const std::string& folder, uint64_t max_bytes);

  /// `key`: 64 hexadecimal digits. A hit makes the entry the most recently used.
  std::optional<std::string> find(const std::string& key);
  /// Replaces atomically, then removes least recently used entries beyond the bound. A full disk
  /// only costs the entry.
  void insert(const std::string& key, const std::string& value);

  uint64_t bytes() const { return bytes_; }

 private:
  CompileCache(std::string folder, uint64_t max_bytes);
  void shrink();

  std::string folder_;
  uint64_t max_bytes_ = 0;
  uint64_t bytes_ = 0;  // as of the last look at the folder, and what this one put there since
  uint64_t unlisted_ =
      0;  // of the latter: others put as much there, of which this one knows nothing
};

}  // namespace warpsmith::sandbox
