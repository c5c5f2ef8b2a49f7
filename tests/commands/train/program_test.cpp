// SPDX-License-Identifier: Apache-2.0
// The program from the command line to its exit code: train, Ctrl-C, resume, eval.
#include <gmock/gmock.h>

#include "tests/commands/train/program_fixture.hpp"

namespace warpsmith::commands {
namespace {

TEST_F(ProgramTest, TrainsStopsResumesAndIsEvaluated) {
  Child first = start({"train", config(), "--quiet", "--json"});
  ASSERT_TRUE(reaches(first, [](const RunSummary& s) { return s.trained > 0; }));
  first.signal(SIGINT);
  const ChildExit stopped = first.wait(Deadline::after(seconds{120}));
  ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_NE(stopped.err.find("resume with: ./warpsmith train --resume"), std::string::npos);
  ASSERT_TRUE(summary()->is_conserved());
  const uint64_t trained = summary()->trained;

  const std::string folder = newest_run().string();
  const ChildExit resumed = run({"train", "--resume", folder, "--quiet", "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const json out = json::parse(resumed.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(has_keys(out, {"run", "trajectories", "wall_s", "reward_first128", "reward_last128",
                             "admitted", "trained", "dropped", "in_flight"}));
  EXPECT_EQ(out["run"], folder);
  EXPECT_EQ(out["admitted"], 24);
  EXPECT_EQ(out["in_flight"], 0);
  EXPECT_EQ(out["incarnations"], 2);
  EXPECT_GE(out["trained"].get<uint64_t>(), trained);

  const ChildExit again = run({"train", "--resume", folder, "--quiet"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, testing::HasSubstr("nothing is left to do: the run is finished; to go on, "
                                            "raise run.trajectories: "));

  const std::string step = "step-" + std::to_string(out["steps"].get<uint32_t>());
  const std::string model = folder + "/checkpoints/" + step;
  const ChildExit judged = run({"eval", config(), "--training-tasks", "--model", model, "--samples",
                                "3", "--quiet", "--json"});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  const json figures = json::parse(judged.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(has_keys(figures, {"tasks", "samples", "pass_rate", "mean_reward", "mean_reward_low",
                                 "mean_reward_high", "fast_eager", "fast_compile", "geomean_eager",
                                 "geomean_compile", "by_task"}));
  EXPECT_EQ(figures["wanted"], 3);
  EXPECT_EQ(figures["samples"], 3);
  EXPECT_EQ(figures["dropped"], 0);
  EXPECT_EQ(figures["refused_tasks"], 0);
}

TEST_F(ProgramTest, AFailedResumeKeepsTheConfiguration) {
  Child training = start({"train", config(), "--quiet"});
  ASSERT_TRUE(reaches(training, [](const RunSummary& now) { return now.admitted > 0; }));
  training.signal(SIGKILL);
  (void)training.wait(Deadline::after(patience));
  const fs::path run_config = newest_run() / "config.toml";
  const auto text = [&] { return read_text_file(run_config, 1U << 20U).value_or(""); };
  const std::string before = text();
  ASSERT_FALSE(before.empty());
  const ChildExit end =
      run({"train", "--resume", newest_run().string(), "--set", "model.folder=/no/model"});
  EXPECT_EQ(end.exit_code, 2) << end.err;
  EXPECT_EQ(text(), before);
  for (const char* dry : {"--quiet", "--dry-run"}) {
    const ChildExit warmer =
        run({"train", "--resume", newest_run().string(), dry, "--set", "generator.temperature=2"});
    EXPECT_EQ(warmer.exit_code, 2) << warmer.err;
    EXPECT_THAT(warmer.err, testing::HasSubstr("generator.temperature (0 by collect.greedy): "));
  }
  EXPECT_EQ(text(), before);
  EXPECT_EQ(run({"train", "--resume", "no-such-run"}).exit_code, 2);
}

TEST_F(ProgramTest, AnEvaluationIsResumedByEval) {
  file("runs/20260101-000000-eval/config.toml", "no = 1\n");
  const std::string evaluation = (runs() / "20260101-000000-eval").string();
  const ChildExit end = run({"train", "--resume", evaluation});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_NE(end.err.find("with: ./warpsmith eval --resume " + evaluation), std::string::npos)
      << end.err;
}

TEST_F(ProgramTest, TwoInterruptsEndItAtOnceWithoutLoss) {
  Child child = start({"train", config(), "--quiet", "--set", "run.trajectories=100000"});
  ASSERT_TRUE(reaches(child, [](const RunSummary& s) { return s.admitted > 0; }));
  child.signal(SIGINT);
  (void)child.finished(seconds{1});  // two at the same moment count as one
  child.signal(SIGINT);
  const ChildExit end = child.wait(Deadline::after(seconds{120}));
  // The clean stop may be complete before the second signal arrives; that signal then has its
  // default effect or finds no process. (signals_test covers one that is still at work.)
  EXPECT_TRUE(end.exit_code == 130 || end.signal == SIGINT || end.exit_code == 0)
      << "exit code " << end.exit_code << ", signal " << end.signal << ": " << end.err;
  EXPECT_TRUE(summary()->is_conserved());
}

TEST_F(ProgramTest, AStoppedEvaluationReportsWhatIsMissing) {
  Child child =
      start({"eval", config(), "--training-tasks", "--samples", "100000", "--quiet", "--json"});
  ASSERT_TRUE(reaches(child, [](const RunSummary& s) { return s.closed > 0; }));
  child.signal(SIGINT);
  const ChildExit end = child.wait(Deadline::after(seconds{120}));
  EXPECT_EQ(end.exit_code, 130) << end.err;
  EXPECT_NE(end.err.find("of 100000 samples"), std::string::npos) << end.err;
  const json figures = json::parse(end.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(has_keys(figures, {"samples", "wanted", "run"}));
  EXPECT_EQ(figures["wanted"], 100'000);
  EXPECT_LT(figures["samples"].get<int64_t>(), 100'000);
}

TEST_F(ProgramTest, AnEvaluationEndsAtItsTimeLimit) {
  const ChildExit end = run({"eval", config(), "--training-tasks", "--samples", "100000", "--set",
                             "run.time_limit=1s", "--quiet", "--json"});
  EXPECT_EQ(end.exit_code, 3) << end.err;
  EXPECT_THAT(end.err, testing::HasSubstr("incomplete: "));
  EXPECT_THAT(end.err, testing::HasSubstr(" of 100000 samples"));
}

/// Waits until the program handles SIGINT itself, for which it blocks the signal.
bool takes_interrupts(Child& child) {
  const std::string status = "/proc/" + std::to_string(child.pid()) + "/status";
  const Deadline deadline = Deadline::after(seconds{120});
  while (!deadline.passed() && !child.finished(milliseconds{20})) {
    const std::string text = read_text_file(status, 1U << 16U).value_or("");
    const size_t mask = text.find("SigBlk:");
    if (mask == std::string::npos) continue;
    if ((std::stoull(text.substr(mask + 7), nullptr, 16) >> (SIGINT - 1) & 1U) != 0) return true;
  }
  return false;
}

/// Stops in the middle of a task that takes minutes.
TEST_F(ProgramTest, AStoppedSurveyEndsAtOnceWithTheTasksSoFar) {
  const TemporaryFolder folder;
  std::ofstream{folder.path() / "slow.py"}
      << "import time, torch\n"
         "class Model(torch.nn.Module):\n"
         "    def forward(self, x):\n        time.sleep(300)\n        return x * 2\n"
         "def get_inputs():\n    return [torch.randn(8, 8)]\n"
         "def get_init_inputs():\n    return []\n";
  Child child = start({"bench", "tasks", folder.path().string(), "--json"});
  ASSERT_TRUE(takes_interrupts(child));
  ASSERT_FALSE(child.finished(seconds{3}));
  child.signal(SIGINT);
  const ChildExit end = child.wait(Deadline::after(seconds{120}));
  EXPECT_EQ(end.exit_code, 130) << end.err;
  EXPECT_THAT(end.err, testing::HasSubstr("stopped: 0 of 1 tasks"));
  EXPECT_EQ(json::parse(end.out, nullptr, /*allow_exceptions=*/false)["taken_in"], 0);
}

TEST_F(ProgramTest, BadInputIsReportedByPlaceAndLeavesNothing) {
  const auto refusal = [this](std::vector<std::string> arguments) {
    const ChildExit end = run(std::move(arguments));
    EXPECT_EQ(end.exit_code, 2) << end.err;
    EXPECT_FALSE(fs::exists(runs()));
    return end.err;
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal({"train", "no-such.toml"}), HasSubstr("no-such.toml"));
  EXPECT_THAT(refusal({"trian"}), HasSubstr("no command \"trian\"; the nearest is \"train\""));
  EXPECT_THAT(refusal({"runs", "--root", "/no/such", "list"}),
              HasSubstr("/no/such: no such folder"));
  EXPECT_THAT(refusal({"train", config(), "--set", "sandbox.first_core=4095"}),
              HasSubstr("sandbox.first_core = 4095"));
  EXPECT_THAT(refusal({"train", config(), "--set", "model.folder=/no/model"}),
              HasSubstr("/no/model: no such model folder"));
  EXPECT_THAT(refusal({"eval", config(), "--training-tasks", "--model", "/no/model"}),
              HasSubstr("/no/model: no such model folder"));
}

TEST_F(ProgramTest, ARunEndsIfAllTasksAreRefused) {
  const std::string task = config() + ".py";
  std::ofstream{task} << "import torch\n"
                         "class Model(torch.nn.Module):\n"
                         "    def forward(self, x):\n"
                         "        return x + torch.rand_like(x)\n"
                         "def get_inputs():\n"
                         "    return [torch.rand(64, 64)]\n"
                         "def get_init_inputs():\n"
                         "    return []\n";
  const ChildExit end =
      run({"train", config(), "--quiet", "--set", "synthesis.tasks=[\"" + task + "\"]"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.err, testing::HasSubstr("no task was accepted; first: task tiny.toml refused: "));
}

}  // namespace
}  // namespace warpsmith::commands
