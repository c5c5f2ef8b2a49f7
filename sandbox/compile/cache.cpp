// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/cache.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "runtime/checksum.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr size_t digest_digits = 64;
constexpr const char* temporary_prefix = "tmp-";

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
    if (!error) entries.push_back(std::move(entry));  // else another process removed it
    error.clear();
  }
  return entries;
}

/// The process that writes a temporary file; 0 for any other name.
pid_t writer_of(const std::string& name) {
  pid_t writer = 0;
  if (!name.starts_with(temporary_prefix)) return writer;
  const char* digits = name.data() + std::string_view(temporary_prefix).size();
  (void)std::from_chars(digits, name.data() + name.size(), writer);
  return writer;
}

/// Writers that were killed left them. Those of a live process of the same number stay for once.
void remove_abandoned(const std::string& folder) {
  for (const Entry& entry : entries_of(folder)) {
    const pid_t writer = writer_of(entry.path.filename().string());
    std::error_code ignored;
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) fs::remove(entry.path, ignored);
  }
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
  remove_abandoned(folder);
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
  static std::atomic<uint64_t> count{0};
  const fs::path temporary = fs::path(folder_) / (temporary_prefix + std::to_string(::getpid()) +
                                                  "-" + std::to_string(++count));
  std::ofstream file(temporary, std::ios::binary);
  file << sha256_hex(value) << value;
  file.close();
  std::error_code error;
  if (file) fs::rename(temporary, fs::path(folder_) / key, error);
  if (!file || error) {
    fs::remove(temporary, error);
    return;
  }
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
