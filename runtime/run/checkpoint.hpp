// SPDX-License-Identifier: Apache-2.0
// Checkpoint folders: whole or not there, checked before they are used.
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
  std::string name;  // relative to the folder, '/' between parts
  uint64_t bytes = 0;
  std::string sha256;

  bool operator==(const ManifestFile&) const = default;
};

struct CheckpointManifest {
  PolicyVersion version;
  std::string created_at;
  std::vector<ManifestFile> files;  // by name

  bool operator==(const CheckpointManifest&) const = default;
};

std::string to_json(const CheckpointManifest& manifest);
/// Rejects what is not exactly a manifest, and names that would leave the folder.
Result<CheckpointManifest> manifest_from_json(std::string_view text);

/// A checkpoint that was found whole.
struct Checkpoint {
  std::filesystem::path folder;
  CheckpointManifest manifest;
};

/// What looking for the newest checkpoint gives.
struct CheckpointSearch {
  std::optional<Checkpoint> found;
  std::vector<std::string> complaints;  // newer ones that were passed over, each with its reason
};

/// Owns `<run>/checkpoints`. `step-N` folders appear by rename, after all their files, their
/// folders and the manifest of checksums are synced: a crash leaves a whole checkpoint or a
/// temporary folder that the next opening removes.
class CheckpointStore {
 public:
  /// Fills an empty folder with a checkpoint's files; they need not be synced.
  using Writer = std::function<Result<void>(const std::filesystem::path& folder)>;

  /// Makes the folder if needed; removes temporary folders of earlier processes.
  static Result<CheckpointStore> open(const std::filesystem::path& folder);

  /// `already_exists` if that step's checkpoint is there. A failure leaves no half checkpoint; the
  /// whole one may be there if only the last sync failed.
  Result<Checkpoint> write(PolicyVersion version, const Writer& writer) const;

  /// The newest whole checkpoint with a step of at most `max_step` (what the ledger knows of; one
  /// ahead of it was never answered for). Damaged ones are passed over with a complaint; one that
  /// the system does not let us read is an error, since it may be whole.
  Result<CheckpointSearch> newest(uint32_t max_step = UINT32_MAX) const;

  /// Steps that have a folder, ascending; nothing is checked.
  Result<std::vector<uint32_t>> steps() const;
  /// Checks every file against the manifest: `corrupt` names the first that differs, is missing or
  /// is malformed; other codes say that it could not be read.
  Result<Checkpoint> verify(uint32_t step) const;

  /// Removes all but the newest `keep` (at least 1).
  Result<void> prune(size_t keep) const;
  /// After a resume from `step`: sets later folders aside, so that no later resume takes one of a
  /// lineage that was left. Only the newest such folder is kept.
  Result<void> set_aside_after(uint32_t step) const;

  std::filesystem::path path_of(uint32_t step) const;

 private:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace warpsmith
