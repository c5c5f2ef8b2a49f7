// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "commands/command.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The exit code and output of one command line.
struct Answer {
  ExitCode code = ExitCode::success;
  std::string out, err;
};

Answer run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "warpsmith");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Answer answer;
  answer.code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  answer.out = testing::internal::GetCapturedStdout();
  answer.err = testing::internal::GetCapturedStderr();
  return answer;
}

TEST(CommandLineTest, EveryCommandHasANameAndOneLineOfHelp) {
  std::set<std::string> names;
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name << " is registered twice";
    EXPECT_FALSE(command.about.empty());
    EXPECT_EQ(command.about.find('\n'), std::string::npos);
  }
}

TEST(CommandLineTest, HelpListsEveryCommand) {
  const Answer answer = run({"--help"});
  EXPECT_EQ(answer.code, ExitCode::success);
  for (const Command& command : all_commands()) {
    EXPECT_THAT(answer.out, HasSubstr(command.name));
  }
}

TEST(CommandLineTest, VersionIsThatOfTheProject) {
  EXPECT_EQ(run({"--version"}).out, "warpsmith " + program_version() + "\n");
}

TEST(CommandLineTest, ThePeerNeedsContractDevice) {
  const Answer answer = run({"bench", "evaluate", "--peer"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("--contract device"));
}

/// The help text of a bench after its options.
std::string end_of_help(const char* part) {
  const std::string help = run({"bench", part, "--help"}).out;
  const size_t options = help.find("Options:");
  const size_t end = help.find("\n\n", options);
  return options == std::string::npos || end == std::string::npos ? "" : help.substr(end + 2);
}

TEST(CommandLineTest, EveryBenchHelpExplainsTheMeasurement) {
  for (const char* part : {"evaluate", "gpus", "repeat", "tasks", "faults", "timing", "commit",
                           "pairs", "decode", "learn", "actors"}) {
    const std::string text = end_of_help(part);
    EXPECT_GT(text.size(), 60U) << part;
    EXPECT_THAT(text, Not(StartsWith("Exit codes: 0 done"))) << part << " has the program's footer";
  }
}

TEST(CommandLineTest, OneGpuIsNotComparedWithItself) {
  const Answer answer = run({"bench", "gpus", "--gpus", "1"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_EQ(answer.err,
            "warpsmith: --gpus: expected 2 or more, to compare with one of them, got 1\n");
}

TEST(CommandLineTest, BenchLearnRefusesOptionsThatItsDeviceDoesNotUse) {
  using Arguments = std::vector<const char*>;
  const std::pair<Arguments, const char*> cases[] = {
      {{"--tokens", "1024"}, "learn: --tokens has no effect without --device cuda: it belongs to"},
      {{"--gpu", "0"}, "learn: --gpu has no effect without --device cuda"},
      {{"--offload"}, "learn: --offload has no effect without --device cuda"},
      {{"--no-peer"}, "learn: --no-peer has no effect without --device cuda"},
      {{"--critic", "shared"}, "learn: --critic has no effect without --gpus N"},
      {{"--gpus", "2", "--epochs", "2"}, "learn: --epochs has no effect with --gpus"},
      {{"--device", "cuda", "--steps", "2"}, "learn: --steps has no effect without --gpus N"},
      {{"--device", "cuda", "--turns", "2"}, "learn: --turns has no effect without --device cpu"},
      {{"--device", "cuda", "--offload"}, "learn: --offload has no effect without --update"},
      {{"--device", "cuda", "--gpus", "2", "--update"},
       "learn: --update has no effect with --gpus"},
  };
  for (auto [arguments, words] : cases) {
    arguments.insert(arguments.begin(), {"bench", "learn"});
    const Answer answer = run(arguments);
    EXPECT_EQ(answer.code, ExitCode::bad_input) << words;
    EXPECT_THAT(answer.err, HasSubstr(words));
  }
}

TEST(CommandLineTest, ToleranceNeedsAnExpectedSpeedUp) {
  const Answer answer = run({"bench", "repeat", "configs/examples/copy", "--within", "0.03"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("--within requires --expect"));
}

TEST(CommandLineTest, UnknownCommandsAndOptionsAreBadInput) {
  EXPECT_EQ(run({}).code, ExitCode::bad_input);
  EXPECT_EQ(run({"fly"}).code, ExitCode::bad_input);
  EXPECT_THAT(run({"--json"}).err, StartsWith("warpsmith: expected one of bench, check, "));
  EXPECT_THAT(run({"runs"}).err,
              StartsWith("warpsmith: runs: expected one of list, show, trajectories\n"));
  EXPECT_THAT(run({"runs", "list", "--root", "/no/such"}).err,
              StartsWith("warpsmith: /no/such: no such folder"));
  EXPECT_THAT(run({"check", "/no/such"}).err, StartsWith("warpsmith: /no/such: no such folder"));
  EXPECT_THAT(run({"frobnicate"}).err,
              StartsWith("warpsmith: no command \"frobnicate\"; expected one of bench, check, "));
  EXPECT_THAT(run({"evl"}).err, HasSubstr("the nearest is \"eval\""));
  EXPECT_THAT(run({"check"}).err, HasSubstr("check --task op.py kernel.cpp\n"));
  const Answer part = run({"bench", "evaluat"});
  EXPECT_EQ(part.code, ExitCode::bad_input);
  EXPECT_EQ(part.err, "warpsmith: no bench command \"evaluat\"; the nearest is \"evaluate\"\n");
  EXPECT_EQ(run({"synth", "improt"}).err,
            "warpsmith: no synth command \"improt\"; the nearest is \"import\"\n");
  EXPECT_EQ(run({"doctor", "--nurse"}).code, ExitCode::bad_input);
}

TEST(CommandLineTest, AnUnknownOptionNamesTheNearestOfItsCommand) {
  const auto refusal = [](std::vector<const char*> words) {
    const Answer answer = run(std::move(words));
    EXPECT_EQ(answer.code, ExitCode::bad_input);
    return answer.err.substr(0, answer.err.find('\n'));
  };
  EXPECT_EQ(refusal({"train", "configs/quickstart.toml", "--dryrun"}),
            "warpsmith: train: no option \"--dryrun\"; the nearest is \"--dry-run\"");
  EXPECT_EQ(refusal({"runs", "list", "--rot=/tmp"}),
            "warpsmith: list: no option \"--rot\"; the nearest is \"--root\"");
  EXPECT_THAT(refusal({"check", "--explian"}), HasSubstr("the nearest is \"--explain\""))
      << "it says more than that a kernel is missing";
  EXPECT_THAT(refusal({"doctor", "--frobnicate"}),
              StartsWith("warpsmith: doctor: no option \"--frobnicate\"; expected one of --"));
  for (const Command& command : all_commands()) {
    if (command.name == "synth") continue;  // it becomes another program
    EXPECT_THAT(refusal({command.name.c_str(), "--hepl"}), HasSubstr("nearest is \"--help\""))
        << command.name;
  }
}

TEST(CommandLineTest, ConfigPrintsTheEffectiveConfiguration) {
  const Answer answer = run({"config", "configs/quickstart.toml", "--set", "run.seed=11"});
  EXPECT_EQ(answer.code, ExitCode::success) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("seed = 11\n"));
}

TEST(CommandLineTest, SetMayBeRepeatedAndTakesLists) {
  const Answer answer = run({"config", "--set", "run.seed=1", "--set",
                             "agent.tools=[\"write\", \"submit\"]", "configs/quickstart.toml"});
  EXPECT_EQ(answer.code, ExitCode::success) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("tools = [\"write\", \"submit\"]\n"));
}

TEST(CommandLineTest, AFileMayFollowSetInEveryCommand) {
  for (const char* command : {"config", "train", "eval"}) {
    const Answer answer = run({command, "--set", "run.seed=2", "no-such.toml"});
    EXPECT_EQ(answer.code, ExitCode::bad_input);
    EXPECT_THAT(answer.err, HasSubstr("no-such.toml")) << command;
    EXPECT_THAT(answer.err, Not(HasSubstr("--set no-such.toml"))) << command;
  }
}

TEST(CommandLineTest, AFolderWithoutARunCannotBeResumed) {
  const Answer answer = run({"train", "--resume", "configs"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, StartsWith("warpsmith: configs: not a run folder"));
}

TEST(CommandLineTest, SlotsOfSeveralCoresAreRefused) {
  const Answer answer = run({"config", "configs/quickstart.toml", "--set", "sandbox.cores=2"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("sandbox.cores: expected 1"));
}

TEST(CommandLineTest, ADryRunShowsTheTreeWithoutAGpu) {
  for (const std::string contract : {"device", "host"}) {
    const std::string config = "configs/h200-" + contract + ".toml";
    const Answer answer = run({"train", config.c_str(), "--dry-run"});
    const std::string slots = contract == "device" ? "x5  contract device" : "x3  contract host";
    EXPECT_THAT(answer.out, HasSubstr("sandbox        " + slots + ", on GPU 0, shared in turns"));
    EXPECT_THAT(answer.out, HasSubstr("synthesis      x1  24 tasks"));
    const bool has_driver = cuda::Driver::load().has_value();
    EXPECT_TRUE(has_driver || answer.code == ExitCode::bad_input) << answer.err;
  }
}

TEST(CommandLineTest, ADryRunRefusesAGeneratorOnAMissingGpu) {
  if (cuda::Driver::load()) GTEST_SKIP() << "this machine has a driver: the run may fit";
  for (const char* stage : {"run.stage=agentic", "run.stage=collect"}) {
    const Answer answer = run({"train", "configs/quickstart.toml", "--dry-run", "--set", stage,
                               "--set", "generator.device=cuda"});
    EXPECT_EQ(answer.code, ExitCode::bad_input) << stage;
    EXPECT_THAT(answer.err, HasSubstr("generator.device: expected \"cpu\"")) << stage;
  }
}

TEST(CommandLineTest, ADryRunOfADataStageShowsItsMemoryAndChecksItsDevice) {
  const Answer here = run({"train", "configs/quickstart-sft.toml", "--dry-run"});
  EXPECT_EQ(here.code, ExitCode::success) << here.err;
  EXPECT_THAT(here.out, HasSubstr("of tensors (parameters with their state "));
  EXPECT_THAT(here.out, HasSubstr("activations of the longest pack "));
  if (cuda::Driver::load()) GTEST_SKIP() << "this machine has a driver: the stage may fit";
  const Answer away =
      run({"train", "configs/quickstart-sft.toml", "--dry-run", "--set", "learner.device=cuda"});
  EXPECT_EQ(away.code, ExitCode::bad_input);
  EXPECT_THAT(away.out, HasSubstr(" of GPU 0 (parameters"));
  EXPECT_THAT(away.err, HasSubstr("learner.device: expected \"cpu\""));
}

TEST(CommandLineTest, ADryRunCountsTheConversationsOfItsData) {
  const test_support::TemporaryFolder folder;
  const std::string data = (folder.path() / "data.jsonl").string();
  const std::string setting = "sft.data=" + data;
  const auto dry_run = [&](const std::string& lines) {
    std::ofstream{data} << lines;
    return run({"train", "configs/quickstart-sft.toml", "--dry-run", "--set",
                "sft.script=", "--set", setting.c_str()});
  };
  const Answer good = dry_run(
      "{\"prompt\": \"a\", \"completion\": \"b\"}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n");
  EXPECT_EQ(good.code, ExitCode::success) << good.err;
  EXPECT_THAT(good.out,
              HasSubstr(data + ": 1 conversation kept, 1 left out: 1 without an assistant "
                               "message to train on\n"));
  EXPECT_THAT(good.out, Not(HasSubstr("WARNING")));
  const Answer over = run({"train", "configs/quickstart-sft.toml", "--dry-run", "--set",
                           "sft.export_to=configs/policy/tiny"});
  EXPECT_EQ(over.code, ExitCode::success) << over.err;
  EXPECT_THAT(over.out, HasSubstr("its model replaces the one in "));
  const Answer empty = dry_run("");
  EXPECT_EQ(empty.code, ExitCode::bad_input);
  EXPECT_THAT(empty.err, HasSubstr(data + ": nothing to learn from: there are no conversations"));
}

TEST(CommandLineTest, ADryRunOfAChainChecksItAsTheRunDoes) {
  const Answer good = run({"train", "configs/paper-stages.toml", "--dry-run"});
  EXPECT_EQ(good.code, ExitCode::success) << good.err << "the first stage draws the weights";
  EXPECT_THAT(good.out, HasSubstr("\nstage agentic\nsupervisor\n"));
  const Answer bad = run({"train", "configs/paper-stages.toml", "--dry-run", "--set",
                          "stage.sft.sft.script=/no/script.py"});
  EXPECT_EQ(bad.code, ExitCode::bad_input);
  EXPECT_THAT(bad.err, HasSubstr("stage sft: "));
  EXPECT_THAT(bad.err, HasSubstr("found no file /no/script.py"));
}

TEST(CommandLineTest, WithoutAGpuTrainingOnGpusEndsWithOneMessage) {
  if (cuda::Driver::load()) GTEST_SKIP() << "this machine has a driver: training would begin";
  using Line = std::pair<const char*, std::string>;  // command, contract
  for (const auto& [command, contract] :
       {Line{"train", "device"}, Line{"eval", "device"}, Line{"train", "host"}}) {
    const Answer answer = run({command, ("configs/h200-" + contract + ".toml").c_str()});
    EXPECT_EQ(answer.code, ExitCode::bad_input) << command;
    EXPECT_THAT(answer.err, StartsWith("warpsmith: sandbox.contract = \"" + contract + "\": "));
    EXPECT_EQ(std::ranges::count(answer.err, '\n'), 1) << answer.err;
    EXPECT_EQ(answer.out, "");
  }
}

TEST(CommandLineTest, AnInvalidConfigurationIsReportedWithEveryPlace) {
  const Answer answer =
      run({"config", "configs/quickstart.toml", "--set", "a.b=1", "--set", "run.seed=-1"});
  EXPECT_EQ(answer.code, ExitCode::bad_input);
  EXPECT_THAT(answer.err, HasSubstr("--set a.b=1: unknown table a"));
  EXPECT_THAT(answer.err, HasSubstr("--set run.seed=-1: run.seed: expected an integer"));
}

TEST(CommandLineTest, InfrastructureFailuresHaveTheirOwnCode) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(report({ErrorCode::disk_full, "no space in runs/"}), ExitCode::infrastructure);
  EXPECT_EQ(report({ErrorCode::not_found, "no such run"}), ExitCode::bad_input);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warpsmith: no space in runs/\nwarpsmith: no such run\n");
}

TEST(StandardOutputTest, SuccessfulOutputKeepsTheExitCode) {
  std::ostringstream out;
  out << "text";
  EXPECT_EQ(flush_output(ExitCode::success, out), ExitCode::success);
  EXPECT_EQ(flush_output(ExitCode::judged_wrong, out), ExitCode::judged_wrong);
}

TEST(StandardOutputTest, FailedOutputTurnsSuccessIntoFailure) {
  std::ofstream full("/dev/full");
  full << "text";
  testing::internal::CaptureStderr();
  EXPECT_EQ(flush_output(ExitCode::success, full), ExitCode::infrastructure);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warpsmith: cannot write to standard output\n");
  EXPECT_EQ(flush_output(ExitCode::bad_input, full), ExitCode::bad_input)
      << "the code before says more";
}

}  // namespace
}  // namespace warpsmith::commands
