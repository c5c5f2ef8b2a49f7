// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/serve/http_server.hpp"

#include <gtest/gtest.h>

namespace warpsmith::actors {
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
  const HttpHandler handler = [](const HttpRequest&) { return HttpResponse{}; };
  const auto first = HttpServer::listen({.threads = 1}, handler);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = HttpServer::listen({.port = first->port(), .threads = 1}, handler);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace warpsmith::actors
