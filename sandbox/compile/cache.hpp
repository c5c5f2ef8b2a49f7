// SPDX-License-Identifier: Apache-2.0
// A bounded content-addressed store of compile results on disk. Only the trusted side writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Entries are files named by their key, each with its checksum. A damaged one is removed and
/// counts as absent. Several processes may share a folder.
class CompileCache {
 public:
  /// `max_bytes` 0: keeps nothing.
  static Result<CompileCache> open(const std::string& folder, uint64_t max_bytes);

  /// `key`: 64 hexadecimal digits. A hit makes the entry the most recently used.
  std::optional<std::string> find(const std::string& key);
  /// Replaces the entry atomically, then removes the least recently used ones beyond the bound. If
  /// the disk is full, the entry is not kept.
  void insert(const std::string& key, const std::string& value);

  uint64_t bytes() const { return bytes_; }

 private:
  CompileCache(std::string folder, uint64_t max_bytes);
  void shrink();

  std::string folder_;
  uint64_t max_bytes_ = 0;
  uint64_t bytes_ = 0;     // when the folder was last listed, and inserted here since
  uint64_t unlisted_ = 0;  // inserted here since; other processes insert as much unseen
};

}  // namespace warpsmith::sandbox
