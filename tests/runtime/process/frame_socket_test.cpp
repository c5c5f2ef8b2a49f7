// SPDX-License-Identifier: Apache-2.0
// Frames: round trips, hostile headers, deadlines, descriptors. Socket files: their owner, and
// files left by a process.
#include "runtime/process/frame_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "runtime/process/memory_file.hpp"
#include "runtime/random_stream.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline soon() {
  return Deadline::after(seconds{10});
}

TEST(FrameSocketTest, CarriesFramesLargerThanTheSocketBuffer) {
  auto ends = FrameSocket::pair();
  ASSERT_TRUE(ends);
  const ByteBuffer big(5'000'000, 'q');
  std::thread sender([&] { EXPECT_TRUE(ends->first.send(big, soon())); });
  const auto got = ends->second.receive(soon());
  sender.join();
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, big);
}

TEST(FrameSocketTest, CarriesAnEmptyFrame) {
  auto ends = FrameSocket::pair();
  ASSERT_TRUE(ends->first.send({}, soon()));
  const auto got = ends->second.receive(soon());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->empty());
}

TEST(FrameSocketTest, DistinguishesTimeoutAndLostPeer) {
  auto ends = FrameSocket::pair();
  const auto late = ends->first.receive(Deadline::after(milliseconds{5}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::timeout);
  {
    const FrameSocket gone = std::move(ends->second);
  }
  const auto lost = ends->first.receive(soon());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::peer_lost);
}

TEST(FrameSocketTest, RefusesImpossibleHeaders) {
  RandomStream random{1, "frames"};
  for (int i = 0; i < 200; ++i) {
    auto ends = FrameSocket::pair();
    ASSERT_TRUE(ends);
    std::array<char, 16> head{};
    for (char& c : head) c = static_cast<char>(random());
    ASSERT_EQ(::send(ends->first.fd(), head.data(), head.size(), 0), 16);
    const auto got = ends->second.receive(soon());
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::parse_failed);
  }
}

TEST(FrameSocketTest, PassesDescriptors) {
  auto ends = FrameSocket::pair();
  const auto file = MemoryFile::sealed_copy("x", "hello");
  ASSERT_TRUE(ends->first.send_descriptors({file->fd(), file->fd()}, soon()));
  auto fds = ends->second.receive_descriptors(soon());
  ASSERT_TRUE(fds);
  ASSERT_EQ(fds->size(), 2U);
  const auto seen = MemoryFile::map(std::move(fds->front()), false);
  ASSERT_TRUE(seen);
  EXPECT_EQ(static_cast<char>(seen->bytes()[1]), 'e');
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
