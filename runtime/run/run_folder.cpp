// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "runtime/clock.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr size_t max_text_bytes = 4U << 20U;

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

int pid_in(const fs::path& lock) {
  const auto text = read_text_file(lock, 64);
  int pid = 0;
  if (text) (void)std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid;
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
  if (::ftruncate(file.get(), 0) != 0) {
    return fail_with_errno("cannot write", paths.lock(), errno);
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  TRY_VOID(write_all(file, pid, paths.lock()));
  OwnedFolder::sweep(paths.folder);
  return RunFolder{std::move(paths), std::move(file)};
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
