// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_box.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/random_stream.hpp"
#include "sandbox/contract/contract_files.hpp"
#include "sandbox/workspace/tool_schemas.hpp"
#include "tests/sandbox/workspace/workspace_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Answers with what the test put in; remembers what it was asked.
class ScriptedServices : public ToolServices {
 public:
  Judgement evaluate(const Submission& submission, Request request) override {
    submissions.push_back(submission);
    requests.push_back(request);
    return judgement;
  }
  Result<ShellResult> shell(const ShellRequest& request) override {
    commands.push_back(request);
    return shell_result;
  }

  Judgement judgement = Verdict{};
  Result<ShellResult> shell_result = ShellResult{};
  std::vector<Submission> submissions;
  std::vector<Request> requests;
  std::vector<ShellRequest> commands;
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

  std::string run(const std::string& name, std::map<std::string, std::string> arguments = {}) {
    const auto result = box_->run({name, std::move(arguments)}, services_);
    return result ? result->text : "infrastructure: " + result.error().message;
  }
  void write_kernel() { run("write", {{"path", "solution/kernel.cpp"}, {"content", "int a;"}}); }

  ScriptedServices services_;
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

/// Each line stays below the limit on steps.
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
  EXPECT_TRUE(services_.submissions.empty());
}

TEST_F(ToolBoxTest, ContractDeviceLeavesItToTheJudgeWhatIsMissing) {
  ToolBoxConfig config{.task_id = "softmax", .contract = "device", .tools = all_tools()};
  config.required_file = required_file(config.contract);
  box_ = std::make_unique<ToolBox>(*workspace_, config);
  EXPECT_EQ(run("compile"), "error: there is no solution yet: no file in solution/");
  run("write", {{"path", "solution/kernels.cu"}, {"content", "// kernels"}});
  Verdict verdict;
  verdict.outcome = VerdictClass::compile_error;
  verdict.feedback = "compile_error: solution/plan.toml is missing";
  services_.judgement = verdict;
  EXPECT_EQ(run("compile"), verdict.feedback);
  const FileSet expected{{"kernels.cu", "// kernels"}};
  ASSERT_EQ(services_.submissions.size(), 1U);
  EXPECT_EQ(services_.submissions[0].files, expected);
  EXPECT_EQ(services_.submissions[0].contract, "device");
  std::filesystem::remove_all(folder() / "solution");
  EXPECT_THAT(run("submit"), StartsWith("error: "));
}

TEST_F(ToolBoxTest, SolutionIsFrozenAsItStands) {
  write_kernel();
  run("write", {{"path", "solution/parts/a.h"}, {"content", "//"}});
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.feedback = "passed: candidate 0.31 ms";
  services_.judgement = verdict;
  EXPECT_EQ(run("compile"), "compiled");
  const auto result = box_->run({"submit", {}}, services_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "passed: candidate 0.31 ms");
  EXPECT_TRUE(result->judgement.has_value());
  EXPECT_EQ(services_.requests, (std::vector{Request::compile, Request::final}));
  const FileSet expected{{"kernel.cpp", "int a;"}, {"parts/a.h", "//"}};
  EXPECT_EQ(services_.submissions[1].files, expected);
  EXPECT_EQ(services_.submissions[1].task_id, "softmax");
}

TEST_F(ToolBoxTest, BeginHandsTheSubmissionBackWithoutJudging) {
  write_kernel();
  const auto step = box_->begin({"verify", {}}, services_);
  ASSERT_TRUE(step && step->judge);
  EXPECT_EQ(step->judge->request, Request::verify);
  EXPECT_TRUE(services_.requests.empty());
}

TEST_F(ToolBoxTest, OversizedSolutionIsTheAgentsMistake) {
  write_kernel();
  for (int i = 0; i < 20; ++i) {
    run("write", {{"path", "solution/" + std::to_string(i)}, {"content", "x"}});
  }
  EXPECT_THAT(run("submit"), StartsWith("error: the solution holds too much"));
}

TEST_F(ToolBoxTest, InfrastructureFailureOfAJudgementGivesNoText) {
  write_kernel();
  services_.judgement = InfraFailure{InfraKind::sandbox_lost, "gone"};
  const auto result = box_->run({"verify", {}}, services_);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->text.empty());
  EXPECT_EQ(result->judgement->index(), 1U);
}

TEST_F(ToolBoxTest, BashTellsOutputAndHowItEnded) {
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
  const auto result = box_->run({"bash", {{"command", "ls"}}}, services_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::infrastructure);
  services_.shell_result = fail(ErrorCode::peer_lost, "service ended");
  EXPECT_EQ(box_->run({"bash", {{"command", "ls"}}}, services_).error().code, ErrorCode::peer_lost)
      << "the owner starts the service anew";
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
    const auto result = box_->run(call, services_);
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

}  // namespace
}  // namespace warpsmith::sandbox
