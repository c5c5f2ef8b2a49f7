// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/mcp_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace warpsmith::commands {
namespace {

using nlohmann::json;

/// The lines that a session writes.
class WrittenLines {
 public:
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(json::parse(line));
    changed_.notify_all();
  }
  /// Waits for `count` lines and returns all.
  std::vector<json> await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds{30}, [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<json> lines_;
};

/// Works until it is cancelled, at most half a minute.
McpAnswer work_until_cancelled(CallControl& control) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  control.on_cancel([&] {
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  });
  control.progress("began");
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::seconds{30}, [&] { return ended; });
  control.on_cancel(nullptr);
  return {.text = ended ? "cancelled" : "waited too long"};
}

class McpSessionTest : public testing::Test {
 protected:
  static std::vector<McpTool> tools() {
    return {{"echo", "", "{}",
             [](const json& arguments, CallControl&) -> McpAnswer {
               return {.text = arguments.dump(), .structured = arguments.dump()};
             }},
            {"slow", "", "{}",
             [](const json&, CallControl& control) { return work_until_cancelled(control); }},
            {"broken", "", "{}",
             [](const json&, CallControl&) -> McpAnswer { throw std::runtime_error("no"); }}};
  }
  void call(int id, const std::string& tool, const json& meta = json::object()) {
    session_.handle(json{{"jsonrpc", "2.0"},
                         {"id", id},
                         {"method", "tools/call"},
                         {"params", {{"name", tool}, {"arguments", {{"a", 1}}}, {"_meta", meta}}}}
                        .dump());
  }
  void cancel(int id) {
    session_.handle(json{
        {"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}}
                        .dump());
  }

  WrittenLines lines_;
  McpSession session_{tools(), [this](const std::string& line) { lines_.add(line); }};
};

TEST_F(McpSessionTest, AnAnswerHasTextAndAnObject) {
  call(1, "echo");
  const json result = lines_.await(1).at(0)["result"];
  EXPECT_EQ(result["content"][0]["text"], R"({"a":1})");
  EXPECT_EQ(result["structuredContent"], (json{{"a", 1}}));
  EXPECT_EQ(result["isError"], false);
}

TEST_F(McpSessionTest, AnExceptionOfAToolIsAnErrorOfTheCallWithoutItsText) {
  call(1, "broken");
  const json result = lines_.await(1).at(0)["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["content"][0]["text"],
            "internal error of the tool broken; the standard error of this server says which");
}

TEST_F(McpSessionTest, AWrongParameterIsNamedWithWhatWasExpectedAndWhatCame) {
  size_t asked = 0;
  const auto refusal = [&](const char* method, const json& params) {
    session_.handle(
        json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump());
    ++asked;
    return lines_.await(asked).at(asked - 1)["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(refusal("tools/call", {{"name", 5}}), "name: expected a string, got 5");
  EXPECT_EQ(refusal("tools/call", {{"name", "ehco"}}), "no tool \"ehco\"; the nearest is \"echo\"");
  EXPECT_EQ(refusal("tools/call", {{"name", "frobnicate"}}),
            "no tool \"frobnicate\"; expected one of broken, echo, slow");
  EXPECT_EQ(refusal("tools/call", {{"name", "echo"}, {"arguments", {1, 2}}}),
            "arguments: expected an object, got [1,2]");
  EXPECT_EQ(refusal("tools/call", {{"name", "echo"}, {"_meta", json::array()}}),
            "_meta: expected an object, got []");
  EXPECT_EQ(refusal("initialize", {{"protocolVersion", 3}}),
            "initialize: protocolVersion: expected a string, got 3");
  EXPECT_EQ(refusal("tools/lst", json::object()),
            "no method \"tools/lst\"; the nearest is \"tools/list\"");
}

TEST_F(McpSessionTest, ACancelledCallEndsWithoutAnAnswer) {
  call(1, "slow", {{"progressToken", "t"}});
  const json progress = lines_.await(1).at(0);
  EXPECT_EQ(progress["method"], "notifications/progress");
  EXPECT_EQ(progress["params"]["progressToken"], "t");
  EXPECT_EQ(progress["params"]["message"], "began");
  call(2, "echo");
  cancel(1);
  const auto lines = lines_.await(2);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[1]["id"], 2);
}

TEST_F(McpSessionTest, PingIsAnsweredDuringACallAndTheQueueIsBounded) {
  call(1, "slow", {{"progressToken", 7}});
  (void)lines_.await(1);  // it runs: the queue is empty
  session_.handle(R"({"jsonrpc": "2.0", "id": 2, "method": "ping"})");
  EXPECT_EQ(lines_.await(2).at(1)["id"], 2);
  constexpr int most = McpSession::max_waiting_calls;
  for (int i = 0; i <= most; ++i) call(10 + i, "slow");
  const json refused = lines_.await(3).at(2);
  EXPECT_EQ(refused["id"], 10 + most);
  EXPECT_EQ(refused["error"]["code"], -32000);
  session_.stop();
}

TEST_F(McpSessionTest, ABatchIsAnsweredAsOneWhereTheProtocolHasThem) {
  session_.handle(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}})");
  session_.handle(
      R"([{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "echo"}},
          {"jsonrpc": "2.0", "method": "notifications/initialized"},
          {"jsonrpc": "2.0", "id": 3, "method": "ping"}])");
  const json answers = lines_.await(2).at(1);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0]["id"].get<int>() + answers[1]["id"].get<int>(), 2 + 3) << "in any order";
}

TEST_F(McpSessionTest, ABatchOfNotificationsIsNotAnswered) {
  session_.handle(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}})");
  session_.handle(R"([{"jsonrpc": "2.0", "method": "notifications/initialized"}])");
  session_.handle(R"({"jsonrpc": "2.0", "id": 2, "method": "ping"})");
  EXPECT_EQ(lines_.await(2).at(1)["id"], 2);
}

TEST_F(McpSessionTest, OtherVersionsRefuseABatchByName) {
  session_.handle(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})");
  session_.handle(R"([{"jsonrpc": "2.0", "id": 2, "method": "ping"}])");
  const json refused = lines_.await(2).at(1);
  EXPECT_EQ(refused["error"]["code"], -32600);
  EXPECT_THAT(refused["error"]["message"].get<std::string>(),
              testing::HasSubstr("agree on version 2025-03-26"));
}

TEST_F(McpSessionTest, ACancelledCallLeavesTheRestOfItsBatch) {
  session_.handle(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}})");
  call(2, "slow", {{"progressToken", "t"}});
  (void)lines_.await(2);  // it runs, so that the batch waits
  session_.handle(
      R"([{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "echo"}},
          {"jsonrpc": "2.0", "id": 4, "method": "ping"}])");
  cancel(3);
  const json answers = lines_.await(3).at(2);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0]["id"], 4);
  cancel(2);
}

TEST_F(McpSessionTest, AllAnswersCanBeAwaited) {
  call(1, "slow", {{"progressToken", "t"}});
  call(2, "echo");
  (void)lines_.await(1);
  EXPECT_FALSE(session_.await_answers(std::chrono::milliseconds{0}));
  cancel(1);
  EXPECT_TRUE(session_.await_answers(std::chrono::seconds{60}));
  EXPECT_EQ(lines_.await(2).at(1)["id"], 2);
}

}  // namespace
}  // namespace warpsmith::commands
