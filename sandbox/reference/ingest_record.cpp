// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/ingest_record.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/checksum.hpp"
#include "runtime/codec.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

// Part of every key: a change of what ingest measures or how it judges starts afresh.
constexpr const char* ingest_version = "ingest 9";
constexpr size_t digest_digits = 64;

std::string path_of(const std::string& folder, const std::string& key) {
  return folder + "/" + key + ".facts";
}

}  // namespace

std::string record_key(const Task& task, const std::string& machine, const std::string& stack,
                       IngestScope scope, const std::vector<Baseline>& further) {
  const char* of = scope == IngestScope::verified ? " verified\n" : "\n";
  std::string text =
      ingest_version + std::string(of) + task_key(task) + '\n' + machine + '\n' + stack;
  for (const Baseline which : further) text.append(1, '\n').append(to_string(which));
  return sha256_hex(text);
}

std::optional<IngestRecord> read_record(const std::string& folder, const std::string& key) {
  std::ifstream file(path_of(folder, key), std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  if (text.size() <= digest_digits) return std::nullopt;
  const std::string body = text.substr(digest_digits);
  if (sha256_hex(body) != text.substr(0, digest_digits)) return std::nullopt;
  auto record = codec::unpack<IngestRecord>(body.data(), body.size());
  if (!record) return std::nullopt;
  return std::move(*record);
}

Result<void> write_record(const std::string& folder, const std::string& key,
                          const IngestRecord& record) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = path_of(folder, key);
  const std::string fresh = path + "." + std::to_string(getpid());
  const ByteBuffer bytes = codec::pack(record);
  const std::string body(bytes.begin(), bytes.end());
  errno = 0;
  std::ofstream file(fresh, std::ios::binary);
  file << sha256_hex(body) << body;
  file.close();
  const int reason = errno;
  if (file) std::filesystem::rename(fresh, path, error);
  if (file && !error) return {};
  std::error_code ignored;
  std::filesystem::remove(fresh, ignored);
  if (error) return fail(ErrorCode::io_failed, path + ": " + error.message());
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return fail(full ? ErrorCode::disk_full : ErrorCode::io_failed,
              fresh + ": " + std::strerror(reason));
}

}  // namespace warpsmith::sandbox
