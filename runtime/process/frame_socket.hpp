// SPDX-License-Identifier: Apache-2.0
// Length-checked frames over a Unix stream socket, with deadlines and descriptor passing: between a
// process and its child, or through a socket file between processes of one user.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/clock.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"

namespace warpsmith {

/// The largest frame that either side accepts.
inline constexpr uint64_t max_frame_bytes = 256ULL << 20U;

/// One end. A frame is: u32 magic, u32 0, u64 length (little-endian), then the bytes.
class FrameSocket {
 public:
  explicit FrameSocket(UniqueFd fd);
  /// Two connected ends.
  static Result<std::pair<FrameSocket, FrameSocket>> pair();

  /// Fails with `timeout` or `peer_lost`; the stream's state is then unknown, so drop the socket.
  Result<void> send(const ByteBuffer& frame, Deadline deadline);
  /// Fails with `timeout`, `peer_lost`, or `parse_failed` for a frame that breaks the format.
  Result<ByteBuffer> receive(Deadline deadline);

  /// Sends 1 to 16 descriptors with one byte, outside frames.
  Result<void> send_descriptors(const std::vector<int>& fds, Deadline deadline);
  Result<std::vector<UniqueFd>> receive_descriptors(Deadline deadline);

  int fd() const { return fd_.get(); }

 private:
  Result<void> wait_for(short events, Deadline deadline) const;
  Result<void> write_all(const char* data, size_t size, Deadline deadline);
  Result<void> read_all(char* data, size_t size, Deadline deadline);

  UniqueFd fd_;
};

/// Connects to a socket file of this user. `peer_lost` if no process listens there.
Result<FrameSocket> connect_to(const std::filesystem::path& socket);

/// Listens on a socket file, for processes of this user only. Removes the file on destruction.
class UnixListener {
 public:
  /// Makes the folder if it is missing, and replaces the file of a process that has ended.
  /// `already_exists` if another process listens there.
  static Result<UnixListener> at(const std::filesystem::path& socket);
  /// `timeout` if no process connects until the deadline.
  Result<FrameSocket> accept(Deadline deadline);

  UnixListener(UnixListener&&) noexcept = default;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();

 private:
  UnixListener(UniqueFd fd, std::filesystem::path file)
      : fd_(std::move(fd)), file_(std::move(file)) {}
  UniqueFd fd_;
  std::filesystem::path file_;
};

}  // namespace warpsmith
