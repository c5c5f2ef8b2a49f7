// SPDX-License-Identifier: Apache-2.0
#include "commands/mcp/json_rpc.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::commands {
namespace {

using nlohmann::json;

RpcCode code_of(std::string_view line) {
  const RpcLine read = read_rpc_line(line);
  return read.error ? read.error->code : RpcCode{};
}

TEST(JsonRpcTest, ARequestHasAnIdAndParameters) {
  const auto read =
      read_rpc_line(R"({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": 1}})");
  ASSERT_TRUE(read.message);
  EXPECT_EQ(read.message->id, "\"a\"");
  EXPECT_EQ(read.message->method, "ping");
  EXPECT_EQ(json::parse(read.message->params), (json{{"x", 1}}));
}

TEST(JsonRpcTest, ANotificationHasNoId) {
  EXPECT_FALSE(read_rpc_line(R"({"jsonrpc": "2.0", "method": "m"})").message.value().id);
}

TEST(JsonRpcTest, AnAnswerOfTheClientNeedsNoAction) {
  const RpcLine read = read_rpc_line(R"({"jsonrpc": "2.0", "id": 1, "result": {}})");
  EXPECT_FALSE(read.message);
  EXPECT_FALSE(read.error);
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
  const RpcLine read = read_rpc_line(R"({"id": 7, "method": "m"})");
  const json error = json::parse(rpc_error(read.error.value()));
  EXPECT_EQ(error["id"], 7);
  EXPECT_EQ(error["error"]["code"], -32600);
}

TEST(JsonRpcTest, ALineHasNoNewline) {
  EXPECT_EQ(rpc_result("1", json{{"text", "a\nb"}}).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::commands
