// SPDX-License-Identifier: Apache-2.0
#include "policy/format/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::policy {

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file) return tl::unexpected(file.error());
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) return fail_with_errno("cannot read", path, errno);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    return fail(ErrorCode::parse_failed, path.string() + ": empty, or not a regular file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file->get(), 0);
  if (data == MAP_FAILED) return fail_with_errno("cannot map", path, errno);
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<char*>(data), size));
}

MappedFile::~MappedFile() {
  ::munmap(data_, size_);
}

Result<void> write_text_file(const std::filesystem::path& path, std::string_view text) {
  const auto file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return tl::unexpected(file.error());
  return write_all(*file, text, path);
}

}  // namespace warpsmith::policy
