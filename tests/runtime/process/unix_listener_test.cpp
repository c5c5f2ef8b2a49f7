// SPDX-License-Identifier: Apache-2.0
// Socket files: who may listen, what is left behind.
#include "runtime/process/unix_listener.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

Deadline soon() {
  return Deadline::after(std::chrono::seconds{10});
}

class UnixListenerTest : public testing::Test {
 protected:
  fs::path socket() const { return folder_.path() / "services" / "one.socket"; }
  test_support::TemporaryFolder folder_;
};

TEST_F(UnixListenerTest, CarriesFramesBothWays) {
  auto listener = UnixListener::at(socket());
  ASSERT_TRUE(listener) << listener.error().message;
  auto client = connect_to(socket());
  ASSERT_TRUE(client) << client.error().message;
  auto server = listener->accept(soon());
  ASSERT_TRUE(server) << server.error().message;
  ASSERT_TRUE(client->send({'a'}, soon()));
  EXPECT_EQ(server->receive(soon()).value(), ByteBuffer{'a'});
  ASSERT_TRUE(server->send({'b'}, soon()));
  EXPECT_EQ(client->receive(soon()).value(), ByteBuffer{'b'});
}

TEST_F(UnixListenerTest, RefusesASecondListenerAndReplacesADeadFile) {
  {
    const auto first = UnixListener::at(socket());
    ASSERT_TRUE(first);
    const auto second = UnixListener::at(socket());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::already_exists);
  }
  EXPECT_FALSE(fs::exists(socket()));
  std::ofstream{socket()} << "left behind";
  EXPECT_TRUE(UnixListener::at(socket()));
}

TEST_F(UnixListenerTest, ItsFolderIsClosedToOthers) {
  const auto listener = UnixListener::at(socket());
  ASSERT_TRUE(listener);
  EXPECT_EQ(fs::status(socket().parent_path()).permissions(), fs::perms::owner_all);
}

TEST_F(UnixListenerTest, APathMayBeLongerThanAnAddress) {
  const fs::path deep = folder_.path() / std::string(150, 'd') / "one.socket";
  const auto listener = UnixListener::at(deep);
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_TRUE(connect_to(deep));
}

TEST_F(UnixListenerTest, NoListenerAndNoClientAreErrors) {
  const auto none = connect_to(socket());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::peer_lost);
  auto listener = UnixListener::at(socket());
  const auto client = listener->accept(Deadline::after(std::chrono::milliseconds{10}));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::timeout);
}

}  // namespace
}  // namespace warpsmith
