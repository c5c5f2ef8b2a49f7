// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/unix_listener.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> failed(ErrorCode code, const fs::path& file, const char* what) {
  return fail(code, file.string() + ": " + what + ": " + std::strerror(errno));
}

/// An address by way of the open folder: the path itself may be longer than an address can be.
struct Address {
  UniqueFd folder;
  sockaddr_un name{};

  explicit Address(const fs::path& file)
      : folder(::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    name.sun_family = AF_UNIX;
    const std::string path =
        "/proc/self/fd/" + std::to_string(folder.get()) + "/" + file.filename().string();
    path.copy(name.sun_path, sizeof name.sun_path - 1);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

UniqueFd new_socket() {
  return UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

/// Between two processes that replace the same file of an ended one.
UniqueFd locked(const fs::path& file) {
  UniqueFd lock{::open((file.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (lock) (void)::flock(lock.get(), LOCK_EX);
  return lock;
}

}  // namespace

Result<FrameSocket> connect_to(const fs::path& socket) {
  const Address address{socket};
  UniqueFd fd = new_socket();
  if (!fd || ::connect(fd.get(), address.get(), sizeof address.name) != 0) {
    return failed(ErrorCode::peer_lost, socket, "connect");
  }
  if (!is_of_this_user(fd.get())) return fail(ErrorCode::peer_lost, socket.string() + ": foreign");
  return FrameSocket{std::move(fd)};
}

Result<UnixListener> UnixListener::at(const fs::path& socket) {
  std::error_code error;
  fs::create_directories(socket.parent_path(), error);
  fs::permissions(socket.parent_path(), fs::perms::owner_all, error);
  const UniqueFd lock = locked(socket);
  if (!lock) return failed(ErrorCode::io_failed, socket, "lock");
  if (connect_to(socket)) {
    return fail(ErrorCode::already_exists, socket.string() + ": another process listens");
  }
  fs::remove(socket, error);
  const Address address{socket};
  UniqueFd fd = new_socket();
  if (!fd || ::bind(fd.get(), address.get(), sizeof address.name) != 0) {
    return failed(ErrorCode::io_failed, socket, "bind");
  }
  if (::listen(fd.get(), 1) != 0) return failed(ErrorCode::io_failed, socket, "listen");
  return UnixListener{std::move(fd), socket};
}

Result<FrameSocket> UnixListener::accept(Deadline deadline) {
  pollfd poll{fd_.get(), POLLIN, 0};
  while (!deadline.passed()) {
    const auto left = std::min<int64_t>(deadline.left().count(), 60'000);
    if (::poll(&poll, 1, static_cast<int>(left)) <= 0) continue;
    UniqueFd peer{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (peer && is_of_this_user(peer.get())) return FrameSocket{std::move(peer)};
  }
  return fail(ErrorCode::timeout, file_.string() + ": no client until the deadline");
}

UnixListener::~UnixListener() {
  if (!fd_) return;
  const UniqueFd lock = locked(file_);
  std::error_code error;
  fs::remove(file_, error);
}

}  // namespace warpsmith
