// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/cache.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "runtime/checksum.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr size_t digest_digits = 64;

struct Entry {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    Entry entry{file.path(), file.file_size(error), {}};
    if (!error) entry.used = file.last_write_time(error);
    if (!error) entries.push_back(std::move(entry));  // else a folder, or removed meanwhile
    error.clear();
  }
  return entries;
}

}  // namespace

CompileCache::CompileCache(std::string folder, uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

Result<CompileCache> CompileCache::open(const std::string& folder, uint64_t max_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(ErrorCode::io_failed, "compile cache " + folder + ": " + error.message());
  }
  OwnedFolder::sweep(folder);
  CompileCache cache{folder, max_bytes};
  cache.shrink();
  return cache;
}

std::optional<std::string> CompileCache::find(const std::string& key) {
  const fs::path path = fs::path(folder_) / key;
  const auto content = read_text_file(path, max_bytes_);
  if (!content) return std::nullopt;
  std::error_code error;
  if (content->size() < digest_digits ||
      sha256_hex(std::string_view(*content).substr(digest_digits)) !=
          std::string_view(*content).substr(0, digest_digits)) {
    fs::remove(path, error);
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  return content->substr(digest_digits);
}

void CompileCache::insert(const std::string& key, const std::string& value) {
  if (value.size() + digest_digits > max_bytes_) return;
  if (!write_file_whole(fs::path(folder_) / key, sha256_hex(value) + value)) return;
  const uint64_t added = value.size() + digest_digits;
  bytes_ += added;
  unlisted_ += added;
  if (bytes_ > max_bytes_ || unlisted_ > max_bytes_ / 16) shrink();
}

void CompileCache::shrink() {
  std::vector<Entry> entries = entries_of(folder_);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  bytes_ = unlisted_ = 0;
  for (const Entry& entry : entries) bytes_ += entry.bytes;
  // Down to seven eighths, so that a full cache is not listed at every insertion.
  const uint64_t target = bytes_ > max_bytes_ ? max_bytes_ - max_bytes_ / 8 : max_bytes_;
  for (const Entry& entry : entries) {
    if (bytes_ <= target) return;
    std::error_code error;
    if (fs::remove(entry.path, error)) bytes_ -= entry.bytes;
  }
}

}  // namespace warpsmith::sandbox
