// SPDX-License-Identifier: Apache-2.0
// The trace: a JSON array of complete events, bounded.
#include "actors/base/tap.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

class TraceTapTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tap> open(uint64_t most_events) {
    auto tap = make_trace_tap(path_, most_events);
    EXPECT_TRUE(tap.has_value());
    return std::move(*tap);
  }
  json events() const {
    std::ifstream in{path_};
    return json::parse(in);
  }
  static size_t count(const json& events, const char* kind) {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(),
                                             [&](const json& e) { return e["ph"] == kind; }));
  }
  test_support::TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "trace.json").string();
};

TEST_F(TraceTapTest, EveryHandledMessageIsACompleteEventOnItsActorsThread) {
  {
    const auto tap = open(100);
    const auto now = SteadyClock::now();
    tap->handled({"rollout-0", "tick", 7, 1}, {now, microseconds{5}});
    tap->handled({"learner-0", "segment", 8, 1}, {now, microseconds{9}});
    tap->handled({"rollout-0", "chunk", 9, 2}, {now, microseconds{1}});
  }
  const json all = events();
  ASSERT_EQ(count(all, "X"), 3U);
  ASSERT_EQ(count(all, "M"), 2U);
  EXPECT_EQ(all[0]["args"]["name"], "rollout-0");
  EXPECT_EQ(all[1]["name"], "tick");
  EXPECT_EQ(all[1]["dur"], 5.0);
  EXPECT_EQ(all[1]["args"]["sender"], 7);
  EXPECT_EQ(all[1]["tid"], all[0]["tid"]);
  EXPECT_NE(all[3]["tid"], all[0]["tid"]);
}

TEST_F(TraceTapTest, FullTraceEndsWithAnEventThatSaysSo) {
  {
    const auto tap = open(2);
    for (uint64_t i = 1; i <= 5; ++i) {
      tap->handled({"ledger-0", "append", 0, i}, {SteadyClock::now(), microseconds{1}});
    }
  }
  const json all = events();
  EXPECT_EQ(count(all, "X"), 2U);
  EXPECT_EQ(all[all.size() - 2]["name"], "the trace is full and stops here");
}

TEST_F(TraceTapTest, MissingFolderIsNamed) {
  const auto tap = make_trace_tap("/no/such/folder/trace.json");
  ASSERT_FALSE(tap);
  EXPECT_EQ(tap.error().message, "/no/such/folder/trace.json: cannot be opened for the trace");
}

}  // namespace
}  // namespace warpsmith::actors
