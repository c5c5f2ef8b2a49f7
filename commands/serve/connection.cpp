// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/connection.hpp"

#include <httplib.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

namespace warpsmith::commands {
namespace {

/// One end of a connection, with the address as the library writes it.
struct End {
  std::string address;
  int port = -1;

  bool operator==(const End&) const = default;
};

using NameCall = int(int, sockaddr*, socklen_t*);

/// An empty end for what is no connection.
End end_of(int socket, NameCall* call) {
  sockaddr_storage storage{};
  auto* const name = reinterpret_cast<sockaddr*>(&storage);
  socklen_t size = sizeof storage;
  std::array<char, NI_MAXHOST> address{};
  std::array<char, NI_MAXSERV> port{};
  if (call(socket, name, &size) != 0) return {};
  if (::getnameinfo(name, size, address.data(), address.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {address.data(), std::atoi(port.data())};
}

/// -1 if there is none: a client that resets its connection leaves a socket without a peer.
int socket_between(const End& here, const End& there) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    if (end_of(socket, ::getpeername) == there && end_of(socket, ::getsockname) == here) {
      return socket;
    }
  }
  return -1;
}

bool is_open(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

std::function<bool()> connection_of(const httplib::Request& request) {
  return [here = End{request.local_addr, request.local_port},
          there = End{request.remote_addr, request.remote_port}, socket = -1]() mutable {
    if (socket < 0) socket = socket_between(here, there);
    return socket >= 0 && is_open(socket);
  };
}

}  // namespace warpsmith::commands
