// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "policy/text/fenced_files.hpp"
#include "runtime/run/run_database.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CandidatesTest : public testing::Test {
 protected:
  void put(const fs::path& file, const std::string& text) {
    fs::create_directories((folder_.path() / file).parent_path());
    std::ofstream{folder_.path() / file} << text;
  }
  Result<std::string> answer(const std::string& task, uint64_t index) {
    return candidate_answer(folder_.path(), {task, index});
  }
  std::vector<std::pair<std::string, std::string>> files(const std::string& task, uint64_t index) {
    std::vector<std::pair<std::string, std::string>> pairs;
    const auto text = answer(task, index);
    EXPECT_TRUE(text) << text.error().message;
    for (const auto& file : policy::fenced_files(text.value_or(""))) {
      pairs.emplace_back(file.path, file.content);
    }
    return pairs;
  }

  test_support::TemporaryFolder folder_;
};

using Files = std::vector<std::pair<std::string, std::string>>;

TEST_F(CandidatesTest, AFolderIsOneCandidate) {
  put("sum/kernel.cpp", "int a;\n```\nno end\n````\n");
  put("sum/part/b.hpp", "");
  EXPECT_EQ(files("sum", 0), (Files{{"solution/kernel.cpp", "int a;\n```\nno end\n````\n"},
                                    {"solution/part/b.hpp", ""}}));
  EXPECT_THAT(answer("sum", 1).error().message, HasSubstr("for sample 2 of task sum"));
}

TEST_F(CandidatesTest, NumberedFoldersAreUsedInOrder) {
  put("sum/10/kernel.cpp", "ten");
  put("sum/2/kernel.cpp", "two");
  put("sum/notes.txt", "not a candidate");
  EXPECT_EQ(files("sum", 0), (Files{{"solution/kernel.cpp", "two"}}));
  EXPECT_EQ(files("sum", 1), (Files{{"solution/kernel.cpp", "ten"}}));
  const auto third = answer("sum", 2);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::not_found);
}

TEST_F(CandidatesTest, RefusesMissingFilesAndBinaryFiles) {
  EXPECT_THAT(answer("sum", 0).error().message, HasSubstr("for task sum"));
  EXPECT_FALSE(answer("../other", 0));
  EXPECT_FALSE(answer("", 0));
  put("blank/a b.cpp", "x");
  EXPECT_THAT(answer("blank", 0).error().message, HasSubstr("without blanks"));
  fs::create_directories(folder_.path() / "empty");
  EXPECT_FALSE(answer("empty", 0));
}

TEST_F(CandidatesTest, TheRunsDatabaseDeterminesTaskAndSample) {
  const RunPaths run{folder_.path()};
  {
    auto db = RunDatabase::open(run.database()).value();
    Task sum, product;
    sum.id = "sum";
    product.id = "product";
    TrajectoryId id = 0;
    for (const Task* task : {&sum, &product, &sum}) {
      ASSERT_TRUE(db.put_task(*task));
      ASSERT_TRUE(db.put_admission(++id, *task, {}));
    }
  }
  EXPECT_EQ(place_of(run, 1).value().index, 0U);
  EXPECT_EQ(place_of(run, 3).value().task_id, "sum");
  EXPECT_EQ(place_of(run, 3).value().index, 1U);
  EXPECT_EQ(place_of(run, 2).value().index, 0U);
  EXPECT_FALSE(place_of(run, 9));
}

/// A run with one task and two starts.
class PlacesTest : public CandidatesTest {
 protected:
  PlacesTest() { sum_.id = "sum"; }
  void admit(std::initializer_list<TrajectoryId> ids) {
    ASSERT_TRUE(db_.put_task(sum_));
    for (const TrajectoryId id : ids) ASSERT_TRUE(db_.put_admission(id, sum_, {start_, 0}));
  }
  void drop(TrajectoryId id) { ASSERT_TRUE(db_.put_drop(id, DropReason::no_answer, "none")); }
  /// The clock is set back meanwhile, as far as the records show.
  void restart() {
    for (const char* sql : {"UPDATE trajectories SET dropped_at = '9' || dropped_at",
                            "UPDATE incarnations SET started_at = '9' || started_at"}) {
      ASSERT_TRUE(db_.connection().run(sql, {}));
    }
    start_ = db_.begin_incarnation(0).value();
  }
  uint64_t index(TrajectoryId id) { return place_of(run_, id).value().index; }

  const RunPaths run_{folder_.path()};
  RunDatabase db_ = RunDatabase::open(run_.database()).value();
  uint32_t start_ = db_.begin_incarnation(0).value();
  Task sum_;
};

TEST_F(PlacesTest, AResumeAsksAgainForDroppedSamples) {
  admit({1, 2, 3});
  drop(1);
  drop(3);
  restart();
  admit({4, 5, 6});
  EXPECT_EQ(index(4), 0U);
  EXPECT_EQ(index(5), 2U);
  EXPECT_EQ(index(6), 3U);
  EXPECT_EQ(index(2), 1U) << "a trajectory keeps its place";
  drop(4);
  restart();
  admit({7});
  EXPECT_EQ(index(7), 0U);
}

TEST_F(PlacesTest, WithinOneStartEachTrajectoryHasItsOwnPlace) {
  admit({1});
  drop(1);
  admit({2});
  EXPECT_EQ(index(2), 1U);
  restart();
  drop(2);
  admit({3});
  EXPECT_EQ(index(3), 0U) << "2 was in flight when the run was resumed";
}

}  // namespace
}  // namespace warpsmith::actors
