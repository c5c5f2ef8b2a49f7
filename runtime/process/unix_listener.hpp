// SPDX-License-Identifier: Apache-2.0
// Socket files, for processes of one user on one machine.
#pragma once

#include <filesystem>

#include "runtime/process/frame_socket.hpp"

namespace warpsmith {

/// Connects to a socket file of this user. `peer_lost` if no process listens there.
Result<FrameSocket> connect_to(const std::filesystem::path& socket);

/// Listens on a socket file, for processes of this user alone. Removes the file in the end.
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
