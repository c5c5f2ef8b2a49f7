// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/checkpoint.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "runtime/clock.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int manifest_format = 2;

void check_keys(const json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw std::runtime_error("unknown key '" + key + "'");
  }
}

/// True for a relative name without empty, "." and ".." parts.
bool stays_inside(const std::string& name) {
  size_t first = 0;
  while (first <= name.size()) {
    const size_t last = std::min(name.find('/', first), name.size());
    const std::string part = name.substr(first, last - first);
    if (part.empty() || part == "." || part == "..") return false;
    first = last + 1;
  }
  return name.find('\0') == std::string::npos;
}

bool is_xxh3(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Reads a whole number in range; nlohmann converts other values silently.
uint64_t natural(const json& object, const char* key, uint64_t largest) {
  const json& value = object.at(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest) {
    throw std::runtime_error(std::string("'") + key + "' is not a natural number in range");
  }
  return value.get<uint64_t>();
}

ManifestFile file_of(const json& object) {
  check_keys(object, {"name", "bytes", "xxh3"});
  ManifestFile file{object.at("name"), natural(object, "bytes", UINT64_MAX), object.at("xxh3")};
  if (!stays_inside(file.name))
    throw std::runtime_error("file name '" + file.name + "' points outside the folder");
  if (!is_xxh3(file.xxh3)) throw std::runtime_error("file '" + file.name + "' has no XXH3");
  return file;
}

CheckpointManifest manifest_of(const json& object) {
  check_keys(object, {"format", "incarnation", "step", "created_at", "files"});
  if (natural(object, "format", UINT32_MAX) != manifest_format) {
    throw std::runtime_error(fmt::format("format is not {}", manifest_format));
  }
  CheckpointManifest manifest;
  manifest.version = {static_cast<uint32_t>(natural(object, "incarnation", UINT32_MAX)),
                      static_cast<uint32_t>(natural(object, "step", UINT32_MAX))};
  manifest.created_at = object.at("created_at");
  if (!object.at("files").is_array()) throw std::runtime_error("'files' is not a list");
  for (const json& file : object.at("files")) manifest.files.push_back(file_of(file));
  if (manifest.files.empty()) throw std::runtime_error("'files' is empty");
  return manifest;
}

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
  const bool plain = error == std::errc{} && end == last && name == fmt::format("step-{}", step);
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

/// Lists the regular files below `folder` by relative name; fails on any other kind of file.
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
  TRY(auto hash, hash_of_file(folder / name));
  return ManifestFile{name, bytes, std::move(hash)};
}

Result<CheckpointManifest> describe_all(const fs::path& folder, PolicyVersion version) {
  TRY(const auto names, files_below(folder));
  if (names.empty()) {
    return fail(ErrorCode::invalid_argument, folder.string() + ": the checkpoint has no files");
  }
  CheckpointManifest manifest{version, utc_timestamp(), {}};
  for (const std::string& name : names) {
    TRY(auto file, describe(folder, name));
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

Result<CheckpointManifest> fill(const fs::path& folder, PolicyVersion version,
                                const CheckpointStore::Writer& writer) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return fail_with_errno("cannot make the folder", folder, error.value());
  TRY_VOID(writer(folder));
  TRY(auto manifest, describe_all(folder, version));
  auto sealed = write_file_durably(folder / manifest_name, to_json(manifest));
  if (sealed) sealed = sync_tree(folder);
  if (!sealed) return tl::unexpected(sealed.error());
  return manifest;
}

/// Reports missing and malformed files as damage; a read that the system refused does not prove
/// damage.
tl::unexpected<Error> as_damage(Error error) {
  const bool damaged = error.code == ErrorCode::not_found || error.code == ErrorCode::parse_failed;
  if (damaged) error.code = ErrorCode::corrupt;
  return tl::unexpected(std::move(error));
}

Result<void> check_file(const fs::path& folder, const ManifestFile& expected) {
  const auto got = describe(folder, expected.name);
  if (!got) return as_damage(got.error());
  if (*got == expected) return {};
  return fail(ErrorCode::corrupt, fmt::format("{}: expected {} bytes with XXH3 {}, got {} with {}",
                                              (folder / expected.name).string(), expected.bytes,
                                              expected.xxh3, got->bytes, got->xxh3));
}

}  // namespace

std::string to_json(const CheckpointManifest& manifest) {
  json files = json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}});
  }
  const json object{{"format", manifest_format},
                    {"incarnation", manifest.version.incarnation},
                    {"step", manifest.version.step},
                    {"created_at", manifest.created_at},
                    {"files", std::move(files)}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

Result<CheckpointManifest> manifest_from_json(std::string_view text) {
  try {
    return manifest_of(json::parse(text));
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, std::string("manifest.json: ") + e.what());
  }
}

fs::path CheckpointStore::path_of(uint32_t step) const {
  return folder_ / (std::string(step_prefix) + std::to_string(step));
}

Result<CheckpointStore> CheckpointStore::open(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_with_errno("cannot make the folder", folder, error.value());
  TRY(const auto names, names_in(folder));
  for (const std::string& name : names) {
    if (name.rfind(temporary_prefix, 0) != 0) continue;
    TRY_VOID(remove_whole(folder / name));
  }
  return CheckpointStore{folder};
}

Result<Checkpoint> CheckpointStore::write(PolicyVersion version, const Writer& writer) const {
  const fs::path target = path_of(version.step);
  if (fs::exists(target)) {
    return fail(ErrorCode::already_exists, target.string() + " already exists");
  }
  auto written = repeated([&] { return write_to(target, version, writer); });
  if (!written) return written;
  if (auto placed = repeated([&] { return sync_path(folder_); }); !placed) {
    return tl::unexpected(std::move(placed.error()));
  }
  return written;
}

/// Without the last sync, which makes the name durable.
Result<Checkpoint> CheckpointStore::write_to(const fs::path& target, PolicyVersion version,
                                             const Writer& writer) const {
  const fs::path temporary = folder_ / (std::string(temporary_prefix) + target.filename().string());
  TRY_VOID(remove_whole(temporary));
  auto manifest = fill(temporary, version, writer);
  if (!manifest) {
    (void)remove_whole(temporary);
    return fail("checkpoint " + target.filename().string(), std::move(manifest.error()));
  }
  if (auto placed = rename_path(temporary, target); !placed) {
    (void)remove_whole(temporary);
    return tl::unexpected(placed.error());
  }
  return Checkpoint{target, std::move(*manifest)};
}

Result<std::vector<uint32_t>> CheckpointStore::steps() const {
  TRY(const auto names, names_in(folder_));
  std::vector<uint32_t> steps;
  for (const std::string& name : names) {
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
    return fail(ErrorCode::corrupt, fmt::format("{}: its manifest names step {}", folder.string(),
                                                manifest->version.step));
  }
  for (const ManifestFile& file : manifest->files) {
    TRY_VOID(check_file(folder, file));
  }
  return Checkpoint{folder, std::move(*manifest)};
}

Result<CheckpointSearch> CheckpointStore::newest(uint32_t max_step) const {
  TRY(auto all, steps());
  CheckpointSearch search;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    if (*step > max_step) {
      search.complaints.push_back(fmt::format("{}: ahead of the ledger, which ends at step {}",
                                              path_of(*step).string(), max_step));
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
  TRY(const auto all, steps());
  const size_t kept = std::max<size_t>(keep, 1);
  const size_t excess = all.size() > kept ? all.size() - kept : 0;
  for (size_t i = 0; i < excess; ++i) {
    // Renamed first, so that a crash in the middle leaves no partial checkpoint under its name.
    const fs::path doomed = folder_ / (std::string(temporary_prefix) + std::to_string(all[i]));
    auto removed = rename_path(path_of(all[i]), doomed);
    if (removed) removed = remove_whole(doomed);
    if (!removed) return removed;
  }
  return {};
}

Result<void> CheckpointStore::set_aside_after(uint32_t step) const {
  TRY(const auto all, steps());
  TRY(const auto names, names_in(folder_));
  const bool any = !all.empty() && all.back() > step;
  for (const std::string& name : names) {
    const auto number = step_of(name);
    const bool old = any && name.rfind(aside_prefix, 0) == 0;
    const bool left = number && *number > step && *number != all.back();
    if (!old && !left) continue;
    TRY_VOID(remove_whole(folder_ / name));
  }
  if (!any) return {};
  const fs::path newest = path_of(all.back());
  auto moved =
      rename_path(newest, folder_ / (std::string(aside_prefix) + newest.filename().string()));
  return moved ? sync_path(folder_) : moved;
}

}  // namespace warpsmith
