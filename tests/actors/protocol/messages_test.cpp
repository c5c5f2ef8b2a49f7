// SPDX-License-Identifier: Apache-2.0
// Every message type survives CAF's binary serializer, including non-finite floats.
#include <gtest/gtest.h>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <cmath>
#include <limits>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors {
namespace {

struct Config : caf::actor_system_config {
  Config() {
    set("scheduler.policy", caf::atom("testing"));
    add_message_types<caf::id_block::warpsmith>();
    add_message_types<caf::id_block::warpsmith_handles>();
    register_errors(*this);
  }
};

class MessagesTest : public ::testing::Test {
 protected:
  template <class T>
  std::vector<char> write(T& value) {
    std::vector<char> bytes;
    caf::binary_serializer sink{sys, bytes};
    EXPECT_EQ(sink(value), caf::none);
    return bytes;
  }
  template <class T>
  caf::error read(const std::vector<char>& bytes, T& into) {
    caf::binary_deserializer source{sys, bytes};
    return source(into);
  }
  template <class T>
  T back(T value) {
    T copy{};
    EXPECT_EQ(read(write(value), copy), caf::none);
    EXPECT_EQ(codec::pack(value), codec::pack(copy));
    return copy;
  }

  Config cfg;
  caf::actor_system sys{cfg};
};

TEST_F(MessagesTest, TokenChunkKeepsNonFiniteLogProbs) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto chunk =
      back(TokenChunk{4, 2, {7, 8}, {-inf, NAN}, {{0, 1}, {0, 2}}, FinishReason::length});
  EXPECT_TRUE(std::isinf(chunk.log_probs[0]));
  EXPECT_TRUE(std::isnan(chunk.log_probs[1]));
  EXPECT_EQ(chunk.versions[1], (PolicyVersion{0, 2}));
}

template <class... Records>
void survive_empty(auto& fixture, PackedList<Records...>) {
  (fixture(Records{}), ...);
}

TEST_F(MessagesTest, EveryRecordSurvivesWhenEmpty) {
  auto one = [this](auto record) { (void)back(record); };
  survive_empty(one, Packed{});
}

TEST_F(MessagesTest, CutBytesAreAnError) {
  TokenChunk chunk{4, 2, {7, 8}, {0, 0}, {{0, 1}, {0, 2}}, FinishReason::length};
  auto bytes = write(chunk);
  bytes.resize(bytes.size() - 1);
  TokenChunk into;
  EXPECT_NE(read(bytes, into), caf::none);
}

TEST_F(MessagesTest, RecordWithWrongInnerLengthIsAnError) {
  Segment segment{1, 0, {1, 2}, {1}, {0, 0}, {{}, {}}};  // mask too short
  Segment into;
  EXPECT_NE(read(write(segment), into), caf::none);
}

TEST_F(MessagesTest, ErrorsKeepCodeAndText) {
  const auto error = from_caf(to_caf({ErrorCode::capacity, "64 of 64 sessions taken"}));
  EXPECT_EQ(error.code, ErrorCode::capacity);
  EXPECT_EQ(error.message, "64 of 64 sessions taken");
  EXPECT_EQ(sys.render(to_caf(error)), "capacity: 64 of 64 sessions taken");
}

}  // namespace
}  // namespace warpsmith::actors
