// SPDX-License-Identifier: Apache-2.0
// Checkpoint folders: written completely or not at all, and verified before use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/policy_version.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// One file of a checkpoint, as its manifest lists it.
struct ManifestFile {
  std::string name;  // relative to the folder, with '/' between parts
  uint64_t bytes = 0;
  std::string xxh3;

  bool operator==(const ManifestFile&) const = default;
};

struct CheckpointManifest {
  PolicyVersion version;
  std::string created_at;
  std::vector<ManifestFile> files;  // sorted by name

  bool operator==(const CheckpointManifest&) const = default;
};

std::string to_json(const CheckpointManifest& manifest);
/// Rejects anything that is not exactly a manifest, and file names that lead out of the folder.
Result<CheckpointManifest> manifest_from_json(std::string_view text);

/// A verified checkpoint.
struct Checkpoint {
  std::filesystem::path folder;
  CheckpointManifest manifest;
};

/// The result of a search for the newest checkpoint.
struct CheckpointSearch {
  std::optional<Checkpoint> found;
  std::vector<std::string> complaints;  // why newer checkpoints were skipped, one each
};

/// Owns `<run>/checkpoints`. A `step-N` folder appears by rename, after all its files, folders and
/// the manifest of checksums are synced: a crash leaves a complete checkpoint, or a temporary
/// folder that the next opening removes.
class CheckpointStore {
 public:
  /// Writes a checkpoint's files into an empty folder; it need not sync them.
  using Writer = std::function<Result<void>(const std::filesystem::path& folder)>;

  /// Creates the folder if needed and removes temporary folders of earlier processes.
  static Result<CheckpointStore> open(const std::filesystem::path& folder);

  /// `already_exists` if there is a checkpoint of that step. Repeats a write that fails for a
  /// reason that may pass, so `writer` may be called again. A failure leaves no partial checkpoint;
  /// it may leave the complete one if only the last sync failed.
  Result<Checkpoint> write(PolicyVersion version, const Writer& writer) const;

  /// The newest intact checkpoint with a step of at most `max_step`: the ledger's last step, since
  /// a later checkpoint was never acknowledged. Skips damaged ones with a complaint; fails at one
  /// that the system refuses to read, since it may be intact.
  Result<CheckpointSearch> newest(uint32_t max_step = UINT32_MAX) const;

  /// The steps that have a folder, ascending. Verifies nothing.
  Result<std::vector<uint32_t>> steps() const;
  /// Checks every file against the manifest. `corrupt` names the first that differs, is missing or
  /// is malformed; any other code means that it could not be read.
  Result<Checkpoint> verify(uint32_t step) const;

  /// Removes all but the newest `keep` (at least 1).
  Result<void> prune(size_t keep) const;
  /// After a resume from `step`: moves later folders aside, so that no later resume takes one from
  /// the abandoned lineage. Keeps only the newest such folder.
  Result<void> set_aside_after(uint32_t step) const;

  std::filesystem::path path_of(uint32_t step) const;

 private:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<Checkpoint> write_to(const std::filesystem::path& target, PolicyVersion version,
                              const Writer& writer) const;

  std::filesystem::path folder_;
};

}  // namespace warpsmith
