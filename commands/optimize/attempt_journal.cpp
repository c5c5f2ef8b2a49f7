// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/attempt_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

namespace warpsmith::commands {
namespace {

constexpr size_t most_journal_bytes = size_t{1} << 30U;

Result<std::vector<Attempt>> attempts_in(const std::filesystem::path& path,
                                         const std::string& text) {
  std::vector<Attempt> attempts;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto attempt = attempt_of(line);
    if (!attempt) return fail(path.string() + ':' + std::to_string(number), attempt.error());
    attempts.push_back(std::move(*attempt));
  }
  return attempts;
}

/// Removes a line without an end: a crash cut it off.
Result<void> cut_torn_line(const std::filesystem::path& path, const OpenFile& file,
                           std::string& text) {
  const size_t whole = text.empty() || text.back() == '\n' ? text.size() : text.rfind('\n') + 1;
  if (whole == text.size()) return {};
  text.resize(whole);
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) == 0) return {};
  return fail_with_errno("cannot shorten", path, errno);
}

}  // namespace

AttemptJournal::AttemptJournal(std::filesystem::path path, OpenFile file,
                               std::vector<Attempt> attempts)
    : path_(std::move(path)), file_(std::move(file)), attempts_(std::move(attempts)) {}

Result<AttemptJournal> AttemptJournal::open(const std::filesystem::path& path) {
  auto file = open_file(path, O_RDWR | O_CREAT | O_APPEND);
  if (!file) return tl::unexpected(std::move(file.error()));
  if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::already_exists,
                path.string() + ": another `optimize` works in this folder; wait for its end");
  }
  auto text = read_text_file(path, most_journal_bytes);
  if (!text) return tl::unexpected(std::move(text.error()));
  if (auto cut = cut_torn_line(path, *file, *text); !cut) return tl::unexpected(cut.error());
  auto attempts = attempts_in(path, *text);
  if (!attempts) return tl::unexpected(std::move(attempts.error()));
  if (auto synced = sync_path(path.parent_path()); !synced) return tl::unexpected(synced.error());
  return AttemptJournal{path, std::move(*file), std::move(*attempts)};
}

Result<void> AttemptJournal::add(const Attempt& attempt) {
  if (auto done = write_all(file_, to_json_line(attempt) + '\n', path_); !done) return done;
  if (auto synced = sync_path(path_); !synced) return synced;
  attempts_.push_back(attempt);
  return {};
}

}  // namespace warpsmith::commands
