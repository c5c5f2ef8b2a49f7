// SPDX-License-Identifier: Apache-2.0
// The worker runs untrusted tasks, so its answers are parsed as untrusted.
#include "sandbox/reference/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"

namespace warpsmith::sandbox {
namespace {

const std::string valid =
    R"({"ok":true,"signature":[)"
    R"({"name":"x","role":"input","dtype":"f32","shape":[4,8],"elements":32,"mean":0.5},)"
    R"({"name":"y","role":"output","dtype":"f32","shape":[4],"elements":4}],)"
    R"("constants":[{"name":"s","value":"0.5"}],)"
    R"("flops":100,"mutants":["zeros"],"lower_precisions":["tf32"],)"
    R"("honest_orders":["sequential"],"insensitive":"","compiled":false,"worker_bytes":7})";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = valid;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(DescriptionTest, ReadsTensorsAndNamesExtents) {
  const auto d = parse_description(valid);
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->signature.tensors[0].symbols, (std::vector<std::string>{"d0", "d1"}));
  EXPECT_EQ(d->signature.tensors[1].symbols, (std::vector<std::string>{"d0"}));
  EXPECT_EQ(d->signature.dims, (std::vector<int64_t>{4, 8}));
  ASSERT_EQ(d->signature.constants.size(), 1U);
  EXPECT_EQ(d->signature.constants[0].name + d->signature.constants[0].value, "s0.5");
  EXPECT_EQ(d->values[0].mean, 0.5);
  EXPECT_EQ(d->honest_orders, std::vector<std::string>{"sequential"});
  EXPECT_EQ(d->worker_bytes, 7U);
}

TEST(DescriptionTest, ASignatureNeedsOnlyTensors) {
  const std::string alone =
      R"({"ok":true,"signature":[{"name":"x","role":"input","dtype":"f32","shape":[4,8]},)"
      R"({"name":"y","role":"output","dtype":"f32","shape":[4]}]})";
  const auto signature = parse_signature(alone);
  ASSERT_TRUE(signature) << signature.error().message;
  EXPECT_EQ(signature->dims, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(parse_signature(valid)->tensors.size(), 2U);
  for (const char* text : {"", "{}", R"({"signature":[]})", R"({"signature":[{"name":"x"}]})"}) {
    EXPECT_FALSE(parse_signature(text)) << text;
  }
}

TEST(DescriptionTest, RejectsImpossibleValues) {
  const auto message = [](const std::string& text) {
    const auto d = parse_description(text);
    return d ? std::string("accepted") : d.error().message;
  };
  EXPECT_THAT(message(replaced("\"f32\"", "\"f31\"")), testing::HasSubstr("f31"));
  EXPECT_THAT(message(replaced("[4,8]", "[4,-8]")), testing::HasSubstr("out of range"));
  EXPECT_THAT(message(replaced("[4,8]", "[67108864,67108864]")), testing::HasSubstr("2^34"));
  EXPECT_THAT(message(replaced("\"output\"", "\"input\"")), testing::HasSubstr("no output"));
  EXPECT_THAT(message(replaced("\"input\"", "\"output\"")), testing::Eq("accepted"));
  EXPECT_THAT(message(replaced("\"compiled\":false", "\"c\":1")), testing::HasSubstr("compiled"));
  EXPECT_THAT(message(replaced("\"name\":\"y\"", "\"name\":\"x\"")),
              testing::HasSubstr("two tensors are named x"));
  EXPECT_THAT(message("{"), testing::HasSubstr("parse error"));
}

TEST(DescriptionTest, SurvivesDamagedText) {
  RandomStream random(11, "fuzz");
  for (int i = 0; i < 3000; ++i) {
    std::string text = valid;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      const auto at = static_cast<size_t>(random.below(text.size()));
      if (random.below(3) == 0) {
        text.erase(at, 1 + static_cast<size_t>(random.below(8)));
      } else {
        text[at] = static_cast<char>(random.below(256));
      }
    }
    const auto d = parse_description(text);
    if (!d) {
      EXPECT_EQ(d.error().code, ErrorCode::parse_failed);
    } else {
      EXPECT_EQ(d->values.size(), d->signature.tensors.size());
    }
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
