// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <sstream>
#include <system_error>

#include "runtime/clock.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr size_t max_text_bytes = 4U << 20U;
constexpr size_t max_lock_bytes = 256;

/// 2026-01-31T12:34:56.789Z → 20260131-123456
std::string compact_timestamp() {
  std::string digits;
  for (const char c : utc_timestamp().substr(0, 19)) {
    if (c == 'T') digits += '-';
    if (c >= '0' && c <= '9') digits += c;
  }
  return digits;
}

std::string plain(std::string_view text) {
  std::string name{text.empty() ? "run" : text};
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_run_name(std::string("a") + c); }, '_');
  return name.substr(0, 60);
}

std::string owner_name(int owner) {
  return owner > 0 ? fmt::format("process {}", owner) : "another process";
}

/// The lock covers the whole file and belongs to the open file description, so that another
/// thread's descriptor of the same file does not share it.
struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// The lines of the lock's file; those that are missing are empty.
struct LockText {
  std::string pid, started, state;
};

LockText read_lock(const fs::path& lock) {
  std::istringstream lines{read_text_file(lock, max_lock_bytes).value_or("")};
  LockText text;
  for (std::string* line : {&text.pid, &text.started, &text.state}) std::getline(lines, *line);
  return text;
}

int pid_in(const fs::path& lock) {
  const std::string text = read_lock(lock).pid;
  int pid = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

Result<void> write_lock(const UniqueFd& file, const fs::path& path, const LockText& text) {
  if (::ftruncate(file.get(), 0) != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return fail_with_errno("cannot write", path, errno);
  }
  return write_all(file, fmt::format("{}\n{}\n{}\n", text.pid, text.started, text.state), path);
}

/// When the folder of an earlier version was last started: its lock's file was written then.
std::string time_of(const fs::path& file) {
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0) return "";
  std::tm parts{};
  ::gmtime_r(&facts.st_mtim.tv_sec, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S.000Z", &parts);
  return text.data();
}

/// The state in the lock's file of a run without an owner.
RunState recorded_state(const std::string& word) {
  const auto state = enum_of<RunState>(word);
  if (!state) return RunState::stopped;
  return *state == RunState::running ? RunState::killed : *state;
}

/// A name that does not exist yet: base, base-2, base-3 … up to 100.
fs::path free_folder(const fs::path& root, const std::string& base) {
  fs::path folder = root / base;
  for (int i = 2; fs::exists(folder) && i <= 100; ++i) {
    folder = root / fmt::format("{}-{}", base, i);
  }
  return folder;
}

}  // namespace

bool is_run_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

Result<RunFolder> RunFolder::take(RunPaths paths) {
  TRY(auto file, open_file(paths.lock(), O_RDWR | O_CREAT));
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES)
      return fail_with_errno("cannot lock", paths.lock(), errno);
    return fail(ErrorCode::locked, "run folder " + paths.folder.string() + " is in use by " +
                                       owner_name(pid_in(paths.lock())));
  }
  LockText text = read_lock(paths.lock());
  text.pid = std::to_string(::getpid());
  TRY_VOID(write_lock(file, paths.lock(), text));
  OwnedFolder::sweep(paths.folder);
  return RunFolder{std::move(paths), std::move(file)};
}

RunFolder::~RunFolder() {
  if (!lock_) return;
  LockText text = read_lock(paths_.lock());
  const bool begun = text.started == started_ && text.state == to_string(RunState::running);
  if (!end_ && !begun) return;  // refused: the earlier state stays
  text.started = started_;
  text.state = to_string(end_.value_or(RunState::failed));
  // For readers only: a disk that is full must not fail a run that ended well.
  (void)write_lock(lock_, paths_.lock(), text);
}

Result<void> RunFolder::begin() const {
  return write_lock(
      lock_, paths_.lock(),
      {std::to_string(::getpid()), started_, std::string{to_string(RunState::running)}});
}

Result<RunFolder> RunFolder::create(const fs::path& root, std::string_view name,
                                    std::string_view config_name) {
  if (!name.empty() && !is_run_name(name)) {
    return fail(ErrorCode::invalid_argument,
                "run name '" + std::string(name) +
                    "': expected letters, digits, '.', '_' or '-', at most 100, no leading '.'");
  }
  TRY_VOID(make_folders(root));
  const std::string base = compact_timestamp() + '-' + plain(config_name);
  const fs::path folder = name.empty() ? free_folder(root, base) : root / name;
  if (::mkdir(folder.c_str(), 0755) != 0) {
    if (errno != EEXIST) return fail_with_errno("cannot make the folder", folder, errno);
    return fail(ErrorCode::already_exists,
                "run " + folder.string() + " already exists; resume it or choose another name");
  }
  RunPaths paths{folder};
  for (const fs::path& part : {paths.segments(), paths.checkpoints()}) {
    TRY_VOID(make_folders(part));
  }
  TRY_VOID(sync_path(root));
  return take(std::move(paths));
}

Result<RunFolder> RunFolder::open(const fs::path& folder, std::string_view required_file) {
  RunPaths paths{folder};
  if (!fs::exists(folder / required_file)) {
    return fail(ErrorCode::not_found,
                "no run in " + folder.string() + ": " + std::string(required_file) + " is missing");
  }
  for (const fs::path& part : {paths.segments(), paths.checkpoints()}) {
    TRY_VOID(make_folders(part));
  }
  return take(std::move(paths));
}

Result<void> RunFolder::write_keeping_earlier(const fs::path& target,
                                              std::string_view content) const {
  const auto present = read_text_file(target, max_text_bytes);
  if (present && *present == content) return {};
  if (present) {
    int number = 1;
    const auto kept = [&] {
      return paths_.folder /
             fmt::format("{}.{}{}", target.stem().string(), number, target.extension().string());
    };
    while (fs::exists(kept())) ++number;
    TRY_VOID(write_file_durably(kept(), *present));
  }
  return write_file_durably(target, content);
}

Result<void> RunFolder::write_config(std::string_view toml) const {
  TRY_VOID(begin());
  return write_keeping_earlier(paths_.config(), toml);
}

Result<void> RunFolder::write_stack(std::string_view json) const {
  return write_keeping_earlier(paths_.stack(), json);
}

std::optional<int> owner_of(const RunPaths& paths) {
  const auto file = open_file(paths.lock(), O_RDONLY);
  if (!file) return std::nullopt;
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(file->get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return pid_in(paths.lock());
}

RunStatus status_of(const RunPaths& paths) {
  const bool runs = owner_of(paths).has_value();
  LockText text = read_lock(paths.lock());
  if (text.started.empty()) text.started = time_of(paths.lock());
  if (text.started.empty()) text.started = time_of(paths.config());
  return {runs ? RunState::running : recorded_state(text.state), std::move(text.started)};
}

bool holds_run(const RunPaths& paths) {
  std::error_code ignored;
  return fs::exists(paths.database(), ignored) || fs::exists(paths.config(), ignored);
}

Result<std::vector<RunPaths>> list_run_folders(const fs::path& root) {
  std::vector<RunPaths> runs;
  std::error_code error;
  if (!fs::exists(root, error)) return runs;
  for (fs::directory_iterator it{root, error}, end; !error && it != end; it.increment(error)) {
    const RunPaths paths{it->path()};
    if (holds_run(paths)) runs.push_back(paths);
  }
  if (error) return fail_with_errno("cannot list", root, error.value());
  std::sort(runs.begin(), runs.end(),
            [](const RunPaths& a, const RunPaths& b) { return a.folder < b.folder; });
  return runs;
}

}  // namespace warpsmith
