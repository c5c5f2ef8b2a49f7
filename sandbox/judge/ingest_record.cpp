// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/ingest_record.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/bytes.hpp"
#include "runtime/codec.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

// Part of every key. Change it when ingest measures or judges differently, to drop old records.
constexpr const char* ingest_version = "ingest 13";
constexpr size_t digest_digits = 64;

std::string path_of(const std::string& folder, const std::string& key) {
  return folder + "/" + key + ".facts";
}

}  // namespace

std::string record_key(const Task& task, const std::string& machine, const std::string& stack,
                       const IngestOptions& options) {
  std::string text = ingest_version;
  if (options.scope == IngestScope::verified) text += " verified";
  if (options.numerics == Numerics::paper) text += " paper";
  text += '\n' + task_key(task) + '\n' + machine + '\n' + stack;
  for (const Baseline which : options.further) text.append(1, '\n').append(to_string(which));
  return sha256_hex(text);
}

std::vector<InputRule> paper_rules(std::vector<InputRule> rules) {
  for (InputRule& rule : rules) rule.parameter = rule.parameter || rule.domain != Domain::unit;
  return rules;
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
  OwnedFolder::sweep(folder);
  const ByteBuffer bytes = codec::pack(record);
  const std::string body(bytes.begin(), bytes.end());
  return write_file_whole(path_of(folder, key), sha256_hex(body) + body);
}

}  // namespace warpsmith::sandbox
