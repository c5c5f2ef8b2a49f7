// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/http_server.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <latch>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/clock.hpp"

namespace warpsmith::commands {
namespace {

TEST(HttpServerTest, LoopbackAddressesAreKnown) {
  for (const char* host : {"127.0.0.1", "127.8.9.1", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "192.168.0.1", "example.org", "127.0.0.1.example"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(HttpServerTest, AnAddressIsWrittenAsAUrl) {
  EXPECT_EQ(http_address("127.0.0.1", 80), "http://127.0.0.1:80");
  EXPECT_EQ(http_address("::1", 80), "http://[::1]:80");
}

TEST(HttpServerTest, APortThatIsTakenIsAnError) {
  const HttpHandler handler = [](const ServedRequest&) { return HttpResponse{}; };
  const auto first = HttpServer::listen({.threads = 1}, handler);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = HttpServer::listen({.port = first->port(), .threads = 1}, handler);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::invalid_argument);
}

TEST(HttpServerTest, ConnectionsBeyondThoseThatMayWaitAreRefused) {
  std::latch served{1}, released{1};
  std::once_flag first_one;
  const auto server = HttpServer::listen({.threads = 1, .waiting = 1}, [&](const ServedRequest&) {
    std::call_once(first_one, [&] { served.count_down(); });
    released.wait();
    return HttpResponse{.body = "{}"};
  });
  ASSERT_TRUE(server) << server.error().message;
  std::atomic<int> answered{0}, refused{0};
  const auto ask = [&] {
    httplib::Client client("127.0.0.1", server->port());
    client.set_read_timeout(std::chrono::seconds{60});
    const auto answer = client.Get("/");
    if (!answer) return;
    if (answer->status == 429 && answer->get_header_value("Retry-After") == "1") {
      ++refused;
      refused.notify_all();
    }
    if (answer->status == 200) ++answered;
  };
  {
    std::jthread first(ask);
    served.wait();
    std::jthread second(ask), third(ask), fourth(ask);  // one of the three waits
    for (int seen = refused; seen < 2; seen = refused) refused.wait(seen);
    released.count_down();
  }
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(answered, 2);
}

TEST(HttpServerTest, AHandlerSeesThatItsClientLeaves) {
  std::atomic<bool> was_open{false}, left{false};
  std::latch seen{1};
  auto server = HttpServer::listen({.threads = 2}, [&](const ServedRequest& request) {
    was_open = request.is_open();
    seen.count_down();
    const Deadline deadline = Deadline::after(std::chrono::seconds{120});
    while (request.is_open() && !deadline.passed()) std::this_thread::yield();
    left = !request.is_open();
    return HttpResponse{};
  });
  ASSERT_TRUE(server) << server.error().message;
  httplib::Client client("127.0.0.1", server->port());
  client.set_read_timeout(std::chrono::seconds{120});
  std::jthread asking([&] { (void)client.Post("/", "{}", "application/json"); });
  seen.wait();
  client.stop();
  asking.join();
  server->stop();
  EXPECT_TRUE(was_open);
  EXPECT_TRUE(left);
}

/// A socket that has sent the head of a request with a body of that size.
int asked(int port, int body) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string head =
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n";
  EXPECT_GT(::send(fd, head.data(), head.size(), MSG_NOSIGNAL), 0);
  return fd;
}

TEST(HttpServerTest, AClientThatResetsItsConnectionHasLeft) {
  std::latch begun{1}, reset{1}, answered{1};
  std::atomic<bool> was_open{true};
  auto server = HttpServer::listen({.threads = 1}, [&](const ServedRequest& request) {
    begun.count_down();
    reset.wait();
    was_open = request.is_open();
    answered.count_down();
    return HttpResponse{};
  });
  ASSERT_TRUE(server) << server.error().message;
  const int fd = asked(server->port(), 0);
  begun.wait();
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  ::close(fd);
  reset.count_down();
  answered.wait();
  server->stop();
  EXPECT_FALSE(was_open);
}

/// Sends a byte after each pause until an answer arrives; its first line.
std::string answer_to_a_slow_body(int port, int pause_ms) {
  const int fd = asked(port, 100'000);
  pollfd reading{.fd = fd, .events = POLLIN};
  while (::poll(&reading, 1, pause_ms) == 0) {
    if (::send(fd, "a", 1, MSG_NOSIGNAL) <= 0) break;
  }
  std::array<char, 256> bytes{};
  const auto size = ::recv(fd, bytes.data(), bytes.size(), 0);
  ::close(fd);
  const std::string answer(bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return answer.substr(0, answer.find('\r'));
}

TEST(HttpServerTest, ABodyThatNeverEndsIsRefusedAtItsDeadline) {
  const HttpHandler handler = [](const ServedRequest&) { return HttpResponse{}; };
  const auto server =
      HttpServer::listen({.threads = 1, .body_timeout = std::chrono::seconds{1}}, handler);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(answer_to_a_slow_body(server->port(), 20), "HTTP/1.1 408 Request Timeout");
}

TEST(HttpServerTest, ABodyThatPausesIsRefusedAsLate) {
  const HttpHandler handler = [](const ServedRequest&) { return HttpResponse{}; };
  const auto server =
      HttpServer::listen({.threads = 1, .read_timeout = std::chrono::seconds{1}}, handler);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(answer_to_a_slow_body(server->port(), 60'000), "HTTP/1.1 408 Request Timeout");
}

}  // namespace
}  // namespace warpsmith::commands
