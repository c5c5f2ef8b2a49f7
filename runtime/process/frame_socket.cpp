// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/frame_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t frame_magic = 0x314D5246;  // "FRM1"
constexpr size_t max_descriptors = 16;

struct Header {
  uint32_t magic = frame_magic;
  uint32_t reserved = 0;
  uint64_t length = 0;
};
static_assert(sizeof(Header) == 16);

tl::unexpected<Error> lost(const char* what) {
  return fail(ErrorCode::peer_lost, std::string("socket ") + what + ": " + std::strerror(errno));
}

bool try_again() {
  return errno == EINTR || errno == EAGAIN;
}

tl::unexpected<Error> failed(ErrorCode code, const fs::path& file, const char* what) {
  return fail(code, file.string() + ": " + what + ": " + std::strerror(errno));
}

/// The address goes through the open folder, because the path may be longer than an address allows.
struct Address {
  UniqueFd folder;
  sockaddr_un name{};

  explicit Address(const fs::path& file)
      : folder(::open(file.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    name.sun_family = AF_UNIX;
    const std::string path =
        fmt::format("/proc/self/fd/{}/{}", folder.get(), file.filename().string());
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

/// Serialises two processes that replace the same file of a process that has ended.
UniqueFd locked(const fs::path& file) {
  UniqueFd lock{::open((file.string() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (lock) (void)::flock(lock.get(), LOCK_EX);
  return lock;
}

}  // namespace

FrameSocket::FrameSocket(UniqueFd fd) : fd_(std::move(fd)) {
  (void)::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
}

Result<std::pair<FrameSocket, FrameSocket>> FrameSocket::pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(ErrorCode::io_failed, std::string("socketpair: ") + std::strerror(errno));
  }
  return std::pair{FrameSocket{UniqueFd{ends[0]}}, FrameSocket{UniqueFd{ends[1]}}};
}

Result<void> FrameSocket::wait_for(short events, Deadline deadline) const {
  pollfd poll{fd_.get(), events, 0};
  while (true) {
    const auto left = std::min<int64_t>(deadline.left().count(), 60'000);
    const int ready = ::poll(&poll, 1, static_cast<int>(left));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return lost("poll");
    if (deadline.passed()) return fail(ErrorCode::timeout, "socket: deadline passed");
  }
}

Result<void> FrameSocket::write_all(const char* data, size_t size, Deadline deadline) {
  while (size > 0) {
    const ssize_t n = ::send(fd_.get(), data, size, MSG_NOSIGNAL);
    if (n < 0 && !try_again()) return lost("send");
    if (n < 0) {
      TRY_VOID(wait_for(POLLOUT, deadline));
      continue;
    }
    data += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

Result<void> FrameSocket::read_all(char* data, size_t size, Deadline deadline) {
  while (size > 0) {
    const ssize_t n = ::recv(fd_.get(), data, size, 0);
    if (n == 0) return fail(ErrorCode::peer_lost, "socket receive: closed by the other end");
    if (n < 0 && !try_again()) return lost("receive");
    if (n < 0) {
      TRY_VOID(wait_for(POLLIN, deadline));
      continue;
    }
    data += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

Result<void> FrameSocket::send(const ByteBuffer& frame, Deadline deadline) {
  if (frame.size() > max_frame_bytes) {
    return fail(ErrorCode::capacity,
                fmt::format("frame of {} bytes exceeds {}", frame.size(), max_frame_bytes));
  }
  Header header;
  header.length = frame.size();
  std::array<char, sizeof header> head{};
  std::memcpy(head.data(), &header, sizeof header);
  TRY_VOID(write_all(head.data(), head.size(), deadline));
  return write_all(frame.data(), frame.size(), deadline);
}

Result<ByteBuffer> FrameSocket::receive(Deadline deadline) {
  std::array<char, sizeof(Header)> head{};
  TRY_VOID(read_all(head.data(), head.size(), deadline));
  Header header;
  std::memcpy(&header, head.data(), sizeof header);
  if (header.magic != frame_magic || header.reserved != 0 || header.length > max_frame_bytes) {
    return fail(
        ErrorCode::parse_failed,
        fmt::format("frame header: magic {}, length {}; expected magic {} and at most {} bytes",
                    header.magic, header.length, frame_magic, max_frame_bytes));
  }
  // The buffer grows as bytes arrive, so a false length costs no memory.
  ByteBuffer frame;
  while (frame.size() < header.length) {
    const size_t before = frame.size();
    const auto step = std::min<uint64_t>(header.length - before, 4U << 20U);
    frame.resize(before + static_cast<size_t>(step));
    TRY_VOID(read_all(frame.data() + before, static_cast<size_t>(step), deadline));
  }
  return frame;
}

Result<void> FrameSocket::send_descriptors(const std::vector<int>& fds, Deadline deadline) {
  if (fds.empty() || fds.size() > max_descriptors) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected 1 to 16 descriptors, got {}", fds.size()));
  }
  char byte = static_cast<char>(fds.size());
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_descriptors)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  std::memcpy(CMSG_DATA(head), fds.data(), sizeof(int) * fds.size());
  while (::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) < 0) {
    if (!try_again()) return lost("send descriptors");
    TRY_VOID(wait_for(POLLOUT, deadline));
  }
  return {};
}

Result<std::vector<UniqueFd>> FrameSocket::receive_descriptors(Deadline deadline) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_descriptors)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = -1;
  while ((n = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (!try_again()) return lost("receive descriptors");
    TRY_VOID(wait_for(POLLIN, deadline));
  }
  std::vector<UniqueFd> fds;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (n == 1 && head != nullptr && head->cmsg_type == SCM_RIGHTS) {
    std::vector<int> raw((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(raw.data(), CMSG_DATA(head), raw.size() * sizeof(int));
    for (const int fd : raw) fds.emplace_back(fd);
  }
  if (n == 0) return fail(ErrorCode::peer_lost, "socket: closed by the other end");
  if (fds.empty() || fds.size() != static_cast<size_t>(byte)) {
    return fail(ErrorCode::parse_failed, fmt::format("descriptors: expected {}, got {}",
                                                     static_cast<int>(byte), fds.size()));
  }
  return fds;
}

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
  return fail(ErrorCode::timeout, file_.string() + ": no client connected before the deadline");
}

UnixListener::~UnixListener() {
  if (!fd_) return;
  const UniqueFd lock = locked(file_);
  std::error_code error;
  fs::remove(file_, error);
}

}  // namespace warpsmith
