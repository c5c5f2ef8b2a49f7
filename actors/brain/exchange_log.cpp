// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/exchange_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <fstream>

#include <nlohmann/json.hpp>
#include <utility>

#include "actors/base/secret_key.hpp"
#include "runtime/clock.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_bytes = size_t{64} << 20U;
constexpr size_t usage_bytes = size_t{64} << 10U;

Json line_of(const AttemptId& id, const char* kind) {
  return {{"at", utc_timestamp()}, {"kind", kind}, {"turn", id.turn}, {"attempt", id.attempt}};
}

/// True if the last line has no end, because the process that wrote it was killed.
bool is_torn(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() == 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

}  // namespace

Result<BrainUsage> usage_of_run(const std::filesystem::path& run) {
  return ExchangeLog::usage_in(run / "brain");
}

Result<ExchangeLog> ExchangeLog::open(const std::filesystem::path& run, std::string secret) {
  std::error_code error;
  std::filesystem::create_directories(run / "brain", error);
  if (error) return fail_with_errno("make", run / "brain", error.value());
  return ExchangeLog{run / "brain", std::move(secret)};
}

Result<ExchangeLog::File*> ExchangeLog::file_of(TrajectoryId id) {
  const auto found = files_.find(id);
  if (found != files_.end()) return &found->second;
  File file;
  file.path = folder_ / fmt::format("{}.jsonl", id);
  TRY(auto opened, open_file(file.path, O_WRONLY | O_CREAT | O_APPEND));
  file.file = std::move(opened);
  std::error_code none;
  const auto size = std::filesystem::file_size(file.path, none);
  file.bytes = none ? 0 : size;
  if (is_torn(file.path)) {
    TRY_VOID(write_all(file.file, "\n", file.path));
  }
  return &files_.emplace(id, std::move(file)).first->second;
}

Result<void> ExchangeLog::write(TrajectoryId id, const std::string& line) {
  TRY(auto file, file_of(id));
  std::string text = without_secret(line, secret_) + '\n';
  if (file->bytes + text.size() > most_bytes) {
    text = json_text(Json{{"at", utc_timestamp()}, {"left_out_bytes", text.size()}}) + '\n';
  }
  file->bytes += text.size();
  return write_all(file->file, text, file->path);
}

Result<void> ExchangeLog::asked(const AttemptId& id, const std::string& url,
                                const ChatRequest& request) {
  TRY(auto file, file_of(id.trajectory));
  const size_t from = std::min(file->messages, request.messages.size());
  Json line = line_of(id, "request");
  line["url"] = url;
  line["rest"] = Json::parse(request.rest);
  line["first_message"] = from;
  line["messages"] = Json::array();
  for (size_t i = from; i < request.messages.size(); ++i) {
    line["messages"].push_back(Json::parse(request.messages[i]));
  }
  file->messages = request.messages.size();
  return write(id.trajectory, json_text(line));
}

Result<void> ExchangeLog::answered(const AttemptId& id, const std::string& answer, double seconds) {
  Json line = line_of(id, "answer");
  line["seconds"] = seconds;
  line["answer"] = Json::parse(answer);
  return write(id.trajectory, json_text(line));
}

Result<void> ExchangeLog::failed(const AttemptId& id, int status, const std::string& why,
                                 double seconds) {
  Json line = line_of(id, "failure");
  line["seconds"] = seconds;
  line["status"] = status;
  line["why"] = why;
  return write(id.trajectory, json_text(line));
}

Result<BrainUsage> ExchangeLog::usage_in(const std::filesystem::path& folder) {
  const auto path = folder / "usage.json";
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return BrainUsage{};
  TRY(const auto text, read_text_file(path, usage_bytes));
  auto usage = usage_from_json(text);
  if (!usage) return fail(path.string(), std::move(usage.error()));
  return usage;
}

Result<void> ExchangeLog::keep(const BrainUsage& usage) const {
  return write_file_whole(folder_ / "usage.json", to_json(usage));
}

}  // namespace warpsmith::actors
