// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/safe_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace warpsmith::sandbox {
namespace {

constexpr const char* temporary_name = ".warpsmith-new";

struct CloseDir {
  void operator()(DIR* dir) const { (void)::closedir(dir); }
};
using Directory = std::unique_ptr<DIR, CloseDir>;

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(ErrorCode::invalid_argument, path + ": " + why);
}

/// Describes errno for the agent.
tl::unexpected<Error> refuse_errno(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      return fail(ErrorCode::not_found, path + ": no such file");
    case ENOTDIR:
      return refuse(path, "a part of the path is no folder");
    case EISDIR:
      return refuse(path, "is a folder");
    case ELOOP:
    case EXDEV:
      return refuse(path, "symbolic links are not followed");
    case EEXIST:
    case ENOTEMPTY:
      return refuse(path, "a folder is in the way");
    case ENXIO:
      return refuse(path, "is no regular file");
    case EACCES:
    case EPERM:
      return refuse(path, "permission denied");
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::disk_full, path + ": the disk is full");
    default:
      return fail(ErrorCode::io_failed, path + ": " + std::strerror(error));
  }
}

int open_at(int folder, const char* path, uint64_t flags, uint64_t mode = 0) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

Result<void> write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refuse_errno(path, errno);
    content.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<std::string> read_all(int fd, size_t max_bytes, const std::string& path) {
  std::string content;
  std::array<char, 16384> block{};
  while (true) {
    const ssize_t n = ::read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refuse_errno(path, errno);
    if (n == 0) return content;
    content.append(block.data(), static_cast<size_t>(n));
    // Check while reading: the size may have changed since fstat.
    if (content.size() > max_bytes) {
      return fail(ErrorCode::capacity, fmt::format("{}: larger than {} bytes", path, max_bytes));
    }
  }
}

std::pair<std::string, std::string> parent_and_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

/// Walks one open folder, depth first.
class Walk {
 public:
  explicit Walk(WalkLimits limits) : limits_(limits) {}

  Result<void> folder(UniqueFd fd, const std::string& prefix, size_t depth) {
    if (depth > limits_.depth) return refuse(prefix, "too deep");
    const Directory dir{::fdopendir(fd.get())};
    if (!dir) return refuse_errno(prefix, errno);
    const int at = fd.release();  // the directory stream owns it now
    for (const dirent* entry = ::readdir(dir.get()); entry; entry = ::readdir(dir.get())) {
      const std::string_view name{entry->d_name};
      if (name == "." || name == ".." || name == temporary_name) continue;
      TRY_VOID(visit(at, std::string(name), prefix, depth));
    }
    return {};
  }
  std::vector<FileEntry> take() {
    std::ranges::sort(files_, {}, &FileEntry::path);
    return std::move(files_);
  }

 private:
  Result<void> visit(int at, const std::string& name, const std::string& prefix, size_t depth) {
    if (++seen_ > limits_.entries) {
      return fail(ErrorCode::capacity,
                  fmt::format("more than {} files and folders", limits_.entries));
    }
    struct stat status{};
    if (::fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return {};  // removed meanwhile
    const std::string path = prefix.empty() ? name : prefix + "/" + name;
    if (S_ISREG(status.st_mode)) files_.push_back({path, static_cast<uint64_t>(status.st_size)});
    if (!S_ISDIR(status.st_mode)) return {};
    UniqueFd child{open_at(at, name.c_str(), O_RDONLY | O_DIRECTORY)};
    if (!child) return {};  // unreadable or replaced: skip it
    return folder(std::move(child), path, depth + 1);
  }

  WalkLimits limits_;
  size_t seen_ = 0;
  std::vector<FileEntry> files_;
};

Result<void> check_component(std::string_view part, std::string_view text) {
  if (part == "..") return refuse(std::string(text), "`..` is not allowed");
  if (part.size() > 255) return refuse(std::string(text.substr(0, 40)) + "…", "a name is too long");
  return {};
}

}  // namespace

Result<std::string> relative_path(std::string_view text) {
  constexpr std::string_view mount = "/workspace/";
  if (text.size() > max_path_bytes)
    return fail(ErrorCode::invalid_argument, "the path is too long");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(text, is_control)) {
    return fail(ErrorCode::invalid_argument, "the path holds a control character");
  }
  std::string_view rest = text;
  if (rest.starts_with(mount)) rest.remove_prefix(mount.size());
  if (rest.starts_with('/')) return refuse(std::string(text), "absolute paths are not allowed");
  std::string path;
  size_t depth = 0;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    TRY_VOID(check_component(part, text));
    path.append(path.empty() ? "" : "/").append(part);
    if (++depth > max_path_depth) return refuse(std::string(text), "too deep");
  }
  if (path.empty()) return fail(ErrorCode::invalid_argument, "the path is empty");
  return path;
}

Result<SafeFolder> SafeFolder::open(const std::filesystem::path& folder) {
  UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)};
  if (!fd) return refuse_errno(folder.string(), errno);
  // Without openat2 (Linux before 5.6) no path would be safe, so refuse.
  const UniqueFd probe{open_at(fd.get(), ".", O_PATH | O_DIRECTORY)};
  if (!probe && errno == ENOSYS) {
    return fail(ErrorCode::unsupported, "openat2 is missing: Linux 5.6 or newer is needed");
  }
  return SafeFolder{std::move(fd)};
}

Result<UniqueFd> SafeFolder::open_beneath(const std::string& path, int flags) const {
  UniqueFd fd{open_at(folder_.get(), path.c_str(), static_cast<uint64_t>(flags))};
  if (!fd) return refuse_errno(path, errno);
  return fd;
}

Result<std::string> SafeFolder::read(const std::string& path, size_t max_bytes) const {
  // O_NONBLOCK: opening a planted pipe must not wait for its other end.
  TRY(const auto fd, open_beneath(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return refuse_errno(path, errno);
  if (S_ISDIR(status.st_mode)) return refuse_errno(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return refuse(path, "is no regular file");
  return read_all(fd.get(), max_bytes, path);
}

Result<UniqueFd> SafeFolder::make_parents(const std::string& path) const {
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const auto [parent, name] = parent_and_name(part);
    TRY(const auto above, open_beneath(parent, O_PATH | O_DIRECTORY));
    if (::mkdirat(above.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      return refuse_errno(part, errno);
    }
  }
  return open_beneath(parent_and_name(path).first, O_RDONLY | O_DIRECTORY);
}

Result<void> SafeFolder::write(const std::string& path, std::string_view content) const {
  TRY(const auto parent, make_parents(path));
  const std::string name = parent_and_name(path).second;
  (void)::unlinkat(parent.get(), temporary_name, 0);
  const UniqueFd file{open_at(parent.get(), temporary_name, O_WRONLY | O_CREAT | O_EXCL, 0644)};
  if (!file && errno == EEXIST) {
    return refuse(path, std::string("a folder ") + temporary_name + " beside it is in the way");
  }
  if (!file) return refuse_errno(path, errno);
  auto written = write_all(file.get(), content, path);
  // Renaming replaces a planted link or pipe itself and never its target.
  if (written && ::renameat(parent.get(), temporary_name, parent.get(), name.c_str()) == 0) {
    return {};
  }
  const int error = errno;
  (void)::unlinkat(parent.get(), temporary_name, 0);
  if (!written) return written;
  return refuse_errno(path, error);
}

bool SafeFolder::has_file(const std::string& path) const {
  const auto fd = open_beneath(path, O_PATH);
  struct stat status{};
  return fd && ::fstat(fd->get(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<std::vector<FileEntry>> SafeFolder::walk(const std::string& under, WalkLimits limits) const {
  TRY(auto start, open_beneath(under.empty() ? "." : under, O_RDONLY | O_DIRECTORY));
  Walk walk{limits};
  TRY_VOID(walk.folder(std::move(start), under, 0));
  return walk.take();
}

}  // namespace warpsmith::sandbox
