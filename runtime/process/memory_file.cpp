// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/memory_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

// From linux/fcntl.h, which cannot be included together with fcntl.h.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace warpsmith {
namespace {

tl::unexpected<Error> refused(const std::string& what, const std::string& name) {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::disk_full : ErrorCode::io_failed;
  return fail(code, "memory file '" + name + "': " + what + ": " + std::strerror(errno));
}

Result<UniqueFd> make(const std::string& name, size_t bytes) {
  UniqueFd fd{::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd) return refused("create", name);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return refused("resize", name);
  return fd;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Result<MemoryFile> MemoryFile::map(UniqueFd fd, bool writable) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return refused("stat", "descriptor");
  const auto size = static_cast<size_t>(info.st_size);
  MemoryFile file;
  if (size > 0) {
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = ::mmap(nullptr, size, protection, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
    if (at == MAP_FAILED) return refused(fmt::format("map {} bytes", size), "descriptor");
    file.bytes_ = {static_cast<std::byte*>(at), size};
  }
  file.fd_ = std::move(fd);
  return file;
}

Result<MemoryFile> MemoryFile::create(const std::string& name, size_t bytes) {
  TRY(auto fd, make(name, bytes));
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return refused("seal size", name);
  }
  return map(std::move(fd), true);
}

Result<MemoryFile> MemoryFile::sealed_copy(const std::string& name, std::string_view content) {
  TRY(auto fd, make(name, 0));
  if (!write_all(fd.get(), content)) return refused("write", name);
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return refused("rewind", name);
  constexpr int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (::fcntl(fd.get(), F_ADD_SEALS, all) != 0) return refused("seal", name);
  return map(std::move(fd), false);
}

Result<void> MemoryFile::seal_future_writes() {
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    return refused("seal future writes", fmt::format("descriptor {}", fd_.get()));
  }
  return {};
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {})) {}

MemoryFile& MemoryFile::operator=(MemoryFile&& other) noexcept {
  if (this == &other) return *this;
  if (!bytes_.empty()) (void)::munmap(bytes_.data(), bytes_.size());
  fd_ = std::move(other.fd_);
  bytes_ = std::exchange(other.bytes_, {});
  return *this;
}

MemoryFile::~MemoryFile() {
  if (!bytes_.empty()) (void)::munmap(bytes_.data(), bytes_.size());
}

}  // namespace warpsmith
