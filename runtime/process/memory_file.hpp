// SPDX-License-Identifier: Apache-2.0
// Anonymous memory with a descriptor (memfd): created, sealed, mapped, handed to other processes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// A memfd and our mapping of it. Its size is sealed at creation, so that no holder of the
/// descriptor can make us die of SIGBUS.
class MemoryFile {
 public:
  /// `bytes` of zeros, mapped read-write and prefaulted here.
  static Result<MemoryFile> create(const std::string& name, size_t bytes);
  /// A copy of `content` that nobody, we included, can ever change.
  static Result<MemoryFile> sealed_copy(const std::string& name, std::string_view content);
  /// Maps a descriptor that another process made. Takes the descriptor.
  static Result<MemoryFile> map(UniqueFd fd, bool writable);

  /// From now on no descriptor of this memory can be written or mapped writable, however it is
  /// reopened; our own mapping stays writable (F_SEAL_FUTURE_WRITE).
  Result<void> seal_future_writes();

  /// Keeps the mapping only.
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
