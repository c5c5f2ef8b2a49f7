// SPDX-License-Identifier: Apache-2.0
#include "policy/format/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace warpsmith::policy {
namespace {

std::string describe(int error_number) {
  return std::generic_category().message(error_number);
}

Error read_error(const std::filesystem::path& path, int error_number) {
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  return {missing ? ErrorCode::not_found : ErrorCode::io_failed,
          path.string() + ": " + describe(error_number)};
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info{};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0) return tl::unexpected(read_error(path, errno));
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    return fail(ErrorCode::parse_failed, path.string() + ": empty, or not a regular file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) return tl::unexpected(read_error(path, errno));
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<char*>(data), size));
}

MappedFile::~MappedFile() {
  ::munmap(data_, size_);
}

Result<std::string> read_text_file(const std::filesystem::path& path, size_t limit) {
  const auto file = MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  if ((*file)->size() > limit) {
    return fail(ErrorCode::parse_failed, path.string() + ": " + std::to_string((*file)->size()) +
                                             " bytes, expected at most " + std::to_string(limit));
  }
  return std::string((*file)->text());
}

Error write_error(const std::filesystem::path& path, int error_number) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return {full ? ErrorCode::disk_full : ErrorCode::io_failed,
          "cannot write " + path.string() + ": " + describe(error_number)};
}

Result<void> write_text_file(const std::filesystem::path& path, std::string_view text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (out) return {};
  return tl::unexpected(write_error(path, errno));
}

}  // namespace warpsmith::policy
