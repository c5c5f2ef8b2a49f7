// SPDX-License-Identifier: Apache-2.0
// `warpsmith eval --suite` over recorded solutions: its table, computed again by another program,
// and after kill -9 and a resume.
#include <gmock/gmock.h>

#include "tests/commands/train/program_fixture.hpp"
#include "tests/commands/train/square_mean_kernel.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

const std::string empty_kernel =
    "extern \"C\" void solve(const void* const*, void* const*, const long*) {}\n";

class SuiteProgramTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    for (const char* name :
         {"level1/square_mean.py", "level1/rms_norm.py", "level2/scale_relu_sum.py"}) {
      const fs::path task = fs::path{"configs/tasks/cpu/train"} / fs::path{name}.filename();
      file("suite/" + std::string(name), read_text_file(task, 1U << 16U).value());
    }
    std::string twice = kernel;
    twice.replace(twice.find("sum / "), 6, "2 * sum / ");
    file("solutions/square_mean/1/kernel.cpp", kernel);
    file("solutions/square_mean/2/kernel.cpp", twice);
    file("solutions/rms_norm/1/kernel.cpp", empty_kernel);
    file("solutions/rms_norm/2/kernel.cpp", empty_kernel + "// the second\n");
    file("solutions/scale_relu_sum/1/kernel.cpp", "int x = ;\n");
    file("solutions/scale_relu_sum/2/kernel.cpp", empty_kernel + "// the third\n");
  }

  std::vector<std::string> evaluation(const std::string& samples = "2") const {
    return with_settings({"eval", config(), "--suite", in("suite"), "--solutions", in("solutions"),
                          "--samples", samples, "--quiet"},
                         {"rollout.concurrent=1"});
  }
  std::string in(const std::string& name) const { return (folder() / name).string(); }

  /// The rows of the newest run's table without its times and texts: what two evaluations share.
  std::vector<std::string> rows() const {
    std::vector<std::string> out;
    std::ifstream table{newest_run() / "report.csv"};
    for (std::string line; std::getline(table, line);) {
      constexpr int shared_columns = 11;  // up to pass@2
      size_t end = 0;
      for (int i = 0; i < shared_columns && end != std::string::npos; ++i) {
        end = line.find(',', end + (i > 0 ? 1 : 0));
      }
      out.push_back(line.substr(0, end));
    }
    return out;
  }
  /// The output of scripts/suite_table.py for the newest run's table.
  ChildExit computed_again() const {
    return start_any({python_interpreter(), "-B", "scripts/suite_table.py", newest_run().string(),
                      "--check"})
        .wait(Deadline::after(minutes{1}));
  }
};

TEST_F(SuiteProgramTest, AKilledEvaluationResumesToTheTableThatAnotherProgramComputes) {
  const ChildExit whole = run(evaluation());
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const ChildExit again = computed_again();
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr("9 rows, 0 differences"));
  const std::vector<std::string> undisturbed = rows();
  ASSERT_EQ(undisturbed.size(), 10U);
  EXPECT_EQ(undisturbed[1], "all,,,strict,3,6,0,1,0.166667,0.166667,0.333333");
  fs::rename(runs(), in("undisturbed"));

  Child child = start(evaluation());
  ASSERT_TRUE(reaches(child, [](const RunSummary& now) { return now.closed >= 2; }));
  child.signal(SIGKILL);
  (void)child.wait(Deadline::after(seconds{30}));
  const uint64_t closed = summary()->closed;
  ASSERT_LT(closed, 6U) << "it was over before it was killed";
  EXPECT_FALSE(fs::exists(newest_run() / "report.csv"));
  const ChildExit resumed = run({"eval", "--resume", newest_run().string(), "--quiet"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(summary()->closed, 6U);
  EXPECT_EQ(rows(), undisturbed);
  EXPECT_EQ(computed_again().exit_code, 0);
}

TEST_F(SuiteProgramTest, ASampleWithoutASolutionIsNamedAndAResumeJudgesTheOneAddedLater) {
  fs::remove_all(in("solutions/rms_norm"));
  const ChildExit end = run(evaluation("1"));
  EXPECT_EQ(end.exit_code, 3) << end.err;
  EXPECT_THAT(end.out, HasSubstr("missing: rms_norm, 1 of 1: no recorded solution for task "
                                 "rms_norm: expected its files in "));
  EXPECT_FALSE(summary()->learns);
  EXPECT_EQ(summary()->dropped, (std::map<std::string, uint64_t>{{"no_answer", 1}}));
  EXPECT_EQ(run({"eval", "--resume", newest_run().string(), "--quiet"}).exit_code, 3);
  file("solutions/rms_norm/kernel.cpp", empty_kernel);
  const ChildExit resumed = run({"eval", "--resume", newest_run().string(), "--quiet"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out.find("missing"), std::string::npos) << resumed.out;
  EXPECT_EQ(summary()->closed, 3U);
  EXPECT_EQ(computed_again().exit_code, 0);
  EXPECT_THAT(end.err, HasSubstr("1 sample is missing; resume with: ./warpsmith eval --resume"));
  const ChildExit none = run({"eval", config(), "--suite", in("suite"), "--solutions", in("no")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("brain.candidates: expected a folder"));
}

}  // namespace
}  // namespace warpsmith::commands
