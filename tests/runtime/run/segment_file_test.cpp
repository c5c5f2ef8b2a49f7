// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/segment_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/random_stream.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;
using test_support::TemporaryFolder;

std::string text_of(const Result<ByteBuffer>& bytes) {
  return bytes ? std::string(bytes->begin(), bytes->end()) : "error: " + bytes.error().message;
}

SegmentLog open_log(const fs::path& folder, SegmentLogOptions options = {}) {
  auto log = SegmentLog::open(folder, options);
  if (!log) throw std::runtime_error(log.error().message);
  return std::move(*log);
}

void append_raw(const fs::path& path, std::string_view bytes) {
  std::ofstream{path, std::ios::app | std::ios::binary} << bytes;
}

void overwrite(const fs::path& path, uint64_t offset, char byte) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

TEST(SegmentFileTest, RecordsAreReadBackByPlace) {
  const TemporaryFolder folder;
  SegmentLog log = open_log(folder.path());
  const auto first = log.append("first");
  const auto empty = log.append("");
  const auto zeros = log.append(std::string(1000, '\0'));
  ASSERT_TRUE(first && empty && zeros && log.sync());
  EXPECT_EQ(text_of(log.read(*first)), "first");
  EXPECT_EQ(text_of(log.read(*empty)), "");
  EXPECT_EQ(text_of(log.read(*zeros)), std::string(1000, '\0'));
}

TEST(SegmentFileTest, ReopeningContinuesAfterTheLastRecord) {
  const TemporaryFolder folder;
  const auto first = open_log(folder.path()).append("first");
  SegmentLog log = open_log(folder.path());
  const auto second = log.append("second");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(log.torn_bytes(), 0U);
  EXPECT_EQ(text_of(log.read(*first)), "first");
  EXPECT_EQ(text_of(log.read(*second)), "second");
}

TEST(SegmentFileTest, FullFileIsFollowedByANewOne) {
  const TemporaryFolder folder;
  SegmentLog log = open_log(folder.path(), {.rotate_bytes = 100});
  std::vector<RecordPlace> places;
  for (int i = 0; i < 10; ++i) places.push_back(log.append(std::string(60, 'a')).value());
  EXPECT_EQ(places.front().file, 1U);
  EXPECT_EQ(places.back().file, 5U);
  for (const RecordPlace& place : places) EXPECT_EQ(text_of(log.read(place)).size(), 60U);
  EXPECT_EQ(open_log(folder.path(), {.rotate_bytes = 100}).file_number(), 5U);
}

TEST(SegmentFileTest, OnlyTheTornTailIsCutOffForEveryLength) {
  const TemporaryFolder source;
  SegmentLog whole = open_log(source.path());
  const auto kept = whole.append("kept").value();
  const uint64_t kept_end = whole.end();
  ASSERT_TRUE(whole.append("torn in the middle").has_value());
  const auto bytes = read_text_file(segment_file_path(source.path(), 1), 10'000).value();
  for (uint64_t cut = kept_end + 1; cut < bytes.size(); ++cut) {
    const TemporaryFolder folder;
    append_raw(segment_file_path(folder.path(), 1), bytes.substr(0, cut));
    SegmentLog log = open_log(folder.path());
    EXPECT_EQ(log.torn_bytes(), cut - kept_end);
    EXPECT_EQ(text_of(log.read(kept)), "kept");
    const auto next = log.append("next");
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->offset, kept_end);
    EXPECT_EQ(text_of(log.read(*next)), "next");
  }
}

TEST(SegmentFileTest, FileWithoutAWholeMarkIsStartedAgain) {
  const TemporaryFolder folder;
  append_raw(segment_file_path(folder.path(), 1), "WSS");
  SegmentLog log = open_log(folder.path());
  const auto place = log.append("x");
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(text_of(log.read(*place)), "x");
}

TEST(SegmentFileTest, DamageBeforeTheDurableEndIsNeverCutOff) {
  const TemporaryFolder folder;
  SegmentLog log = open_log(folder.path());
  const auto first = log.append("first").value();
  const auto second = log.append("second").value();
  ASSERT_TRUE(log.sync().has_value());
  overwrite(segment_file_path(folder.path(), 1), first.offset + 17, '?');
  SegmentLog again = open_log(folder.path(), {.durable = {1, log.end()}});
  EXPECT_NE(again.damage().find("000001.seg at byte 8"), std::string::npos) << again.damage();
  EXPECT_EQ(again.file_number(), 2U);
  EXPECT_EQ(again.read(first).error().code, ErrorCode::corrupt);
  EXPECT_EQ(text_of(again.read(second)), "second");
}

TEST(SegmentFileTest, ChangedByteOfARecordIsDetectedOnReading) {
  const TemporaryFolder folder;
  SegmentLog log = open_log(folder.path());
  const auto place = log.append("some payload").value();
  for (uint64_t at = place.offset; at < log.end(); ++at) {
    const auto path = segment_file_path(folder.path(), 1);
    const char before = read_text_file(path, 1000)->at(at);
    overwrite(path, at, static_cast<char>(before ^ 0x40));
    EXPECT_EQ(log.read(place).error().code, ErrorCode::corrupt) << at;
    overwrite(path, at, before);
  }
  EXPECT_EQ(text_of(log.read(place)), "some payload");
}

TEST(SegmentFileTest, DiscardingReturnsToTheLastSync) {
  const TemporaryFolder folder;
  SegmentLog log = open_log(folder.path());
  const auto kept = log.append("kept").value();
  ASSERT_TRUE(log.sync().has_value());
  const auto gone = log.append("gone").value();
  ASSERT_TRUE(log.discard_unsynced().has_value());
  EXPECT_FALSE(log.dirty());
  EXPECT_EQ(text_of(log.read(kept)), "kept");
  EXPECT_FALSE(log.read(gone).has_value());
}

TEST(SegmentFileTest, ScanVisitsWholeRecordsInOrder) {
  const TemporaryFolder folder;
  SegmentLog log = open_log(folder.path());
  for (const char* text : {"a", "bb", "ccc"}) ASSERT_TRUE(log.append(text).has_value());
  append_raw(segment_file_path(folder.path(), 1), "SEM1 and rubbish");
  std::string seen;
  const auto scan = scan_segment_file(
      folder.path(), 1, [&](const RecordPlace&, std::string_view payload) { seen += payload; });
  ASSERT_TRUE(scan.has_value());
  EXPECT_EQ(seen, "abbccc");
  EXPECT_EQ(scan->records, 3U);
  EXPECT_EQ(scan->file_size - scan->valid_end, 16U);
}

TEST(SegmentFileTest, MutatedFilesNeverYieldAWrongRecord) {
  RandomStream draw{11, "segment_file_test"};
  const TemporaryFolder source;
  SegmentLog whole = open_log(source.path());
  std::vector<std::string> texts;
  for (size_t i = 0; i < 8; ++i) {
    texts.push_back(std::string(10 * i, static_cast<char>('a' + i)));
    ASSERT_TRUE(whole.append(texts.back()).has_value());
  }
  const auto bytes = read_text_file(segment_file_path(source.path(), 1), 10'000).value();
  for (int round = 0; round < 300; ++round) {
    const TemporaryFolder folder;
    std::string mutated = bytes.substr(0, 1 + draw.below(bytes.size()));
    mutated[draw.below(mutated.size())] = static_cast<char>(draw.below(256));
    append_raw(segment_file_path(folder.path(), 1), mutated);
    size_t next = 0;
    const auto scan =
        scan_segment_file(folder.path(), 1, [&](const RecordPlace&, std::string_view payload) {
          EXPECT_EQ(payload, texts.at(next++));
        });
    if (!scan) {
      EXPECT_EQ(scan.error().code, ErrorCode::corrupt);
    }
  }
}

}  // namespace
}  // namespace warpsmith
