// SPDX-License-Identifier: Apache-2.0
// Round trips, and the errors for invalid files.
#include "policy/format/safetensors.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "policy/format/safetensors_header.hpp"
#include "tests/support/json_file.hpp"
#include "tests/support/mutate.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public testing::Test {
 protected:
  fs::path file(const std::string& bytes) const {
    const fs::path path = folder_ / "file.safetensors";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// Writes a file with this header.
  static std::string with_header(std::string header, size_t data_bytes) {
    header.resize((header.size() + 7) / 8 * 8, ' ');
    uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + header +
           std::string(data_bytes, '\0');
  }
  void expect_refused(const std::string& bytes, const std::string& words) const {
    const auto read = read_safetensors(file(bytes));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::parse_failed);
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find("file.safetensors"), std::string::npos);
  }

  test_support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(SafetensorsTest, EveryTypeRoundTrips) {
  WeightMap tensors{{"half", at::randn({3}).to(at::kHalf)},
                    {"brain", at::randn({2, 5}).to(at::kBFloat16)},
                    {"single", at::randn({4, 3}).t()},  // a view, not contiguous
                    {"double", at::randn({1}, at::kDouble)},
                    {"scalar", at::zeros({})},
                    {"empty", at::zeros({0, 4})}};
  const fs::path path = folder_ / "all.safetensors";
  ASSERT_TRUE(write_safetensors(path, tensors, {{"format", "pt"}}));
  const auto read = read_safetensors(path);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read->at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(read->at(name).equal(tensor)) << name;
  }
}

TEST_F(SafetensorsTest, TensorsOutliveTheirFile) {
  const fs::path path = folder_ / "one.safetensors";
  ASSERT_TRUE(write_safetensors(path, {{"x", at::arange(6).to(at::kFloat)}}));
  at::Tensor kept = read_safetensors(path)->at("x");
  fs::remove(path);
  kept.add_(1);  // a private mapping may be written to
  EXPECT_EQ(kept.sum().item<double>(), 21.0);
}

TEST_F(SafetensorsTest, IntegersAreNotWritten) {
  const auto written = write_safetensors(folder_ / "int.safetensors", {{"x", at::arange(3)}});
  EXPECT_EQ(written.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(fs::exists(folder_ / "int.safetensors"));
}

TEST_F(SafetensorsTest, FullDiskIsReportedAndTheDeviceIsNotRemoved) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto written = write_safetensors("/dev/full", {{"x", at::zeros({4096})}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::disk_full);
  EXPECT_TRUE(fs::exists("/dev/full"));
}

TEST_F(SafetensorsTest, MissingFileIsNotFound) {
  EXPECT_EQ(read_safetensors(folder_ / "none").error().code, ErrorCode::not_found);
}

TEST_F(SafetensorsTest, WrongFilesAreRefusedWithTheReason) {
  const std::string x = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  expect_refused("abc", "truncated");
  const uint64_t huge = uint64_t{1} << 60U;
  expect_refused(std::string(reinterpret_cast<const char*>(&huge), 8) + "{}", "header claims");
  expect_refused(with_header("{" + x + "}", 7), "truncated");
  expect_refused(with_header("{" + x + "}", 9), "file has 9");
  expect_refused(with_header("{" + x + "," + x + "}", 8), "named twice");
  expect_refused(with_header("[1]", 0), "not a JSON object");
  expect_refused(with_header("{", 0), "not a JSON object");
  const std::string y = R"("y":{"dtype":"F32","shape":[2],"data_offsets":)";
  expect_refused(with_header("{" + x + "," + y + "[4,12]}}", 12), "overlap");
  expect_refused(with_header("{" + x + "," + y + "[12,20]}}", 20), "hole");
  expect_refused(with_header("{" + x + "," + y + "[16,8]}}", 20), "disagree");
  expect_refused(with_header(R"({"x":{"dtype":"I3","shape":[2],"data_offsets":[0,8]}})", 8),
                 "dtype");
  expect_refused(with_header(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8),
                 "shape");
  expect_refused(with_header(R"({"x":{"dtype":"F64","shape":[4294967296,4294967296],)"
                             R"("data_offsets":[0,0]}})",
                             0),
                 "disagree");
  expect_refused(with_header(R"({"x":{"dtype":"U8","shape":[7],"data_offsets":[0,8]}})", 8),
                 "disagree");
}

/// A file whose header has `padding` spaces after its JSON.
std::string padded(const std::string& header, size_t padding, const std::string& data) {
  const uint64_t length = header.size() + padding;
  return std::string(reinterpret_cast<const char*>(&length), 8) + header +
         std::string(padding, ' ') + data;
}

TEST_F(SafetensorsTest, TensorsNeedNoAlignment) {
  const std::vector<float> values{1.5F, -2.0F};
  const std::string data(reinterpret_cast<const char*>(values.data()), 8);
  const std::string header = R"({"mask":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                             R"("x":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}})";
  for (size_t padding = 0; padding < 8; ++padding) {
    const auto read = read_safetensors(file(padded(header, padding, "\x01\x02\x03" + data)));
    ASSERT_TRUE(read) << read.error().message;
    const at::Tensor& x = read->at("x");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(x.const_data_ptr()) % alignof(float), 0U);
    EXPECT_EQ(x[0].item<float>(), 1.5F);
    EXPECT_EQ(x[1].item<float>(), -2.0F);
  }
}

TEST_F(SafetensorsTest, TensorsOfOtherTypesAreReturnedAsBytes) {
  const std::string header = R"({"a":{"dtype":"I64","shape":[1,2],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[16,19]},)"
                             R"("c":{"dtype":"F8_E4M3","shape":[],"data_offsets":[19,20]}})";
  const auto read = read_safetensors(file(with_header(header, 20)));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at("a").scalar_type(), at::kByte);
  EXPECT_EQ(read->at("a").numel(), 16);
  EXPECT_EQ(read->at("b").numel(), 3);
  EXPECT_EQ(read->at("c").numel(), 1);
}

TEST(SafetensorsHeaderTest, DamagedHeadersNeverBreakTheParser) {
  const StoredTensors tensors{{"a.weight", {StoredType::f32, {4, 2}, 0, 32}},
                              {"b", {StoredType::bf16, {3}, 32, 38}}};
  const std::string header = safetensors_header(tensors, {{"format", "pt"}});
  ASSERT_TRUE(parse_safetensors_header(header, 38));
  RandomStream random(1, "fuzz safetensors");
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto parsed = parse_safetensors_header(warpsmith::test::mutate(header, random), 38);
    if (!parsed) continue;
    ++accepted;
    for (const auto& [name, tensor] : *parsed) ASSERT_LE(tensor.end, 38U) << name;
  }
  EXPECT_LT(accepted, 20'000);
}

}  // namespace
}  // namespace warpsmith::policy
