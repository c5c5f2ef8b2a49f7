// SPDX-License-Identifier: Apache-2.0
// The program with a brain on loopback: collect, budget, resume, eval, Ctrl-C, refusals.
#include <gmock/gmock.h>

#include <regex>

#include "runtime/run/trajectory_reader.hpp"
#include "tests/commands/train/program_fixture.hpp"
#include "tests/commands/train/square_mean_kernel.hpp"
#include "tests/support/scripted_endpoint.hpp"

namespace warpsmith::commands {
namespace {

using test_support::completion;
using test_support::ScriptedEndpoint;
using test_support::ScriptedReply;
using testing::HasSubstr;

/// Writes a right kernel for square_mean, then submits it.
ScriptedReply works(const json& request) {
  for (const json& message : request["messages"]) {
    if (message["role"] == "assistant") return completion("", {{"submit", "{}"}});
  }
  const json arguments{{"path", "solution/kernel.cpp"}, {"content", kernel}};
  return completion("A plain loop.", {{"write", arguments.dump()}});
}

class BrainProgramTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    ::setenv("no_proxy", "127.0.0.1", 1);
    ::setenv("WARPSMITH_TEST_BRAIN_KEY", key, 1);
  }
  std::vector<std::string> with_brain(std::vector<std::string> arguments, const std::string& url,
                                      std::vector<std::string> more = {}) const {
    for (const char* set :
         {"agent.max_tokens=4096", "generator.max_new_tokens=2000", "collect.samples=2",
          "rollout.concurrent=1", "brain.model=strong", "brain.key_env=WARPSMITH_TEST_BRAIN_KEY"}) {
      more.emplace_back(set);
    }
    more.push_back("brain.url=" + url);
    return with_settings(std::move(arguments), more);
  }

  static constexpr const char* key = "sk-0123456789abcdef";
};

TEST_F(BrainProgramTest, CollectsStopsAtItsBudgetAndResumes) {
  const ScriptedEndpoint endpoint{[](const json& r, int /*nth*/) { return works(r); }};
  const ChildExit first =
      run(with_brain({"train", config(), "--quiet"}, endpoint.url(),
                     {"run.stage=collect", "brain.stream=false", "brain.max_requests=3"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("stopping: brain.max_requests (3) is reached: 3 used"));
  EXPECT_THAT(first.err, HasSubstr("resume with: ./warpsmith train --resume"));
  EXPECT_EQ(summary()->closed, 1U);
  EXPECT_EQ(summary()->open, 1U);

  const std::string folder = newest_run().string();
  const ChildExit second =
      run({"train", "--resume", folder, "--quiet", "--set", "brain.max_requests=9"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(summary()->closed, 2U);
  auto reader = TrajectoryReader::open({folder}).value();
  const std::vector<TrajectoryRow> rows = reader.closed().value();
  for (const TrajectoryRow& row : rows) {
    EXPECT_GE(row.outcome->reward, 1) << "trajectory " << row.id;
    EXPECT_TRUE(fs::exists(newest_run() / "brain" / (std::to_string(row.id) + ".jsonl")));
  }
  EXPECT_EQ(endpoint.requests().size(), 4U);
  EXPECT_EQ(endpoint.keys().back(), std::string{"Bearer "} + key);

  const ChildExit ppo = run({"train", "--resume", folder, "--set", "run.stage=agentic"});
  EXPECT_EQ(ppo.exit_code, 2);
  EXPECT_THAT(ppo.err, HasSubstr("[brain]"));
}

TEST_F(BrainProgramTest, AnEvaluationWithABrainHasItsOwnTurnsAndPrintsItsFigures) {
  std::ofstream{config()} << std::regex_replace(configuration(folder()),
                                                std::regex{"max_turns = 2"}, "max_turns = 1");
  const ScriptedEndpoint endpoint{[](const json& r, int nth) {
    if (nth < 4) return works(r);
    return ScriptedReply{
        .status = 401,
        .body = json{{"error", std::string{"no key "} + "sk-0123456789abcdef"}}.dump()};
  }};
  const auto eval = [&](const char* samples) {
    return run(with_brain(
        {"eval", config(), "--training-tasks", "--samples", samples, "--quiet", "--json"},
        endpoint.url(), {"brain.stream=false", "agent.eval_turns=2"}));
  };
  const ChildExit whole = eval("2");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const json figures = json::parse(whole.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(has_keys(figures, {"samples", "pass_rate"}));
  EXPECT_EQ(figures["samples"], 2);
  EXPECT_EQ(figures["pass_rate"], 1.0);
  EXPECT_EQ(endpoint.requests().size(), 4U) << "agent.max_turns is 1, agent.eval_turns 2";
  const ChildExit turns =
      run({"eval", config(), "--set", "agent.eval_turns=2", "--set", "agent.max_turns=3"});
  EXPECT_EQ(turns.exit_code, 2);
  EXPECT_THAT(turns.err, HasSubstr("use agent.eval_turns instead"));
  const ChildExit refused = eval("1");
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("check the key in the variable WARPSMITH_TEST_BRAIN_KEY"));
  EXPECT_THAT(refused.err, testing::Not(HasSubstr(key)));
}

TEST_F(BrainProgramTest, CtrlCWhileTheEndpointIsSlowKeepsTheRun) {
  std::atomic<bool> slow{true};
  const ScriptedEndpoint endpoint{[&](const json& r, int /*nth*/) {
    ScriptedReply reply = works(r);
    if (slow) reply.delay = seconds{600};
    return reply;
  }};
  Child child = start(with_brain({"train", config(), "--quiet"}, endpoint.url(),
                                 {"run.stage=collect", "brain.stream=false"}));
  ASSERT_TRUE(reaches(child, [&](const RunSummary&) { return !endpoint.requests().empty(); }));
  child.signal(SIGINT);
  const ChildExit stopped = child.wait(Deadline::after(seconds{120}));
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_EQ(summary()->open, 1U);
  slow = false;
  const ChildExit resumed = run({"train", "--resume", newest_run().string(), "--quiet"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(summary()->closed, 2U);
}

/// The address in the line that `serve` prints once it listens.
std::string address_of(Child& server) {
  const Deadline deadline = Deadline::after(minutes{2});
  std::string text;
  while (!deadline.passed() && text.find('\n') == std::string::npos) {
    if (server.finished(milliseconds{50})) break;
    text += server.take_output().out;
  }
  const size_t at = text.find("http://");
  return at == std::string::npos ? "" : text.substr(at, text.find('\n') - at);
}

TEST_F(BrainProgramTest, AServedModelDrivesWholeTrajectories) {
  Child server = start({"serve", "configs/policy/tiny", "--port", "0", "--chat-template", "chatml",
                        "--tool-syntax", "xml"});
  const std::string url = address_of(server);
  ASSERT_NE(url, "") << server.take_output().err;
  const ChildExit end = run(
      with_settings({"train", config(), "--quiet"},
                    {"run.stage=collect", "collect.samples=2", "rollout.concurrent=2",
                     "agent.max_turns=4", "agent.max_tokens=1024", "generator.max_new_tokens=400",
                     "brain.url=" + url, "brain.model=tiny", "brain.tools=text"}));
  ASSERT_EQ(end.exit_code, 0) << end.err;
  EXPECT_EQ(summary()->closed, 2U);
  auto reader = TrajectoryReader::open({newest_run().string()}).value();
  const std::vector<TrajectoryRow> rows = reader.closed().value();
  for (const TrajectoryRow& row : rows) {
    EXPECT_NE(row.outcome->source_hash, "") << "trajectory " << row.id << " has no verdict";
    EXPECT_GE(row.outcome->turns, 2U);
  }
  server.signal(SIGINT);
  EXPECT_EQ(server.wait(Deadline::after(seconds{60})).exit_code, 0);
}

TEST_F(BrainProgramTest, RefusesBeforeAnythingStarts) {
  const auto refusal = [this](std::vector<std::string> more) {
    const ChildExit end =
        run(with_brain({"train", config()}, "http://127.0.0.1:1/v1", std::move(more)));
    EXPECT_EQ(end.exit_code, 2) << end.err;
    EXPECT_FALSE(fs::exists(runs()));
    return end.err;
  };
  EXPECT_THAT(refusal({"run.stage=agentic"}), HasSubstr("a [brain] returns none"));
  EXPECT_THAT(refusal({"run.stage=collect", "brain.max_requests=0"}), HasSubstr("a budget of 0"));
  EXPECT_THAT(refusal({"run.stage=collect", "brain.extra=[1]"}), HasSubstr("brain.extra"));
  ::unsetenv("WARPSMITH_TEST_BRAIN_KEY");
  EXPECT_THAT(refusal({"run.stage=collect"}),
              HasSubstr("the environment variable WARPSMITH_TEST_BRAIN_KEY is not set"));
}

}  // namespace
}  // namespace warpsmith::commands
