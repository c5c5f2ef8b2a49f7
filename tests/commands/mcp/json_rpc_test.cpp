// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "commands/mcp/json_rpc.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

/// The entry of a line that is no batch.
RpcEntry entry_of(std::string_view line) {
  const RpcLine read = read_rpc_line(line);
  EXPECT_FALSE(read.is_batch);
  return read.entries.at(0);
}

RpcCode code_of(std::string_view line) {
  const RpcEntry read = entry_of(line);
  return read.error ? read.error->code : RpcCode{};
}

TEST(JsonRpcTest, ARequestHasAnIdAndParameters) {
  const auto read =
      entry_of(R"({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": 1}})");
  ASSERT_TRUE(read.message);
  EXPECT_EQ(read.message->id, "\"a\"");
  EXPECT_EQ(read.message->method, "ping");
  EXPECT_EQ(json::parse(read.message->params), (json{{"x", 1}}));
}

TEST(JsonRpcTest, ANotificationHasNoId) {
  EXPECT_FALSE(entry_of(R"({"jsonrpc": "2.0", "method": "m"})").message.value().id);
}

TEST(JsonRpcTest, AnAnswerOfTheClientNeedsNoAction) {
  for (const char* result : {"{}", "null"}) {
    const RpcEntry read =
        entry_of(R"({"jsonrpc": "2.0", "id": 1, "result": )" + std::string(result) + "}");
    EXPECT_FALSE(read.message);
    EXPECT_FALSE(read.error);
  }
}

TEST(JsonRpcTest, ANullCountsAsAbsent) {
  const auto read = entry_of(R"({"jsonrpc": "2.0", "id": 1, "method": "m", "params": null})");
  EXPECT_EQ(read.message.value().params, "{}");
  const auto inner = entry_of(
      R"({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": {"b": null}, "c": 1}})");
  EXPECT_EQ(inner.message.value().params, R"({"a":{},"c":1})");
}

TEST(JsonRpcTest, AWrongNotificationNeedsNoAction) {
  const RpcEntry read = entry_of(R"({"jsonrpc": "2.0", "method": "m", "params": []})");
  EXPECT_FALSE(read.message);
  EXPECT_FALSE(read.error);
}

TEST(JsonRpcTest, ABatchHasAnEntryForEachMessage) {
  const RpcLine read = read_rpc_line(R"([{"jsonrpc": "2.0", "id": 1, "method": "m"}, 5])");
  EXPECT_TRUE(read.is_batch);
  ASSERT_EQ(read.entries.size(), 2U);
  EXPECT_EQ(read.entries[0].message.value().id, "1");
  EXPECT_EQ(read.entries[1].error.value().code, RpcCode::invalid_request);
  EXPECT_EQ(rpc_batch({"{}", "[]"}), "[{},[]]");
}

TEST(JsonRpcTest, LoneSurrogatesAreReplaced) {
  const auto read =
      entry_of(R"({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"x": "\ud83d"}})");
  EXPECT_EQ(json::parse(read.message.value().params)["x"], "\uFFFD");
}

TEST(JsonRpcTest, WrongLinesHaveCodes) {
  EXPECT_EQ(code_of("{"), RpcCode::parse_error);
  EXPECT_EQ(code_of(std::string(1000, '[') + std::string(1000, ']')), RpcCode::parse_error);
  EXPECT_EQ(code_of("\xFF"), RpcCode::parse_error);
  EXPECT_EQ(code_of("[]"), RpcCode::invalid_request);
  EXPECT_EQ(code_of("5"), RpcCode::invalid_request);
  EXPECT_EQ(code_of(R"({"method": "m"})"), RpcCode::invalid_request);
  EXPECT_EQ(code_of(R"({"jsonrpc": "2.0", "id": 1})"), RpcCode::invalid_request);
  EXPECT_EQ(code_of(R"({"jsonrpc": "2.0", "id": [], "method": "m"})"), RpcCode::invalid_request);
  EXPECT_EQ(code_of(R"({"jsonrpc": "2.0", "id": 1, "method": "m", "params": []})"),
            RpcCode::invalid_params);
}

TEST(JsonRpcTest, AnErrorHasTheRequestsId) {
  const RpcEntry read = entry_of(R"({"id": 7, "method": "m"})");
  const json error = json::parse(rpc_error(read.error.value()));
  EXPECT_EQ(error["id"], 7);
  EXPECT_EQ(error["error"]["code"], -32600);
}

TEST(JsonRpcTest, ALineHasNoNewline) {
  EXPECT_EQ(rpc_result("1", json{{"text", "a\nb"}}).find('\n'), std::string::npos);
}

class LineReaderTest : public testing::Test {
 protected:
  ~LineReaderTest() override {
    ::close(ends_[0]);
    close_writer();
  }
  void write(const std::string& text) {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), std::ssize(text));
  }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// The next result that is not `nothing`, or `nothing` if no input waits.
  LineReader::Status next() {
    for (int tries = 0; tries < 4; ++tries) {
      const auto got = reader().next(line_, std::chrono::milliseconds{0});
      if (got != LineReader::Status::nothing) return got;
    }
    return LineReader::Status::nothing;
  }
  LineReader& reader() { return reader_; }

  static std::array<int, 2> open_pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return ends;
  }

  std::array<int, 2> ends_ = open_pipe();
  std::string line_;

 private:
  LineReader reader_{ends_[0], 8};
};

TEST_F(LineReaderTest, LinesAreCutAtNewlines) {
  write("one\r\ntwo\nthr");
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(line_, "one");
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(line_, "two");
  EXPECT_EQ(next(), LineReader::Status::nothing);
  write("ee\n");
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(line_, "three");
}

TEST_F(LineReaderTest, ALongLineIsSkippedWhole) {
  write("0123456789\nok\n0123456789");
  EXPECT_EQ(next(), LineReader::Status::too_long);
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(line_, "ok");
  EXPECT_EQ(next(), LineReader::Status::nothing);
  write("tail\nok\n");
  EXPECT_EQ(next(), LineReader::Status::too_long);
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(line_, "ok");
}

TEST_F(LineReaderTest, TheEndIsReportedAfterALastLineWithoutNewline) {
  write("one\nlast");
  close_writer();
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(next(), LineReader::Status::line);
  EXPECT_EQ(line_, "last");
  EXPECT_EQ(next(), LineReader::Status::end);
  EXPECT_EQ(next(), LineReader::Status::end);
}

TEST_F(LineReaderTest, ALongLastLineIsSkipped) {
  write("0123456789");
  close_writer();
  EXPECT_EQ(next(), LineReader::Status::too_long);
  EXPECT_EQ(next(), LineReader::Status::end);
}

}  // namespace

}  // namespace warpsmith::commands
