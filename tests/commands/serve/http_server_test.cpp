// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/http_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
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

int connected(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

/// A socket that has sent the head of a request with a body of that size.
int asked(int port, int body) {
  const int fd = connected(port);
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

/// All that the server of a handler answers to these bytes until it closes the connection.
std::string replies_to(const std::string& bytes, const HttpHandler& handler) {
  const auto server =
      HttpServer::listen({.threads = 1, .idle_timeout = std::chrono::seconds{60}}, handler);
  const int fd = connected(server.value().port());
  EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  std::string replies;
  std::array<char, 4096> piece{};
  for (ssize_t size = 1; size > 0;) {
    size = ::recv(fd, piece.data(), piece.size(), 0);
    if (size > 0) replies.append(piece.data(), static_cast<size_t>(size));
  }
  ::close(fd);
  return replies;
}

/// The same, of a server that answers with what it was sent.
std::string echoes_of(const std::string& bytes) {
  return replies_to(bytes, [](const ServedRequest& request) {
    return HttpResponse{.body = request.path + " " + request.body + ";"};
  });
}

/// A request for a path with further header lines; the connection ends after it.
std::string post(const std::string& headers, const std::string& body) {
  return "POST /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n" + body;
}

using testing::HasSubstr;
using testing::Not;

TEST(HttpServerTest, RequestsThatComeTogetherAreAllAnswered) {
  const std::string body = "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nxy";
  const std::string replies =
      echoes_of(body + "GET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nConnection: close\r\n\r\n");
  const size_t first = replies.find("/a xy;"), second = replies.find("/b ;");
  EXPECT_LT(first, second);
  EXPECT_LT(second, replies.find("/c ;"));
  EXPECT_NE(replies.find("/c ;"), std::string::npos) << replies;
}

TEST(HttpServerTest, TheCaseOfConnectionOptionsDoesNotMatter) {
  for (const char* option : {"Close", "TE, CLOSE"}) {
    const auto reply =
        echoes_of(std::string("GET /a HTTP/1.1\r\nconnection: ") + option + "\r\n\r\n");
    EXPECT_THAT(reply, HasSubstr("Connection: close\r\n")) << option;
  }
}

TEST(HttpServerTest, AConnectionOfHttp10EndsUnlessItIsKept) {
  EXPECT_THAT(echoes_of("GET /a HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close\r\n"));
  const auto kept =
      echoes_of("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n");
  EXPECT_THAT(kept, HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_THAT(kept, HasSubstr("/b ;"));
}

TEST(HttpServerTest, AStreamHasNoChunksForHttp10) {
  const HttpHandler streams = [](const ServedRequest&) {
    HttpResponse response;
    response.stream = [](const HttpStream& out) { return out.write("one") && out.write("two"); };
    return response;
  };
  for (const char* option : {"", "Connection: Keep-Alive\r\n"}) {
    const auto reply = replies_to(std::string("GET / HTTP/1.0\r\n") + option + "\r\n", streams);
    EXPECT_THAT(reply, Not(HasSubstr("chunked")));
    EXPECT_THAT(reply, HasSubstr("Connection: close\r\n"));
    EXPECT_TRUE(reply.ends_with("\r\n\r\nonetwo")) << reply;
  }
  EXPECT_THAT(replies_to("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", streams),
              HasSubstr("Transfer-Encoding: chunked"));
}

TEST(HttpServerTest, TheCaseOfCodingsDoesNotMatter) {
  EXPECT_THAT(echoes_of(post("transfer-encoding: Chunked\r\n", "2\r\nhi\r\n0\r\n\r\n")),
              HasSubstr("/p hi;"));
  EXPECT_THAT(echoes_of(post("Content-Encoding: Identity\r\nContent-Length: 2\r\n", "hi")),
              HasSubstr("/p hi;"));
}

/// printf hi | gzip -n
const std::string zipped_hi("\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\xc8\x04\0\xac\x2a\x93\xd8\x02\0\0\0",
                            22);

std::string zipped(const std::string& coding, const std::string& body) {
  return post(
      "Content-Encoding: " + coding + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n",
      body);
}

TEST(HttpServerTest, ACompressedBodyIsReadOrRefusedByName) {
  for (const char* coding : {"gzip", "GZIP", "x-gzip"}) {
    EXPECT_THAT(echoes_of(zipped(coding, zipped_hi)), HasSubstr("/p hi;")) << coding;
  }
  const auto refused = echoes_of(zipped("zstd", "hi"));
  EXPECT_THAT(refused, HasSubstr("HTTP/1.1 415 "));
  EXPECT_THAT(refused, HasSubstr("expected gzip, deflate or none, got \\\"zstd\\\""));
  const auto broken = echoes_of(zipped("gzip", "hi"));
  EXPECT_THAT(broken, HasSubstr("HTTP/1.1 400 "));
  EXPECT_THAT(broken, HasSubstr("the body: expected gzip"));
}

TEST(HttpServerTest, ARequestThatIsNotHttpNamesWhatWasExpected) {
  for (const char* line : {"get / HTTP/1.1", "GET / HTTP/2.0", "GET / http/1.1"}) {
    const auto reply = echoes_of(std::string(line) + "\r\n\r\n");
    EXPECT_THAT(reply, HasSubstr("HTTP/1.1 400 ")) << line;
    EXPECT_THAT(reply, HasSubstr("Connection: close\r\n")) << line;
    EXPECT_THAT(reply, HasSubstr(std::string("got \\\"") + line)) << line;
  }
}

TEST(HttpServerTest, ARequestWithoutALengthHasNoBody) {
  EXPECT_THAT(echoes_of("POST /a HTTP/1.1\r\nConnection: close\r\n\r\n"), HasSubstr("/a ;"));
}

}  // namespace
}  // namespace warpsmith::commands
