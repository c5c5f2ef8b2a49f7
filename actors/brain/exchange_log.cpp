// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/exchange_log.hpp"

#include <fcntl.h>

#include <fstream>

#include <nlohmann/json.hpp>
#include <utility>

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

/// Whether the last line has no end: the process that wrote it was killed.
bool is_torn(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() == 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

}  // namespace

std::string without_secret(std::string text, const std::string& secret) {
  constexpr std::string_view in_place = "[key]";
  if (secret.empty()) return text;
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), in_place);
    at += in_place.size();
  }
  return text;
}

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
  file.path = folder_ / (std::to_string(id) + ".jsonl");
  auto opened = open_file(file.path, O_WRONLY | O_CREAT | O_APPEND);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  file.file = std::move(*opened);
  std::error_code none;
  const auto size = std::filesystem::file_size(file.path, none);
  file.bytes = none ? 0 : size;
  if (is_torn(file.path)) {
    if (auto ended = write_all(file.file, "\n", file.path); !ended) {
      return tl::unexpected(std::move(ended.error()));
    }
  }
  return &files_.emplace(id, std::move(file)).first->second;
}

Result<void> ExchangeLog::write(TrajectoryId id, const std::string& line) {
  auto file = file_of(id);
  if (!file) return tl::unexpected(std::move(file.error()));
  std::string text = without_secret(line, secret_) + '\n';
  if ((*file)->bytes + text.size() > most_bytes) {
    text = json_text(Json{{"at", utc_timestamp()}, {"left_out_bytes", text.size()}}) + '\n';
  }
  (*file)->bytes += text.size();
  return write_all((*file)->file, text, (*file)->path);
}

Result<void> ExchangeLog::asked(const AttemptId& id, const std::string& url,
                                const ChatRequest& request) {
  auto file = file_of(id.trajectory);
  if (!file) return tl::unexpected(std::move(file.error()));
  const size_t from = std::min((*file)->messages, request.messages.size());
  Json line = line_of(id, "request");
  line["url"] = url;
  line["rest"] = Json::parse(request.rest);
  line["first_message"] = from;
  line["messages"] = Json::array();
  for (size_t i = from; i < request.messages.size(); ++i) {
    line["messages"].push_back(Json::parse(request.messages[i]));
  }
  (*file)->messages = request.messages.size();
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
  const auto text = read_text_file(path, usage_bytes);
  if (!text) return tl::unexpected(text.error());
  auto usage = usage_from_json(*text);
  if (!usage) return fail(path.string(), std::move(usage.error()));
  return usage;
}

Result<void> ExchangeLog::keep(const BrainUsage& usage) const {
  return write_file_whole(folder_ / "usage.json", to_json(usage));
}

}  // namespace warpsmith::actors
