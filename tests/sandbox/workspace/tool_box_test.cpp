// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_box.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/random_stream.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "sandbox/workspace/tool_text.hpp"
#include "tests/sandbox/workspace/workspace_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Returns what the test set; records the requests.
class ScriptedServices : public ToolServices {
 public:
  Result<ShellResult> shell(const ShellRequest& request) override {
    commands.push_back(request);
    return shell_result;
  }
  Result<JobReport> job(const JobRequest& request) override {
    jobs.push_back(request);
    return job_report;
  }
  /// The actions asked for, in order.
  std::vector<JobAction> actions() const {
    std::vector<JobAction> all;
    for (const JobRequest& request : jobs) all.push_back(request.action);
    return all;
  }

  Result<ShellResult> shell_result = ShellResult{};
  std::vector<ShellRequest> commands;
  Result<JobReport> job_report = JobReport{JobState::running, {}};
  std::vector<JobRequest> jobs;
};

class ToolBoxTest : public WorkspaceFixture {
 protected:
  void SetUp() override {
    WorkspaceFixture::SetUp();
    ToolBoxConfig config;
    config.task_id = "softmax";
    config.tools = all_tools();
    config.result_bytes = 400;
    box_ = std::make_unique<ToolBox>(*workspace_, config);
  }

  /// Submissions for the judge go to `judged_`; `verdict_` answers them.
  std::string run(const std::string& name, std::map<std::string, std::string> arguments = {}) {
    const auto step = box_->begin({name, std::move(arguments)}, services_);
    if (!step) return "infrastructure: " + step.error().message;
    if (!step->judge) return step->text;
    judged_.push_back(*step->judge);
    return verdict_text(step->judge->request, verdict_);
  }
  void write_kernel() { run("write", {{"path", "solution/kernel.cpp"}, {"content", "int a;"}}); }

  ScriptedServices services_;
  Verdict verdict_;
  std::vector<JudgeNeeded> judged_;
  std::unique_ptr<ToolBox> box_;
};

TEST_F(ToolBoxTest, WriteReadAndEditGiveTheAgreedTexts) {
  EXPECT_EQ(run("write", {{"path", "solution/kernel.cpp"}, {"content", "a\nb\nc"}}),
            "wrote solution/kernel.cpp (3 lines)");
  EXPECT_EQ(
      run("edit", {{"path", "solution/kernel.cpp"}, {"old_string", "b"}, {"new_string", "d"}}),
      "edited solution/kernel.cpp (1 replacement)");
  EXPECT_EQ(run("read", {{"path", "solution/kernel.cpp"}}), "a\nd\nc");
  EXPECT_EQ(run("read", {{"path", "solution/kernel.cpp"}, {"offset", "2"}, {"limit", "1"}}), "d\n");
  EXPECT_EQ(run("multi_edit",
                {{"path", "solution/kernel.cpp"}, {"edits", R"([{"old_string":"a","new_string":"x"},
                                             {"old_string":"c","new_string":"z"}])"}}),
            "edited solution/kernel.cpp (2 replacements)");
  EXPECT_EQ(files().read("solution/kernel.cpp", 100).value(), "x\nd\nz");
}

TEST_F(ToolBoxTest, AFileThatTheAgentNeverSawIsReadBeforeItIsChanged) {
  std::ofstream{workspace_->folder() / "solution" / "made_by_a_command.h"} << "int a;";
  const std::string path = "solution/made_by_a_command.h";
  const std::string unread = "error: " + path + " exists and was not read; read it first";
  EXPECT_EQ(run("write", {{"path", path}, {"content", "x"}}), unread);
  EXPECT_EQ(run("edit", {{"path", path}, {"old_string", "a"}, {"new_string", "b"}}), unread);
  EXPECT_EQ(run("read", {{"path", path}}), "int a;");
  EXPECT_THAT(run("edit", {{"path", path}, {"old_string", "a"}, {"new_string", "b"}}),
              StartsWith("edited "));
  write_kernel();
  EXPECT_THAT(run("write", {{"path", "solution/kernel.cpp"}, {"content", "int b;"}}),
              StartsWith("wrote "));
}

TEST_F(ToolBoxTest, MistakesAreTextsForTheAgent) {
  EXPECT_EQ(run("read", {{"path", "nothing"}}), "error: nothing: no such file");
  EXPECT_EQ(run("read", {{"path", "../x"}}), "error: ../x: `..` is not allowed");
  EXPECT_EQ(run("read", {{"path", "SKILL.md"}, {"offset", "9"}}),
            "error: offset 9 is past the last line, 1");
  EXPECT_THAT(run("read", {{"path", "SKILL.md"}, {"limit", "-1"}}), HasSubstr("got `-1`"));
  EXPECT_EQ(run("write", {{"path", "task.json"}, {"content", "x"}}),
            "error: task.json is read-only; write under solution/");
  EXPECT_EQ(run("edit", {{"path", "./SKILL.md"}, {"old_string", "s"}, {"new_string", "t"}}),
            "error: SKILL.md is read-only; write under solution/");
  EXPECT_THAT(run("fly"), StartsWith("error: unknown tool `fly`; the tools are read, write"));
  EXPECT_EQ(run("write", {{"path", "a"}}),
            "error: write needs the parameter `content`; its parameters: path, content");
  EXPECT_EQ(run("submit", {{"force", "1"}}),
            "error: submit has no parameter `force`; its parameters: none");
}

TEST_F(ToolBoxTest, WritesAreBounded) {
  EXPECT_THAT(run("write", {{"path", "big"}, {"content", std::string(300'000, 'x')}}),
              StartsWith("error: big: 300000 bytes"));
  std::string last;
  for (int i = 0; i < 70; ++i) last = run("write", {{"path", std::to_string(i)}, {"content", ""}});
  EXPECT_EQ(last, "error: the workspace holds 64 files already");
}

TEST_F(ToolBoxTest, GlobAndGrepShowWhatMatches) {
  write_kernel();
  EXPECT_EQ(run("glob", {{"pattern", "*.cpp"}}), "solution/kernel.cpp");
  EXPECT_EQ(run("grep", {{"pattern", "^int"}}), "solution/kernel.cpp:1: int a;");
  EXPECT_EQ(run("grep", {{"pattern", "sk.ll"}, {"path", "solution"}}), "no matches");
  EXPECT_EQ(run("grep", {{"pattern", "skill"}, {"path", "SKILL.md"}}), "SKILL.md:1: skill");
  EXPECT_THAT(run("grep", {{"pattern", "("}}), StartsWith("error: the pattern is wrong at byte"));
}

TEST_F(ToolBoxTest, ExplodingPatternsAreStopped) {
  run("write", {{"path", "solution/a"}, {"content", std::string(200, 'a') + "!"}});
  EXPECT_THAT(run("grep", {{"pattern", "(a+)+$"}}), HasSubstr("too many steps"));
}

/// No single line exceeds the limit on steps.
TEST_F(ToolBoxTest, SlowSearchesMeetADeadline) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "aaaaaaaaaaaaaaa!\n";
  ASSERT_TRUE(files().write("solution/a", text));
  const ParsedCall call{.name = "grep", .arguments = {{"pattern", "(a+)+$"}}};
  const auto found = grep_tool(*workspace_, call, {.search = std::chrono::milliseconds{20}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(found.error().message, StartsWith("the search took too long, at solution/a:"));
}

TEST_F(ToolBoxTest, TodoIsKept) {
  EXPECT_EQ(run("todo"), "the list is empty");
  EXPECT_EQ(run("todo", {{"items", "[x] fuse\nvectorise"}}), "noted 2 items");
  EXPECT_EQ(run("todo"), "[x] fuse\nvectorise");
}

TEST_F(ToolBoxTest, WithoutASolutionNothingIsJudged) {
  EXPECT_EQ(run("submit"), "error: there is no solution yet: write solution/kernel.cpp first");
  EXPECT_TRUE(judged_.empty());
}

TEST_F(ToolBoxTest, ContractDeviceLeavesMissingFilesToTheJudge) {
  ToolBoxConfig config{.task_id = "softmax", .contract = "device", .tools = all_tools()};
  config.required_file = contract_named(config.contract).required_file;
  box_ = std::make_unique<ToolBox>(*workspace_, config);
  EXPECT_EQ(run("compile"), "error: there is no solution yet: no file in solution/");
  run("write", {{"path", "solution/kernels.cu"}, {"content", "// kernels"}});
  verdict_.outcome = VerdictClass::compile_error;
  verdict_.feedback = "compile_error: solution/plan.toml is missing";
  EXPECT_EQ(run("compile"), verdict_.feedback);
  const FileSet expected{{"kernels.cu", "// kernels"}};
  ASSERT_EQ(judged_.size(), 1U);
  EXPECT_EQ(judged_[0].submission.files, expected);
  EXPECT_EQ(judged_[0].submission.contract, "device");
  std::filesystem::remove_all(folder() / "solution");
  EXPECT_THAT(run("submit"), StartsWith("error: "));
}

TEST_F(ToolBoxTest, SolutionIsFrozenAsItIs) {
  write_kernel();
  run("write", {{"path", "solution/parts/a.h"}, {"content", "//"}});
  verdict_.outcome = VerdictClass::passed;
  verdict_.feedback = "passed: candidate 0.31 ms";
  EXPECT_EQ(run("compile"), "compiled");
  EXPECT_EQ(run("submit"), "passed: candidate 0.31 ms");
  ASSERT_EQ(judged_.size(), 2U);
  EXPECT_EQ(judged_[0].request, Request::compile);
  EXPECT_EQ(judged_[1].request, Request::final);
  const FileSet expected{{"kernel.cpp", "int a;"}, {"parts/a.h", "//"}};
  EXPECT_EQ(judged_[1].submission.files, expected);
  EXPECT_EQ(judged_[1].submission.task_id, "softmax");
}

TEST_F(ToolBoxTest, OversizedSolutionIsTheAgentsMistake) {
  write_kernel();
  for (int i = 0; i < 20; ++i) {
    run("write", {{"path", "solution/" + std::to_string(i)}, {"content", "x"}});
  }
  EXPECT_THAT(run("submit"), StartsWith("error: the solution holds too much"));
}

TEST_F(ToolBoxTest, BashShowsOutputAndHowItEnded) {
  ShellResult ended;
  ended.exit_code = 2;
  ended.out = "one\n";
  ended.err = "two";
  services_.shell_result = ended;
  EXPECT_EQ(run("bash", {{"command", "make"}}), "one\ntwo\n[exit code 2]");
  EXPECT_EQ(services_.commands.at(0).workspace, folder().string());
  ended = {};
  ended.exit_code = 0;
  services_.shell_result = ended;
  EXPECT_EQ(run("bash", {{"command", "true"}}), "(no output)");
  ended.timed_out = true;
  services_.shell_result = ended;
  EXPECT_EQ(run("bash", {{"command", "sleep 9"}}), "[timed out]");
}

TEST_F(ToolBoxTest, LostShellNeverBecomesATextForTheAgent) {
  services_.shell_result = fail(ErrorCode::not_found, "no bwrap");
  const auto result = box_->begin({"bash", {{"command", "ls"}}}, services_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::infrastructure);
  services_.shell_result = fail(ErrorCode::peer_lost, "service ended");
  EXPECT_EQ(box_->begin({"bash", {{"command", "ls"}}}, services_).error().code,
            ErrorCode::peer_lost)
      << "the owner restarts the service";
}

TEST_F(ToolBoxTest, LongResultsAreCutInTheMiddle) {
  run("write", {{"path", "solution/a"}, {"content", std::string(5000, 'a')}});
  const std::string text = run("read", {{"path", "solution/a"}});
  EXPECT_LT(text.size(), 450U);
  EXPECT_THAT(text, HasSubstr("4600 bytes left out"));
}

TEST_F(ToolBoxTest, RandomCallsNeverTouchTheHost) {
  std::ofstream(outside_.path() / "secret") << "host";
  std::filesystem::create_directory_symlink(outside_.path(), folder() / "solution/l");
  RandomStream random{9, "tool_fuzz"};
  const std::vector<std::string> names{"read", "write", "edit", "glob", "grep", "todo", "verify"};
  const std::vector<std::string> keys{"path", "content", "old_string", "new_string", "pattern"};
  const std::vector<std::string> values{
      "solution/l/secret",   "../secret", "/etc/passwd", "SKILL.md", "**",
      "solution/kernel.cpp", "h",         ".",           "",         "solution/l"};
  for (int i = 0; i < 3000; ++i) {
    ParsedCall call{names[random.below(names.size())], {}};
    for (uint64_t n = random.below(4); n > 0; --n) {
      call.arguments[keys[random.below(keys.size())]] = values[random.below(values.size())];
    }
    const auto result = box_->begin(call, services_);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->text.find("host"), std::string::npos);
  }
  std::ifstream secret{outside_.path() / "secret"};
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(secret), {}), "host");
}

TEST(ToolSchemasTest, NamedToolsKeepTheirOrderAndUnknownOnesAreNamed) {
  const std::vector<std::string> names{"submit", "write"};
  const auto tools = tools_named(names);
  ASSERT_TRUE(tools);
  EXPECT_EQ(tools->at(0).name, "write");
  const std::vector<std::string> bad{"fly"};
  EXPECT_THAT(tools_named(bad).error().message, HasSubstr("unknown tool `fly`"));
}

const std::map<std::string, std::string> sleeps{{"command", "sleep 9"},
                                                {"run_in_background", "true"}};

TEST_F(ToolBoxTest, ABackgroundJobIsStartedReadAndEnded) {
  EXPECT_EQ(run("bash", sleeps), "started job 1; bash_output shows what it writes");
  EXPECT_EQ(services_.jobs[0].shell.command, "sleep 9");
  EXPECT_EQ(services_.jobs[0].shell.workspace, workspace_->folder().string());
  services_.job_report->result.out = "half\n";
  EXPECT_EQ(run("bash_output", {{"id", "1"}}), "half\n[job 1 is running]");
  ShellResult ended;
  ended.exit_code = 3;
  ended.out = "rest";
  services_.job_report = JobReport{JobState::over, ended};
  EXPECT_EQ(run("kill_bash", {{"id", "1"}}), "rest\n[exit code 3]\n[job 1 is over]");
  EXPECT_EQ(run("bash_output", {{"id", "1"}}), "job 1 is over, and its output was shown");
  EXPECT_EQ(services_.jobs.size(), 3U);
}

TEST_F(ToolBoxTest, MistakesWithJobsAreTextsForTheAgent) {
  EXPECT_EQ(run("bash_output", {{"id", "1"}}), "error: there is no job 1");
  EXPECT_EQ(run("kill_bash", {{"id", "one"}}),
            "error: id: expected the number of a job, got `one`");
  services_.job_report = JobReport{JobState::refused, {}};
  EXPECT_THAT(run("bash", sleeps), StartsWith("error: there are 4 jobs already"));
  services_.job_report = fail(ErrorCode::not_found, "gone");
  EXPECT_EQ(run("bash", sleeps), "infrastructure: background job: gone");
}

TEST_F(ToolBoxTest, JobsArePausedWhileASubmissionIsJudged) {
  run("bash", sleeps);
  write_kernel();
  run("verify");
  run("glob", {{"pattern", "*"}});
  run("glob", {{"pattern", "*"}});
  run("submit");
  ASSERT_TRUE(box_->end_jobs(services_));
  using enum JobAction;
  EXPECT_EQ(services_.actions(), (std::vector<JobAction>{start, pause, resume, pause, forget}));
}

TEST_F(ToolBoxTest, WithoutJobsTheServiceIsNotAsked) {
  write_kernel();
  run("verify");
  run("bash", {{"command", "true"}, {"run_in_background", "false"}});
  ASSERT_TRUE(box_->end_jobs(services_));
  EXPECT_TRUE(services_.jobs.empty());
  EXPECT_EQ(services_.commands.size(), 1U);
}

/// After a resume the calls are repeated in a new workspace.
TEST_F(ToolBoxTest, AJobOfAnEarlierWorkspaceIsGoneAndItsNumberStaysTaken) {
  ASSERT_TRUE(box_->repeat({"bash", sleeps}, services_));
  EXPECT_TRUE(services_.jobs.empty()) << "it must not start again";
  EXPECT_THAT(run("bash_output", {{"id", "1"}}), StartsWith("job 1 is gone"));
  EXPECT_THAT(run("bash", sleeps), StartsWith("started job 2"));
  services_.job_report = JobReport{JobState::unknown, {}};
  EXPECT_THAT(run("kill_bash", {{"id", "2"}}), StartsWith("job 2 is gone"));
}

TEST_F(ToolBoxTest, BashHasJobsOnlyIfTheirToolsAreOffered) {
  const std::vector<std::string> plain{"bash"};
  const std::vector<std::string> jobs{"bash", "bash_output", "kill_bash"};
  EXPECT_EQ(tools_named(plain)->at(0).parameters.size(), 1U);
  EXPECT_EQ(tools_named(jobs)->at(0).parameters.size(), 2U);
}

}  // namespace
}  // namespace warpsmith::sandbox
