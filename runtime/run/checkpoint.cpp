// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/checkpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <system_error>

#include "runtime/clock.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view step_prefix = "step-";
constexpr std::string_view temporary_prefix = ".tmp-";
constexpr std::string_view aside_prefix = "aside-";
constexpr const char* manifest_name = "manifest.json";
constexpr size_t max_manifest_bytes = size_t{16} << 20U;

std::optional<uint32_t> step_of(const std::string& name) {
  if (name.rfind(step_prefix, 0) != 0) return std::nullopt;
  uint32_t step = 0;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + step_prefix.size(), last, step);
  const bool plain = error == std::errc{} && end == last && name == "step-" + std::to_string(step);
  return plain ? std::optional(step) : std::nullopt;
}

Result<std::vector<std::string>> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it{folder, error}, end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return fail_with_errno("cannot list", folder, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> remove_whole(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return fail_with_errno("cannot remove", folder, error.value());
  return {};
}

Result<void> rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return fail_with_errno("cannot rename to", to, errno);
}

/// Lists the regular files below `folder` by relative name; fails if there is anything else.
Result<std::vector<std::string>> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator it{folder, error}, end; !error && it != end;
       it.increment(error)) {
    if (it->is_directory() && !it->is_symlink()) continue;
    if (!it->is_regular_file() || it->is_symlink()) {
      return fail(ErrorCode::invalid_argument, it->path().string() + ": expected a regular file");
    }
    names.push_back(it->path().lexically_relative(folder).generic_string());
  }
  if (error) return fail_with_errno("cannot list", folder, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Result<ManifestFile> describe(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(folder / name, error);
  if (error) return fail_with_errno("cannot read", folder / name, error.value());
  auto hash = hash_of_file(folder / name);
  if (!hash) return tl::unexpected(hash.error());
  return ManifestFile{name, bytes, std::move(*hash)};
}

Result<CheckpointManifest> describe_all(const fs::path& folder, PolicyVersion version) {
  const auto names = files_below(folder);
  if (!names) return tl::unexpected(names.error());
  if (names->empty()) {
    return fail(ErrorCode::invalid_argument, folder.string() + ": the checkpoint has no files");
  }
  CheckpointManifest manifest{version, utc_timestamp(), {}};
  for (const std::string& name : *names) {
    auto file = describe(folder, name);
    if (!file) return tl::unexpected(file.error());
    manifest.files.push_back(std::move(*file));
  }
  return manifest;
}

Result<CheckpointManifest> fill(const fs::path& folder, PolicyVersion version,
                                const CheckpointStore::Writer& writer) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return fail_with_errno("cannot make the folder", folder, error.value());
  if (auto written = writer(folder); !written) return tl::unexpected(written.error());
  auto manifest = describe_all(folder, version);
  if (!manifest) return manifest;
  auto sealed = write_file_durably(folder / manifest_name, to_json(*manifest));
  if (sealed) sealed = sync_tree(folder);
  if (!sealed) return tl::unexpected(sealed.error());
  return manifest;
}

/// Turns missing and malformed files into damage; a read that the system refused proves none.
tl::unexpected<Error> as_damage(Error error) {
  const bool damaged = error.code == ErrorCode::not_found || error.code == ErrorCode::parse_failed;
  if (damaged) error.code = ErrorCode::corrupt;
  return tl::unexpected(std::move(error));
}

Result<void> check_file(const fs::path& folder, const ManifestFile& expected) {
  const auto got = describe(folder, expected.name);
  if (!got) return as_damage(got.error());
  if (*got == expected) return {};
  return fail(ErrorCode::corrupt, (folder / expected.name).string() + ": expected " +
                                      std::to_string(expected.bytes) + " bytes with XXH3 " +
                                      expected.xxh3 + ", got " + std::to_string(got->bytes) +
                                      " with " + got->xxh3);
}

}  // namespace

fs::path CheckpointStore::path_of(uint32_t step) const {
  return folder_ / (std::string(step_prefix) + std::to_string(step));
}

Result<CheckpointStore> CheckpointStore::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_with_errno("cannot make the folder", folder, error.value());
  const auto names = names_in(folder);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) {
    if (name.rfind(temporary_prefix, 0) != 0) continue;
    if (auto removed = remove_whole(folder / name); !removed)
      return tl::unexpected(removed.error());
  }
  return CheckpointStore{folder};
}

Result<Checkpoint> CheckpointStore::write(PolicyVersion version, const Writer& writer) const {
  const fs::path target = path_of(version.step);
  if (fs::exists(target)) {
    return fail(ErrorCode::already_exists, target.string() + " already exists");
  }
  const fs::path temporary = folder_ / (std::string(temporary_prefix) + target.filename().string());
  if (auto cleared = remove_whole(temporary); !cleared) return tl::unexpected(cleared.error());
  auto manifest = fill(temporary, version, writer);
  if (!manifest) {
    (void)remove_whole(temporary);
    return fail("checkpoint " + target.filename().string(), std::move(manifest.error()));
  }
  auto placed = rename_path(temporary, target);
  if (placed) placed = sync_path(folder_);
  if (!placed) {
    (void)remove_whole(temporary);
    return tl::unexpected(placed.error());
  }
  return Checkpoint{target, std::move(*manifest)};
}

Result<std::vector<uint32_t>> CheckpointStore::steps() const {
  const auto names = names_in(folder_);
  if (!names) return tl::unexpected(names.error());
  std::vector<uint32_t> steps;
  for (const std::string& name : *names) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Result<Checkpoint> CheckpointStore::verify(uint32_t step) const {
  const fs::path folder = path_of(step);
  const auto text = read_text_file(folder / manifest_name, max_manifest_bytes);
  if (!text) return as_damage(text.error());
  auto manifest = manifest_from_json(*text);
  if (!manifest) return fail(ErrorCode::corrupt, folder.string() + ": " + manifest.error().message);
  if (manifest->version.step != step) {
    return fail(ErrorCode::corrupt, folder.string() + ": its manifest names step " +
                                        std::to_string(manifest->version.step));
  }
  for (const ManifestFile& file : manifest->files) {
    if (auto same = check_file(folder, file); !same) return tl::unexpected(same.error());
  }
  return Checkpoint{folder, std::move(*manifest)};
}

Result<CheckpointSearch> CheckpointStore::newest(uint32_t max_step) const {
  auto all = steps();
  if (!all) return tl::unexpected(all.error());
  CheckpointSearch search;
  for (auto step = all->rbegin(); step != all->rend(); ++step) {
    if (*step > max_step) {
      search.complaints.push_back(path_of(*step).string() +
                                  ": ahead of the ledger, which ends at step " +
                                  std::to_string(max_step));
      continue;
    }
    auto checked = verify(*step);
    if (checked) {
      search.found = std::move(*checked);
      return search;
    }
    if (checked.error().code != ErrorCode::corrupt) return tl::unexpected(checked.error());
    search.complaints.push_back(checked.error().message);
  }
  return search;
}

Result<void> CheckpointStore::prune(size_t keep) const {
  const auto all = steps();
  if (!all) return tl::unexpected(all.error());
  const size_t kept = std::max<size_t>(keep, 1);
  const size_t excess = all->size() > kept ? all->size() - kept : 0;
  for (size_t i = 0; i < excess; ++i) {
    // Renamed first, so that a crash in the middle leaves no partial checkpoint under its name.
    const fs::path doomed = folder_ / (std::string(temporary_prefix) + std::to_string((*all)[i]));
    auto removed = rename_path(path_of((*all)[i]), doomed);
    if (removed) removed = remove_whole(doomed);
    if (!removed) return removed;
  }
  return {};
}

Result<void> CheckpointStore::set_aside_after(uint32_t step) const {
  const auto all = steps();
  if (!all) return tl::unexpected(all.error());
  const auto names = names_in(folder_);
  if (!names) return tl::unexpected(names.error());
  const bool any = !all->empty() && all->back() > step;
  for (const std::string& name : *names) {
    const auto number = step_of(name);
    const bool old = any && name.rfind(aside_prefix, 0) == 0;
    const bool left = number && *number > step && *number != all->back();
    if (!old && !left) continue;
    if (auto removed = remove_whole(folder_ / name); !removed) return removed;
  }
  if (!any) return {};
  const fs::path newest = path_of(all->back());
  auto moved =
      rename_path(newest, folder_ / (std::string(aside_prefix) + newest.filename().string()));
  return moved ? sync_path(folder_) : moved;
}

}  // namespace warpsmith
