// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/durable_file.hpp"

#include <fcntl.h>
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

#include "runtime/checksum.hpp"
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

OpenFile::OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

OpenFile::~OpenFile() {
  close();
}

void OpenFile::close() {
  if (descriptor_ >= 0) (void)::close(descriptor_);
  descriptor_ = -1;
}

Result<OpenFile> open_file(const fs::path& path, int flags) {
  OpenFile file{::open(path.c_str(), flags | O_CLOEXEC, 0644)};
  if (!file.is_open()) return fail_with_errno("cannot open", path, errno);
  return file;
}

Result<void> write_all(const OpenFile& file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_with_errno("cannot write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<std::string> read_text_file(const fs::path& path, size_t max_bytes) {
  auto file = open_file(path, O_RDONLY | O_NONBLOCK);  // a pipe would wait for its writer
  if (!file) return tl::unexpected(file.error());
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) return fail_with_errno("cannot read", path, errno);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {  // read(2) fails for a folder
    return fail(ErrorCode::invalid_argument, path.string() + ": expected a regular file");
  }
  std::string text;
  std::array<char, 1U << 16U> piece{};
  while (true) {
    const ssize_t got = read_some(file->get(), piece.data(), piece.size());
    if (got < 0) return fail_with_errno("cannot read", path, errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
    if (text.size() > max_bytes) {
      return fail(ErrorCode::parse_failed, path.string() + ": longer than the " +
                                               std::to_string(max_bytes) + " bytes allowed");
    }
  }
}

namespace {

Result<void> write_and_rename(const fs::path& temporary, const fs::path& path,
                              std::string_view content, bool synced) {
  auto file = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return tl::unexpected(file.error());
  if (auto ok = write_all(*file, content, temporary); !ok) return ok;
  if (synced && ::fsync(file->get()) != 0) return fail_with_errno("cannot sync", temporary, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return fail_with_errno("cannot rename to", path, errno);
  }
  return {};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

Result<void> replace_file(const fs::path& path, std::string_view content, bool synced) {
  const auto beside = OwnedFolder::make(folder_of(path));
  if (!beside) return tl::unexpected(beside.error());
  return write_and_rename(beside->path() / "unfinished", path, content, synced);
}

}  // namespace

Result<void> write_file_whole(const fs::path& path, std::string_view content) {
  return replace_file(path, content, /*synced=*/false);
}

Result<void> write_file_durably(const fs::path& path, std::string_view content) {
  if (auto written = replace_file(path, content, /*synced=*/true); !written) return written;
  return sync_path(folder_of(path));
}

Result<void> sync_path(const fs::path& path) {
  auto file = open_file(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  if (::fsync(file->get()) != 0) return fail_with_errno("cannot sync", path, errno);
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
    if (auto synced = sync_path(path); !synced) return synced;
  }
  return sync_path(folder);
}

Result<std::string> hash_of_file(const fs::path& path) {
  auto file = open_file(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::vector<char> piece(1U << 20U);
  ssize_t got = read_some(file->get(), piece.data(), piece.size());
  while (got > 0) {
    XXH3_128bits_update(&state, piece.data(), static_cast<size_t>(got));
    got = read_some(file->get(), piece.data(), piece.size());
  }
  if (got < 0) return fail_with_errno("cannot read", path, errno);
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&state));
  return to_hex(digest.digest);
}

}  // namespace warpsmith
