// SPDX-License-Identifier: Apache-2.0
// Anonymous memory with a descriptor (memfd): created, sealed, mapped, passed to other processes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// A memfd and this process's mapping of it. Its size is sealed at creation, so that no other
/// holder of the descriptor can cause a SIGBUS here.
class MemoryFile {
 public:
  /// `bytes` zero bytes, mapped read-write and prefaulted.
  static Result<MemoryFile> create(const std::string& name, size_t bytes);
  /// A copy of `content` that no process can change, including this one.
  static Result<MemoryFile> sealed_copy(const std::string& name, std::string_view content);
  /// Maps the memory of a descriptor that another process made; takes ownership of the descriptor.
  static Result<MemoryFile> map(UniqueFd fd, bool writable);

  /// Afterwards this memory cannot be written or mapped writable through any descriptor, even a
  /// reopened one; the existing mapping stays writable (F_SEAL_FUTURE_WRITE).
  Result<void> seal_future_writes();

  /// Closes the descriptor and keeps the mapping.
  void close_descriptor() { fd_.reset(); }

  int fd() const { return fd_.get(); }
  std::span<std::byte> bytes() const { return bytes_; }

  MemoryFile() = default;
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&& other) noexcept;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();

 private:
  UniqueFd fd_;
  std::span<std::byte> bytes_;
};

}  // namespace warpsmith
