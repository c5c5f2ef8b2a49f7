// SPDX-License-Identifier: Apache-2.0
#include "runtime/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith {
namespace {

TEST(JsonTextTest, MissingValuesAreNull) {
  EXPECT_EQ(nullable(std::optional<double>{}), nullptr);
  EXPECT_EQ(nullable(std::optional<double>{1.5}), 1.5);
  EXPECT_EQ(nullable(std::optional<int64_t>{3}).dump(), "3");
}

TEST(JsonTextTest, InvalidUtf8IsReplaced) {
  const nlohmann::json json{{"said", "caf\xe9"}};
  EXPECT_EQ(json_text(json), "{\"said\":\"caf\xef\xbf\xbd\"}");
  EXPECT_EQ(json_text(nlohmann::json{1}, 1), "[\n 1\n]");
}

}  // namespace
}  // namespace warpsmith
