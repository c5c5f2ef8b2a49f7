// SPDX-License-Identifier: Apache-2.0
#include "synthesis/composition_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "synthesis/composition.hpp"

namespace warpsmith::synthesis {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_bytes = size_t{4} << 30U;

tl::unexpected<Error> corrupt(const fs::path& file, size_t line, const std::string& why) {
  return fail(ErrorCode::corrupt, fmt::format("{}:{}: {}", file.string(), line, why));
}

}  // namespace

Result<CompositionJournal> CompositionJournal::open(const fs::path& file,
                                                    const std::string& origin) {
  CompositionJournal journal;
  journal.path_ = file;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  TRY(auto opened, open_file(file, O_WRONLY | O_CREAT | O_APPEND));
  journal.file_ = std::move(opened);
  TRY_VOID(journal.read(origin));
  return journal;
}

Result<void> CompositionJournal::read(const std::string& origin) {
  TRY(auto text, read_text_file(path_, most_bytes));
  text.resize(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  if (ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0) {
    return fail_with_errno("cannot cut", path_, errno);
  }
  if (text.empty()) return write_line(origin);
  std::istringstream lines{text};
  std::string line;
  std::getline(lines, line);
  if (line != origin) {
    return fail(ErrorCode::already_exists,
                path_.string() + ": composed from " + line + ", this run composes from " + origin);
  }
  while (std::getline(lines, line)) {
    auto one = parse_composition(line);
    const size_t number = earlier_.size();
    if (!one) return corrupt(path_, number + 2, one.error().message);
    if (one->index != number) return corrupt(path_, number + 2, "is not the next candidate");
    earlier_.push_back(std::move(*one));
  }
  return {};
}

Result<void> CompositionJournal::add(const Composition& composition) {
  return write_line(to_json(composition));
}

Result<void> CompositionJournal::write_line(const std::string& line) {
  TRY_VOID(write_all(file_, line + '\n', path_));
  if (fdatasync(file_.get()) != 0) return fail_with_errno("cannot sync", path_, errno);
  return {};
}

}  // namespace warpsmith::synthesis
