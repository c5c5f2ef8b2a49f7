// SPDX-License-Identifier: Apache-2.0
// The agent's loop at full size: 200 turns and 131,072 tokens with a brain on loopback, in bounded
// memory; background jobs and summaries on the way.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>

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

ScriptedReply call(const char* tool, const json& arguments) {
  return completion("", {{tool, arguments.dump()}});
}

ScriptedReply writes() {
  return call("write", {{"path", "solution/kernel.cpp"}, {"content", kernel}});
}

/// The peak of a process's resident memory in MiB; 0 once it has ended.
long peak_memory(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6)) / 1024;
  }
  return 0;
}

class LongLoopTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    ::setenv("no_proxy", "127.0.0.1", 1);
  }
  std::vector<std::string> collecting(const std::string& url, std::vector<std::string> more) const {
    for (const char* set :
         {"run.stage=collect", "collect.samples=1", "rollout.concurrent=1", "brain.model=strong",
          "brain.stream=false", "agent.max_turns=200", "agent.max_tokens=131072",
          "generator.cache_tokens=131072", "generator.max_new_tokens=1000"}) {
      more.emplace_back(set);
    }
    more.push_back("brain.url=" + url);
    return with_settings({"train", config(), "--quiet"}, more);
  }
  TrajectoryRow only_row() const {
    auto reader = TrajectoryReader::open({newest_run()}).value();
    const auto rows = reader.closed().value();
    if (rows.size() != 1) throw std::runtime_error(std::to_string(rows.size()) + " trajectories");
    return rows[0];
  }
};

TEST_F(LongLoopTest, TwoHundredTurnsFillTheContextInBoundedMemory) {
  constexpr int last_turn = 199;
  std::atomic<int> turn{0};
  const ScriptedEndpoint endpoint{[&](const json& /*request*/, int nth) {
    turn = nth;
    if (nth == 0) return writes();
    if (nth == last_turn) return call("submit", json::object());
    if (nth == 1) return call("bash", {{"command", "seq 100000 104000 | tee long.txt"}});
    if (nth % 2 == 0) return call("read", {{"path", "long.txt"}, {"offset", nth}});
    return call("bash", {{"command", "tail -n 2000 long.txt"}});
  }};
  Child child = start(collecting(endpoint.url(), {"agent.result_tokens=570"}));
  long early = 0;
  long peak = 0;
  const Deadline deadline = Deadline::after(minutes{10});
  while (!child.finished(milliseconds{20}) && !deadline.passed()) {
    peak = std::max(peak, peak_memory(child.pid()));
    if (turn < 20) early = peak;
  }
  const ChildExit exit = child.wait(deadline);
  ASSERT_EQ(exit.exit_code, 0) << exit.err;
  const TrajectoryRow row = only_row();
  std::printf("turns %u, tokens %llu, peak of resident memory %ld MiB (%ld MiB after 20 turns)\n",
              row.outcome->turns, static_cast<unsigned long long>(row.tokens), peak, early);
  EXPECT_EQ(row.outcome->turns, 200U);
  EXPECT_GE(row.outcome->reward, 1);
  EXPECT_FALSE(row.outcome->truncated);
  EXPECT_GT(row.tokens, 100'000U);
  EXPECT_LE(row.tokens, 131'072U);
  EXPECT_LT(peak - early, 300);
}

/// The content of the last message.
std::string last_of(const json& request) {
  return request["messages"].back()["content"].get<std::string>();
}

TEST_F(LongLoopTest, AfterAResumeABackgroundJobIsGone) {
  std::string looked, gone;
  const ScriptedEndpoint endpoint{[&](const json& request, int nth) {
    switch (nth) {
      case 0:
        return writes();
      case 1:
        return call("bash", {{"command", "echo begun; sleep 1000"}, {"run_in_background", true}});
      case 2:
        return call("verify", json::object());
      case 3:
        return call("bash", {{"command", "sleep 1"}});
      case 4:
        return call("bash_output", {{"id", 1}});
      case 5:
        looked = last_of(request);
        return call("bash_output", {{"id", 1}});
      case 6:
        gone = last_of(request);
        return call("submit", json::object());
      default:
        return completion("");
    }
  }};
  const std::string tools =
      R"(agent.tools=["bash", "bash_output", "kill_bash", "write", "verify", "submit"])";
  const ChildExit first = run(collecting(endpoint.url(), {tools, "brain.max_requests=5"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const ChildExit second = run(
      {"train", "--resume", newest_run().string(), "--quiet", "--set", "brain.max_requests=50"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(looked, HasSubstr("begun"));
  EXPECT_THAT(looked, HasSubstr("[job 1 is running]"));
  EXPECT_THAT(gone, HasSubstr("job 1 is gone"));
  EXPECT_GE(only_row().outcome->reward, 1);
}

/// The endpoint's script: a kernel, long results, a summary whenever one is asked for, the end.
TEST_F(LongLoopTest, ASummaryReplacesAFullContext) {
  std::atomic<int> summaries{0};
  std::string after;
  const ScriptedEndpoint endpoint{[&](const json& request, int nth) {
    if (nth == 0) return writes();
    if (last_of(request).find("The context is nearly full") != std::string::npos) {
      ++summaries;
      return completion("The kernel is written; submit it.");
    }
    if (summaries == 2) {
      after = request["messages"].dump();
      return call("submit", json::object());
    }
    return call("bash", {{"command", "seq 100000 104000"}});
  }};
  const ChildExit exit =
      run(collecting(endpoint.url(), {"agent.summarise=true", "agent.result_tokens=6000"}));
  ASSERT_EQ(exit.exit_code, 0) << exit.err;
  const TrajectoryRow row = only_row();
  EXPECT_EQ(summaries, 2);
  EXPECT_GE(row.outcome->reward, 1);
  EXPECT_GT(row.tokens, 131'072U) << "more than one context holds";
  EXPECT_THAT(after, HasSubstr("Your summary of the work so far"));
  EXPECT_THAT(after, testing::Not(HasSubstr("100123")));
  const ChildExit shown =
      run({"runs", "trajectories", newest_run().string(), "--show", std::to_string(row.id)});
  EXPECT_THAT(shown.out, HasSubstr("context after a summary"));
}

}  // namespace
}  // namespace warpsmith::commands
