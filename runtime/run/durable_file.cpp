// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/durable_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::disk_full;
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::not_found;
    case ELOOP:
      return ErrorCode::invalid_argument;
    default:
      return ErrorCode::io_failed;
  }
}

ssize_t read_some(int descriptor, char* into, size_t size) {
  ssize_t got = ::read(descriptor, into, size);
  while (got < 0 && errno == EINTR) got = ::read(descriptor, into, size);
  return got;
}

}  // namespace

tl::unexpected<Error> fail_with_errno(std::string_view what, const fs::path& path,
                                      int error_number) {
  return fail(code_of(error_number), std::string(what) + ' ' + path.string() + ": " +
                                         std::generic_category().message(error_number));
}

Result<UniqueFd> open_file(const fs::path& path, int flags) {
  UniqueFd file{::open(path.c_str(), flags | O_CLOEXEC, 0644)};
  if (!file) return fail_with_errno("cannot open", path, errno);
  return file;
}

Result<void> write_all(const UniqueFd& file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_with_errno("cannot write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_with_errno("cannot make the folder", folder, error.value());
  return {};
}

Result<std::string> read_text_file(const fs::path& path, size_t max_bytes) {
  TRY(auto file,
      open_file(path, O_RDONLY | O_NONBLOCK));  // opening a pipe would wait for its writer
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_with_errno("cannot read", path, errno);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {  // read(2) fails for a folder
    return fail(ErrorCode::invalid_argument, path.string() + ": expected a regular file");
  }
  std::string text;
  std::array<char, 1U << 16U> piece{};
  while (true) {
    const ssize_t got = read_some(file.get(), piece.data(), piece.size());
    if (got < 0) return fail_with_errno("cannot read", path, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
    if (text.size() > max_bytes) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("{}: longer than the {} bytes allowed", path.string(), max_bytes));
    }
  }
}

namespace {

Result<void> write_and_rename(const fs::path& temporary, const fs::path& path,
                              std::string_view content, bool synced) {
  TRY(auto file, open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC));
  TRY_VOID(write_all(file, content, temporary));
  if (synced && ::fsync(file.get()) != 0) return fail_with_errno("cannot sync", temporary, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return fail_with_errno("cannot rename to", path, errno);
  }
  return {};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

Result<void> replace_file(const fs::path& path, std::string_view content, bool synced) {
  TRY(const auto beside, OwnedFolder::make(folder_of(path)));
  return write_and_rename(beside.path() / "unfinished", path, content, synced);
}

}  // namespace

Result<void> write_file_whole(const fs::path& path, std::string_view content) {
  return replace_file(path, content, /*synced=*/false);
}

Result<void> write_file_durably(const fs::path& path, std::string_view content) {
  TRY_VOID(replace_file(path, content, /*synced=*/true));
  return sync_path(folder_of(path));
}

Result<void> sync_path(const fs::path& path) {
  TRY(auto file, open_file(path, O_RDONLY));
  if (::fsync(file.get()) != 0) return fail_with_errno("cannot sync", path, errno);
  return {};
}

Result<void> sync_tree(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it{folder, error}, end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file() || it->is_directory()) paths.push_back(it->path());
  }
  if (error) return fail_with_errno("cannot list", folder, error.value());
  for (const fs::path& path : paths) {
    TRY_VOID(sync_path(path));
  }
  return sync_path(folder);
}

Result<std::string> hash_of_file(const fs::path& path) {
  TRY(auto file, open_file(path, O_RDONLY));
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::vector<char> piece(1U << 20U);
  ssize_t got = read_some(file.get(), piece.data(), piece.size());
  while (got > 0) {
    XXH3_128bits_update(&state, piece.data(), static_cast<size_t>(got));
    got = read_some(file.get(), piece.data(), piece.size());
  }
  if (got < 0) return fail_with_errno("cannot read", path, errno);
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&state));
  return to_hex(digest.digest);
}

}  // namespace warpsmith
