// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/result_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t most_settings_bytes = 1U << 20U;

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::io_failed, "cannot make " + folder.string() + ": " + error.message());
}

Result<void> moved(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error || error == std::errc::no_such_file_or_directory) return {};
  return fail(ErrorCode::io_failed, from.string() + ": " + error.message());
}

Result<void> removed(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return {};
  return fail(ErrorCode::io_failed, folder.string() + ": " + error.message());
}

Result<void> write_files(const fs::path& folder, const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files) {
    const fs::path file = folder / name;
    TRY_VOID(make_folder(file.parent_path()));
    TRY_VOID(write_file_durably(file, content));
  }
  return {};
}

constexpr size_t most_journal_bytes = size_t{1} << 30U;

Result<std::vector<Attempt>> attempts_in(const std::filesystem::path& path,
                                         const std::string& text) {
  std::vector<Attempt> attempts;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto attempt = attempt_of(line);
    if (!attempt) return fail(fmt::format("{}:{}", path.string(), number), attempt.error());
    attempts.push_back(std::move(*attempt));
  }
  return attempts;
}

/// Removes a line without an end: a crash cut it off.
Result<void> cut_torn_line(const std::filesystem::path& path, const UniqueFd& file,
                           std::string& text) {
  const size_t whole = text.empty() || text.back() == '\n' ? text.size() : text.rfind('\n') + 1;
  if (whole == text.size()) return {};
  text.resize(whole);
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) == 0) return {};
  return fail_with_errno("cannot shorten", path, errno);
}

}  // namespace

std::string to_json(const OptimizeSettings& s) {
  return json_text(json{{"operator", s.operator_file},
                        {"operator_hash", s.operator_hash},
                        {"candidates", s.candidates},
                        {"baseline", s.baseline},
                        {"brain", s.brain},
                        {"contract", s.contract},
                        {"name", s.name},
                        {"numerics", s.numerics},
                        {"baselines", s.baselines},
                        {"margin", s.margin},
                        {"slots", s.slots},
                        {"gpu", s.gpu},
                        {"timeout_s", s.timeout_s},
                        {"stack", s.stack}},
                   1) +
         '\n';
}

Result<OptimizeSettings> settings_of(const std::string& text) {
  try {
    const json from = json::parse(text);
    OptimizeSettings s;
    s.operator_file = from.at("operator");
    s.operator_hash = from.at("operator_hash");
    s.candidates = from.at("candidates");
    s.baseline = from.at("baseline");
    s.brain = from.at("brain");
    s.contract = from.at("contract");
    s.name = from.value("name", "");  // absent in folders of earlier versions
    s.numerics = from.at("numerics");
    if (!enum_of<Numerics>(s.numerics)) {
      return fail(ErrorCode::parse_failed, "unknown numerics " + s.numerics);
    }
    s.baselines = from.at("baselines").get<std::vector<std::string>>();
    s.margin = from.at("margin");
    s.slots = from.at("slots");
    s.gpu = from.at("gpu");
    s.timeout_s = from.at("timeout_s");
    s.stack = from.at("stack");
    return s;
  } catch (const json::exception& error) {
    return fail(ErrorCode::parse_failed, error.what());
  }
}

Result<void> make_result_folder(const ResultFolder& result, const OptimizeSettings& settings) {
  const fs::path& folder = result.folder;
  std::error_code error;
  if (fs::exists(folder, error) &&
      !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    return fail(ErrorCode::already_exists,
                "--out " + folder.string() +
                    ": expected a new or empty folder; to continue what it holds, use --resume " +
                    folder.string() + "; to begin again, remove it or name another --out");
  }
  TRY_VOID(make_folder(folder));
  return write_file_durably(result.settings(), to_json(settings));
}

void remove_unused(const ResultFolder& result) {
  std::error_code error;
  const auto judged = fs::file_size(result.journal(), error);
  if ((!error && judged > 0) || fs::exists(result.brain(), error)) return;
  for (const fs::path& file : {result.journal(), result.settings(), result.folder}) {
    fs::remove(file, error);  // a folder with other files stays
  }
}

Result<OptimizeSettings> read_settings(const ResultFolder& folder) {
  const auto text = read_text_file(folder.settings(), most_settings_bytes);
  if (!text) {
    return fail("--resume: expected the folder of an earlier `optimize`", text.error());
  }
  auto settings = settings_of(*text);
  if (!settings) return fail(folder.settings().string(), settings.error());
  return settings;
}

Result<void> replace_folder(const fs::path& folder,
                            const std::map<std::string, std::string>& files) {
  const std::string name = folder.filename();
  const fs::path fresh = folder.parent_path() / ('.' + name);
  const fs::path old = folder.parent_path() / ('.' + name + ".old");
  return removed(fresh)
      .and_then([&] { return removed(old); })
      .and_then([&] { return write_files(fresh, files); })
      .and_then([&] { return moved(folder, old); })
      .and_then([&] { return moved(fresh, folder); })
      .and_then([&] { return removed(old); });
}

AttemptJournal::AttemptJournal(std::filesystem::path path, UniqueFd file,
                               std::vector<Attempt> attempts)
    : path_(std::move(path)), file_(std::move(file)), attempts_(std::move(attempts)) {}

Result<AttemptJournal> AttemptJournal::open(const std::filesystem::path& path) {
  TRY(auto file, open_file(path, O_RDWR | O_CREAT | O_APPEND));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::already_exists,
                path.string() + ": another `optimize` is using this folder; wait for it to end");
  }
  TRY(auto text, read_text_file(path, most_journal_bytes));
  TRY_VOID(cut_torn_line(path, file, text));
  TRY(auto attempts, attempts_in(path, text));
  TRY_VOID(sync_path(path.parent_path()));
  return AttemptJournal{path, std::move(file), std::move(attempts)};
}

Result<void> AttemptJournal::add(const Attempt& attempt) {
  TRY_VOID(write_all(file_, to_json_line(attempt) + '\n', path_));
  TRY_VOID(sync_path(path_));
  attempts_.push_back(attempt);
  return {};
}

}  // namespace warpsmith::commands
