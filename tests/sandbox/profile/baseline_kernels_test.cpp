// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/baseline_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using testing::HasSubstr;

constexpr const char* gemm =
    R"({"kind": "kernel", "name": "sm90_xmma_gemm", "start_us": 0.0, "device_us": 7.5,
        "grid": [4, 8, 1], "block": [384, 1, 1], "registers": 168, "shared_bytes": 213000,
        "bytes": 0})";
constexpr const char* fill =
    R"({"kind": "fill", "name": "Memset", "start_us": 9.25, "device_us": 1.5, "grid": [],
        "block": [], "registers": 0, "shared_bytes": 0, "bytes": 4096})";

std::string party(const std::string& kernels, const std::string& reason = "") {
  return R"({"kernels": [)" + kernels + R"(], "reason": ")" + reason + R"(", "uncounted": ""})";
}

std::string answer(const std::string& eager, const std::string& compiled,
                   const std::string& reason = "") {
  return R"({"ok": true, "eager": )" + party(eager) + R"(, "compiled": )" +
         party(compiled, reason) + "}";
}

TEST(BaselineKernelsTest, ReadsKernelsAndFills) {
  const auto parsed = parse_baseline_kernels(answer(std::string(gemm) + "," + fill, gemm));
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->eager.kernels.size(), 2U);
  const ProfiledKernel& first = parsed->eager.kernels[0];
  EXPECT_EQ(first.name, "sm90_xmma_gemm");
  EXPECT_EQ(first.grid, (std::array<uint32_t, 3>{4, 8, 1}));
  EXPECT_EQ(first.registers, 168U);
  EXPECT_FALSE(first.local_bytes);
  EXPECT_EQ(parsed->eager.kernels[1].name, "fill");
  EXPECT_EQ(parsed->eager.kernels[1].bytes, 4096U);
  EXPECT_DOUBLE_EQ(parsed->eager.kernels[1].start_us, 9.25);
  EXPECT_EQ(parsed->compiled.kernels.size(), 1U);
}

TEST(BaselineKernelsTest, ABaselineWithoutKernelsHasAReason) {
  const auto parsed = parse_baseline_kernels(answer("", "", "torch.compile failed"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->eager.reason, "it launches nothing");
  EXPECT_EQ(parsed->compiled.reason, "torch.compile failed");
}

TEST(ReportedKernelsTest, AreKernelsAReasonOrAnError) {
  const auto parsed = parse_reported_kernels(party(gemm));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->kernels.front().name, "sm90_xmma_gemm");
  EXPECT_FALSE(parsed->kernels.front().counters);
  const auto none = parse_reported_kernels(party("", "CUPTI\\nrefused"));
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
  EXPECT_EQ(none.error().message, "CUPTI?refused");
  for (const char* text :
       {"", "{}", "[[[[", "\xff\xfe", R"({"kernels": 7, "reason": "", "uncounted": ""})",
        R"({"kernels": [], "reason": ""})"}) {
    EXPECT_EQ(parse_reported_kernels(text).error().code, ErrorCode::parse_failed) << text;
  }
  const auto deep = parse_reported_kernels(std::string(1U << 20U, '['));
  EXPECT_EQ(deep.error().code, ErrorCode::parse_failed);
}

TEST(BaselineKernelsTest, CountersGoWithTheirKernels) {
  std::string counted = gemm;
  counted.insert(1, R"("counters": {"dram_read_bytes": 4096, "dram_written_bytes": 0,
      "flops": 1e6, "tensor_flops": 2e9, "warps_active": 0.25}, )");
  const auto parsed = parse_baseline_kernels(answer(counted + "," + fill, gemm));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& counters = parsed->eager.kernels[0].counters;
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->dram_read_bytes, 4096);
  EXPECT_EQ(counters->tensor_flops, 2e9);
  EXPECT_EQ(counters->warps_active, 0.25);
  EXPECT_FALSE(parsed->compiled.kernels[0].counters);
  std::string impossible = counted;
  impossible.replace(impossible.find("4096"), 4, "-4");
  EXPECT_THAT(parse_baseline_kernels(answer(impossible, gemm)).error().message,
              HasSubstr("counters that no device has"));
}

TEST(ReportedKernelsTest, TheReasonForMissingCountersIsOneLineOfText) {
  std::string text = party(gemm);
  text.replace(text.find(R"("uncounted": "")"), 15, R"("uncounted": "no\npermission")");
  const auto parsed = parse_reported_kernels(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->uncounted, "no?permission");
}

/// A candidate can report anything, for example block extents whose product is 2^64 − 1.
TEST(ReportedKernelsTest, ImpossibleNumbersAreRefused) {
  const auto complaint = [](const std::string& from, const std::string& to) {
    std::string entry = from == "4096" ? fill : gemm;
    entry.replace(entry.find(from), from.size(), to);
    const auto parsed = parse_reported_kernels(party(entry));
    return parsed ? "accepted" : parsed.error().message;
  };
  EXPECT_THAT(complaint("[384, 1, 1]", "[42009217, 6700417, 65535]"), HasSubstr("out of range"));
  EXPECT_THAT(complaint("[384, 1, 1]", "[1025, 1, 1]"), HasSubstr("out of range"));
  EXPECT_THAT(complaint("[4, 8, 1]", "[4294967296, 8, 1]"), HasSubstr("out of range"));
  EXPECT_THAT(complaint("168", "4294967295"), HasSubstr("out of range"));
  EXPECT_THAT(complaint("213000", "4294967295"), HasSubstr("out of range"));
  EXPECT_THAT(complaint("168", "1e300"), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint("168", "18446744073709551615"), HasSubstr("out of range"));
  EXPECT_THAT(complaint("4096", "1e300"), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint("4096", "-1"), HasSubstr("out of range"));
}

TEST(BaselineKernelsTest, ErrorsNameTheWrongValue) {
  const auto complaint = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    const auto parsed = parse_baseline_kernels(text);
    return parsed ? "accepted" : parsed.error().message;
  };
  const std::string good = answer(gemm, gemm);
  EXPECT_THAT(complaint(good, "7.5", "-7.5"), HasSubstr("device_us is not a time"));
  EXPECT_THAT(complaint(good, "[4, 8, 1]", "[4, 8]"), HasSubstr("three extents"));
  EXPECT_THAT(complaint(good, "168", "-1"), HasSubstr("out of range"));
  EXPECT_THAT(complaint(good, "\"kernel\"", "\"thing\""), HasSubstr("unknown kind"));
  EXPECT_THAT(complaint(good, "registers", "others"), HasSubstr("registers"));
  EXPECT_THAT(complaint(good, "{", ""), HasSubstr("the worker's kernels"));
}

}  // namespace
}  // namespace warpsmith::sandbox
