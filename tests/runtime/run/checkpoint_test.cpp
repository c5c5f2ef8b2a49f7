// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/checkpoint.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "runtime/random_stream.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;
using test_support::TemporaryFolder;

void put(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream{path} << text;
}

CheckpointStore::Writer writer(const std::string& weights) {
  return [weights](const fs::path& folder) -> Result<void> {
    put(folder / "model.safetensors", weights);
    put(folder / "critic" / "model.safetensors", "critic of " + weights);
    return {};
  };
}

CheckpointStore open_store(const fs::path& folder) {
  auto store = CheckpointStore::open(folder);
  if (!store) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

size_t entries_in(const fs::path& folder) {
  const fs::directory_iterator all{folder};
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(CheckpointTest, WrittenCheckpointIsFound) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  const auto written = store.write({2, 5}, writer("w5"));
  ASSERT_TRUE(written.has_value()) << written.error().message;
  const auto search = store.newest();
  ASSERT_TRUE(search && search->found);
  EXPECT_EQ(search->found->manifest, written->manifest);
  EXPECT_EQ(search->found->manifest.version, (PolicyVersion{2, 5}));
  ASSERT_EQ(search->found->manifest.files.size(), 2U);
  EXPECT_EQ(search->found->manifest.files[0].name, "critic/model.safetensors");
  EXPECT_TRUE(search->complaints.empty());
}

TEST(CheckpointTest, FailingWriterLeavesNothing) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  const auto written = store.write({1, 1}, [](const fs::path& inside) -> Result<void> {
    put(inside / "half", "x");
    return fail(ErrorCode::disk_full, "no space");
  });
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, ErrorCode::disk_full);
  EXPECT_EQ(written.error().message, "checkpoint step-1: no space");
  EXPECT_EQ(entries_in(folder.path()), 0U);
}

TEST(CheckpointTest, TemporaryFolderOfADeadProcessIsRemoved) {
  const TemporaryFolder folder;
  put(folder.path() / ".tmp-step-3" / "half", "x");
  EXPECT_FALSE(open_store(folder.path()).newest()->found.has_value());
  EXPECT_EQ(entries_in(folder.path()), 0U);
}

TEST(CheckpointTest, DamagedCheckpointIsSkippedWithItsReason) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  for (uint32_t step : {1U, 2U, 3U, 4U}) {
    ASSERT_TRUE(store.write({1, step}, writer("w")).has_value());
  }
  put(store.path_of(4) / "model.safetensors", "W");
  fs::remove(store.path_of(3) / "manifest.json");
  fs::remove(store.path_of(2) / "critic" / "model.safetensors");
  const auto search = store.newest();
  ASSERT_TRUE(search && search->found);
  EXPECT_EQ(search->found->manifest.version.step, 1U);
  ASSERT_EQ(search->complaints.size(), 3U);
  EXPECT_NE(search->complaints[0].find("step-4/model.safetensors: expected 1 bytes"),
            std::string::npos)
      << search->complaints[0];
  EXPECT_NE(search->complaints[1].find("step-3/manifest.json"), std::string::npos);
  EXPECT_NE(search->complaints[2].find("step-2/critic/model.safetensors"), std::string::npos);
}

TEST(CheckpointTest, UnreadableCheckpointIsNotSkipped) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  for (uint32_t step : {1U, 2U}) ASSERT_TRUE(store.write({1, step}, writer("w")).has_value());
  const fs::path manifest = store.path_of(2) / "manifest.json";
  fs::remove(manifest);
  fs::create_directory(manifest);  // reading it fails with EISDIR, for root too
  const auto search = store.newest();
  ASSERT_FALSE(search.has_value());
  EXPECT_EQ(search.error().code, ErrorCode::io_failed);
  EXPECT_NE(search.error().message.find(manifest.string()), std::string::npos);
}

TEST(CheckpointTest, CheckpointAheadOfTheLedgerIsSkipped) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  for (uint32_t step : {3U, 6U}) ASSERT_TRUE(store.write({1, step}, writer("w")).has_value());
  const auto search = store.newest(5);
  ASSERT_TRUE(search && search->found);
  EXPECT_EQ(search->found->manifest.version.step, 3U);
  EXPECT_EQ(search->complaints.size(), 1U);
}

TEST(CheckpointTest, OnlyTheNewestAreKept) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  for (uint32_t step : {2U, 9U, 10U, 11U}) {
    ASSERT_TRUE(store.write({1, step}, writer("w")).has_value());
  }
  ASSERT_TRUE(store.prune(2).has_value());
  EXPECT_EQ(store.steps().value(), (std::vector<uint32_t>{10, 11}));
  EXPECT_EQ(entries_in(folder.path()), 2U);
}

TEST(CheckpointTest, AbandonedLineageCannotBeResumed) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  for (uint32_t step : {1U, 2U, 3U, 4U}) {
    ASSERT_TRUE(store.write({1, step}, writer("w")).has_value());
  }
  ASSERT_TRUE(store.set_aside_after(2).has_value());
  EXPECT_EQ(store.steps().value(), (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(fs::exists(folder.path() / "aside-step-4" / "manifest.json"));
  EXPECT_EQ(entries_in(folder.path()), 3U);
  ASSERT_TRUE(store.write({2, 3}, writer("other")).has_value());
  ASSERT_TRUE(store.set_aside_after(2).has_value());
  EXPECT_TRUE(fs::exists(folder.path() / "aside-step-3"));
  EXPECT_EQ(entries_in(folder.path()), 3U);
}

TEST(CheckpointTest, SameStepTwiceIsRefused) {
  const TemporaryFolder folder;
  const CheckpointStore store = open_store(folder.path());
  ASSERT_TRUE(store.write({1, 1}, writer("w")).has_value());
  EXPECT_EQ(store.write({1, 1}, writer("w")).error().code, ErrorCode::already_exists);
}

TEST(CheckpointTest, ManifestNamesOutsideTheFolderAreRefused) {
  const CheckpointManifest good{{1, 2}, "now", {{"a", 1, std::string(32, '0')}}};
  ASSERT_TRUE(manifest_from_json(to_json(good)).has_value());
  for (const char* name : {"../a", "/etc/passwd", "", "a/../../b", "a//b", ".", "a/"}) {
    CheckpointManifest bad = good;
    bad.files[0].name = name;
    EXPECT_FALSE(manifest_from_json(to_json(bad)).has_value()) << name;
  }
}

TEST(CheckpointTest, MutatedManifestsAreReadCorrectlyOrRefused) {
  RandomStream draw{3, "checkpoint_test"};
  const CheckpointManifest good{
      {1, 2}, "2026-01-01", {{"a", 17, std::string(32, 'a')}, {"b/c", 0, std::string(32, '1')}}};
  const std::string text = to_json(good);
  for (int round = 0; round < 3000; ++round) {
    std::string mutated = text.substr(0, text.size() - draw.below(2) * draw.below(text.size()));
    for (uint64_t i = draw.below(4); i > 0 && !mutated.empty(); --i) {
      mutated[draw.below(mutated.size())] = static_cast<char>(draw.below(256));
    }
    const auto back = manifest_from_json(mutated);
    if (back) {
      EXPECT_EQ(manifest_from_json(to_json(*back)).value(), *back);
    } else {
      EXPECT_EQ(back.error().code, ErrorCode::parse_failed);
    }
  }
}

}  // namespace
}  // namespace warpsmith
