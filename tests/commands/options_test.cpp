// SPDX-License-Identifier: Apache-2.0
#include "commands/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "commands/slots.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Kind = OptionRule::Kind;

/// The complaint about these arguments; empty if there is none.
std::string complaint(std::vector<std::string> arguments, const std::vector<OptionRule>& rules) {
  CLI::App app{"", "cook"};
  std::string text;
  int number = 3;
  bool flag = false;
  app.add_option("DISH", text);
  app.add_option("--resume", text);
  app.add_option("--salt", number)->capture_default_str();
  app.add_flag("-f,--fast", flag);
  std::ranges::reverse(arguments);
  app.parse(arguments);
  const auto checked = check_options(app, rules);
  return checked ? "" : checked.error().message;
}

TEST(OptionRulesTest, OptionsWithoutEffectAreRefusedByName) {
  const std::vector<OptionRule> rules{{"--resume", Kind::takes, {"--fast"}, "start again"}};
  EXPECT_EQ(complaint({"--resume", "R", "--salt", "3", "soup"}, rules),
            "cook: DISH and --salt have no effect with --resume: start again");
  EXPECT_EQ(complaint({"--resume", "R", "-f"}, rules), "");
  EXPECT_EQ(complaint({"--salt", "9", "soup"}, rules), "") << "the rule is one of --resume";
}

TEST(OptionRulesTest, ARuleRefusesOrNeedsOthers) {
  const std::vector<OptionRule> rules{{"--fast", Kind::refuses, {"--salt"}, "no time"},
                                      {"--salt", Kind::needs, {"DISH", "--resume"}, "of what?"}};
  EXPECT_EQ(complaint({"-f", "--salt", "1", "soup"}, rules),
            "cook: --salt has no effect with --fast: no time");
  EXPECT_EQ(complaint({"--salt", "1"}, rules),
            "cook: --salt has no effect without DISH or --resume: of what?");
  EXPECT_EQ(complaint({"--salt", "1", "soup"}, rules), "");
}

TEST(OptionRulesTest, AKeyThatTheCommandSetsIsRefused) {
  const std::vector<FixedKey> fixed{{"run.name", "it has one"}, {"tasks", "use --suite"}};
  EXPECT_TRUE(refuse_fixed_keys({"run.names=1", "tasksets.a=2"}, fixed));
  EXPECT_EQ(refuse_fixed_keys({"run.seed=1", "run.name=x"}, fixed).error().message,
            "--set run.name has no effect here: it has one");
  EXPECT_EQ(refuse_fixed_keys({"tasks.held=[]"}, fixed).error().message,
            "--set tasks.held has no effect here: use --suite");
}

struct Call {
  std::vector<const char*> arguments;
  const char* refusal;
};

/// Each of these was once accepted without effect.
TEST(OptionRulesTest, CommandsRefuseOptionsWithoutEffect) {
  const std::vector<Call> calls{
      {{"optimize", "--resume", "R", "--margin", "9", "--contract", "cpu", "--numerics", "paper"},
       "optimize: --margin, --contract and --numerics have no effect with --resume: resuming "
       "reuses"},
      {{"optimize", "--resume", "R", "op.py"}, "optimize: OPERATOR has no effect with --resume"},
      {{"optimize", "op.py", "--brain", "c.toml", "--candidates", "k"}, "--candidates has no"},
      {{"eval", "--resume", "R", "--samples", "9", "--solutions", "D", "--set", "run.seed=1"},
       "eval: --set, --samples and --solutions have no effect with --resume: the run continues"},
      {{"eval", "--report", "R", "--greedy"}, "eval: --greedy has no effect with --report: "},
      {{"eval", "--report", "R", "--resume", "R"}, "eval: --resume has no effect with --report"},
      {{"eval", "configs/quickstart.toml", "--resume", "R"}, "eval: CONFIG has no effect with"},
      {{"eval", "configs/quickstart.toml", "--mix-stacks"}, "--mix-stacks has no effect without"},
      {{"eval", "--report", "R", "--mix-stacks"}, "without --against or --resume: there is noth"},
      {{"eval", "configs/quickstart.toml", "--suite", "S", "--training-tasks"}, "of the suite"},
      {{"eval", "configs/quickstart.toml", "--set", "run.trajectories=9"}, "use --samples"},
      {{"train", "configs/quickstart.toml", "--dry-run", "--json"}, "train: --json has no effect"},
      {{"train", "configs/quickstart.toml", "--resume", "R"}, "train: CONFIG has no effect with"},
      {{"check", "D", "--verify-only", "--baselines", "none"}, "--baselines has no effect with"},
      {{"runs", "trajectories", "R", "--show", "1", "--best"}, "--best has no effect with --show"},
  };
  for (const Call& call : calls) {
    std::vector<const char*> words = call.arguments;
    words.insert(words.begin(), "warpsmith");
    testing::internal::CaptureStderr();
    const ExitCode code = run_command_line(static_cast<int>(words.size()), words.data());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code, ExitCode::bad_input) << said;
    EXPECT_THAT(said, StartsWith("warpsmith: "));
    EXPECT_THAT(said, HasSubstr(call.refusal));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
}

using testing::ElementsAre;
using testing::IsEmpty;

/// The further baselines that the option selects, or the error.
std::vector<std::string> timed(const std::string& words, const std::string& contract = "device") {
  CLI::App app;
  std::string folder;
  std::vector<std::string> names{"auto"};
  app.add_option("DIR", folder);
  add_baselines_option(app, names);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return {error.what()};
  }
  SandboxConfig config;
  config.contract = contract;
  config.baselines = selected_baselines(names);
  const auto valid = valid_slots(config);
  return valid ? further_baselines(config) : std::vector{valid.error().message};
}

TEST(BaselinesOptionTest, DefaultsToAllOnGpusAndNoneOnCpus) {
  EXPECT_THAT(timed(""), ElementsAre("max-autotune", "cuda-graph"));
  EXPECT_THAT(timed("", "cpu"), IsEmpty());
}

TEST(BaselinesOptionTest, TakesNamesOrNoneButNoFollowingArgument) {
  EXPECT_THAT(timed("--baselines cuda-graph DIR"), ElementsAre("cuda-graph"));
  EXPECT_THAT(timed("--baselines max-autotune,cuda-graph DIR"),
              ElementsAre("max-autotune", "cuda-graph"));
  EXPECT_THAT(timed("DIR --baselines none"), IsEmpty());
  EXPECT_THAT(timed("--baselines none", "cpu"), IsEmpty());
}

TEST(BaselinesOptionTest, RefusesUnknownBaselinesAndThoseOfGpusOnACpu) {
  EXPECT_THAT(timed("--baselines fast"), ElementsAre(HasSubstr("fast")));
  EXPECT_THAT(timed("--baselines none,cuda-graph"),
              ElementsAre(HasSubstr(
                  "expected \"auto\", \"max-autotune\" or \"cuda-graph\", got \"none\"")));
  EXPECT_THAT(timed("--baselines cuda-graph", "cpu"),
              ElementsAre(HasSubstr("a slot on a CPU core times only eager and torch.compile")));
}

}  // namespace
}  // namespace warpsmith::commands
