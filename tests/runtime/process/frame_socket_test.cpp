// SPDX-License-Identifier: Apache-2.0
// Frames: round trips, hostile headers, deadlines, descriptors.
#include "runtime/process/frame_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "runtime/process/memory_file.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith {
namespace {

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

TEST(FrameSocketTest, NamesTimeoutAndLostPeer) {
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

}  // namespace
}  // namespace warpsmith
