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
  EXPECT_THAT(answer("sum", 1).error().message, HasSubstr("has 1 of them, and sample 2"));
}

TEST_F(CandidatesTest, NumberedFoldersComeInOrder) {
  put("sum/10/kernel.cpp", "ten");
  put("sum/2/kernel.cpp", "two");
  put("sum/notes.txt", "not a candidate");
  EXPECT_EQ(files("sum", 0), (Files{{"solution/kernel.cpp", "two"}}));
  EXPECT_EQ(files("sum", 1), (Files{{"solution/kernel.cpp", "ten"}}));
  const auto third = answer("sum", 2);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::not_found);
}

TEST_F(CandidatesTest, RefusesWhatIsNotThereOrNotText) {
  EXPECT_THAT(answer("sum", 0).error().message, HasSubstr("for task sum"));
  EXPECT_FALSE(answer("../other", 0));
  EXPECT_FALSE(answer("", 0));
  put("blank/a b.cpp", "x");
  EXPECT_THAT(answer("blank", 0).error().message, HasSubstr("without blanks"));
  fs::create_directories(folder_.path() / "empty");
  EXPECT_FALSE(answer("empty", 0));
}

TEST_F(CandidatesTest, TheRunsDatabaseTellsTaskAndSample) {
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

}  // namespace
}  // namespace warpsmith::actors
