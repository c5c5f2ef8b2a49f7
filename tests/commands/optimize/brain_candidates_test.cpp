// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/brain_candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "commands/optimize/result_folder.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class BestSubmissionsTest : public testing::Test {
 protected:
  static sandbox::EvaluateRequest call(const std::string& text, Request request = Request::verify) {
    sandbox::EvaluateRequest made;
    made.submission.files = {{"kernel.cpp", text}};
    made.want = request;
    return made;
  }
  static Verdict verdict(VerdictClass outcome) {
    Verdict made;
    made.outcome = outcome;
    return made;
  }
  /// A correct one whose speed-up over eager has this low end.
  static Verdict timed(double low) {
    Verdict made = verdict(VerdictClass::passed);
    ShapeResult shape;
    shape.speedup_eager_interval = Interval{low, low + 1};
    made.shapes = {shape};
    return made;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(place())) {
      out.push_back(entry.path().filename());
    }
    std::ranges::sort(out);
    return out;
  }
  std::string text_of(const std::string& name) const {
    return read_text_file(place() / name / "kernel.cpp", 1000).value();
  }
  fs::path place() const { return folder_.path() / "found"; }

  test_support::TemporaryFolder folder_;
  BestSubmissions found_{place()};
};

TEST_F(BestSubmissionsTest, TheBestOfATrajectoryIsKept) {
  found_.add(7, 1, call("right"), verdict(VerdictClass::passed));
  found_.add(7, 2, call("fast"), timed(1.5));
  found_.add(7, 3, call("slower"), timed(1.2));
  found_.add(7, 4, call("wrong"), verdict(VerdictClass::wrong));
  found_.add(8, 0, call("other"), verdict(VerdictClass::wrong));
  EXPECT_THAT(names(), ElementsAre("trajectory-7-turn-2", "trajectory-8-turn-0"));
  EXPECT_EQ(text_of("trajectory-7-turn-2"), "fast");
  EXPECT_FALSE(found_.failure());
}

TEST_F(BestSubmissionsTest, TheLaterOfEqualsAndOfOneTurnIsKept) {
  found_.add(7, 1, call("first"), verdict(VerdictClass::wrong));
  found_.add(7, 1, call("second"), verdict(VerdictClass::passed));
  EXPECT_EQ(text_of("trajectory-7-turn-1"), "second");
  found_.add(7, 2, call("third"), verdict(VerdictClass::passed));
  EXPECT_THAT(names(), ElementsAre("trajectory-7-turn-2"));
}

TEST_F(BestSubmissionsTest, RequestsThatOnlyCompileAreNotSubmissions) {
  fs::create_directories(place());
  found_.add(7, 1, call("right", Request::compile), verdict(VerdictClass::passed));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(BestSubmissionsTest, AFolderIsReplacedAsAWholeOrNotAtAll) {
  ASSERT_TRUE(replace_folder(place() / "kernel", {{"a.cpp", "old"}, {"b.h", "old"}}));
  EXPECT_FALSE(replace_folder(place() / "kernel", {{"a.cpp", "new"}, {"a.cpp/b.h", "new"}}));
  EXPECT_EQ(read_text_file(place() / "kernel/a.cpp", 1000).value(), "old");
  EXPECT_TRUE(fs::exists(place() / "kernel/b.h"));
  ASSERT_TRUE(replace_folder(place() / "kernel", {{"a.cpp", "new"}}));
  EXPECT_EQ(read_text_file(place() / "kernel/a.cpp", 1000).value(), "new");
  EXPECT_FALSE(fs::exists(place() / "kernel/b.h"));
  EXPECT_THAT(names(), ElementsAre("kernel"));
  ASSERT_TRUE(replace_folder(place() / "kernel", {}));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(BestSubmissionsTest, AWriteThatFailsIsReported) {
  ASSERT_TRUE(write_file_whole(place(), "a file in the place of the folder"));
  found_.add(7, 1, call("right"), verdict(VerdictClass::passed));
  EXPECT_TRUE(found_.failure());
}

TEST(SubmissionName, ReadsBackAsAnOrigin) {
  EXPECT_EQ(origin_of(submission_name(12, 3), "r/brain"), "trajectory 12, turn 3 of r/brain");
  EXPECT_EQ(origin_of("trajectory-12-turn-3-old", "r"), "");
  EXPECT_EQ(origin_of("mine.cpp", "r"), "");
}

}  // namespace
}  // namespace warpsmith::commands
