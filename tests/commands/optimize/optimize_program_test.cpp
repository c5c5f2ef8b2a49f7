// SPDX-License-Identifier: Apache-2.0
// `warpsmith optimize` from the command line to an export that a fresh Python process imports.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "runtime/run/durable_file.hpp"
#include "tests/commands/program_fixture.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const char* const micro_task = "configs/tasks/micro/reduction/row_square_sum.py";
const char* const micro_kernel = "configs/tasks/micro/kernels/cpu/row_square_sum/kernel.cpp";

class OptimizeProgramTest : public ProgramFixture {
 protected:
  static ChildExit optimize(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "optimize");
    return run(std::move(arguments));
  }
  std::string kernel(const std::string& name, const std::string& from = "",
                     const std::string& to = "") const {
    std::string text = read_text_file(micro_kernel, 1U << 16U).value();
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    return file(name, text);
  }
  std::string in(const std::string& name) const { return (folder() / name).string(); }
  json report(const std::string& result) const {
    return json::parse(read_text_file(in(result + "/report.json"), 1U << 24U).value());
  }
};

TEST_F(OptimizeProgramTest, BadInputIsNamed) {
  const std::string folder = fs::path(kernel("kernels/fast.cpp")).parent_path();
  const std::vector<std::string> good{micro_task, "--candidates", folder};
  const auto with = [&good](std::vector<std::string> more) {
    more.insert(more.begin(), good.begin(), good.end());
    return optimize(more);
  };
  const ChildExit zero = with({"--attempts", "0"});
  EXPECT_EQ(zero.exit_code, 2);
  EXPECT_THAT(zero.err, HasSubstr("--attempts 0: expected at least 1"));
  EXPECT_THAT(with({"--time", "0s"}).err, HasSubstr("--time 0s: expected more than 0"));
  EXPECT_THAT(with({"--time", "soon"}).err, HasSubstr("--time"));
  EXPECT_THAT(with({"--name", "row-sums"}).err,
              HasSubstr("--name row-sums: expected up to 64 letters, digits and underscores"));
  EXPECT_THAT(with({"--name", "torch"}).err, HasSubstr("--name torch: Python or torch uses"));
  EXPECT_THAT(with({"--baseline", in("none")}).err, HasSubstr("none: no such folder"));
  EXPECT_EQ(with({"--contract", "gpu"}).err,
            "warpsmith: --contract gpu: expected cpu, device or host\n");
  fs::create_directories(in("mine/empty"));
  EXPECT_THAT(with({"--baseline", in("mine")}).err,
              HasSubstr("mine/empty: expected kernel.cpp (contract cpu), "));
  const ChildExit empty = optimize({micro_task, "--candidates", in("mine")});
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("left out: empty: expected kernel.cpp (contract cpu), "));
  EXPECT_EQ(optimize({}).exit_code, 2);
  const ChildExit unfit =
      optimize({file("op.py", "class Model: pass\ndef get_init_inputs(): return []\n"),
                "--candidates", folder});
  EXPECT_EQ(unfit.exit_code, 2);
  EXPECT_THAT(unfit.err, HasSubstr("op.py: a task needs `def get_inputs`"));
  const ChildExit lost = optimize({"--resume", in("nowhere")});
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.err, HasSubstr("--resume: expected the folder of an earlier `optimize`"));
}

TEST_F(OptimizeProgramTest, AWrongBaselineIsRefusedByName) {
  kernel("kernels/fast.cpp");
  kernel("mine/off.cpp", "y[r] = sum", "y[r] = sum + 1");
  const ChildExit end = optimize(
      {micro_task, "--candidates", in("kernels"), "--baseline", in("mine"), "--out", in("result")});
  EXPECT_EQ(end.exit_code, 2) << end.err;
  EXPECT_THAT(end.err, HasSubstr("mine/off.cpp: expected a correct kernel, got wrong"));
}

TEST_F(OptimizeProgramTest, WrongCandidatesAreNotBetterAndResumeContinues) {
  kernel("kernels/a.cpp", "y[r] = sum", "y[r] = sum + 1e6f");
  kernel("kernels/b.cpp", "y[r] = sum", "y[r] = sum + 2e6f");
  fs::create_directories(in("kernels/empty"));
  const ChildExit first = optimize(
      {micro_task, "--candidates", in("kernels"), "--out", in("result"), "--attempts", "1"});
  EXPECT_EQ(first.exit_code, 1) << first.err;
  EXPECT_THAT(first.err, HasSubstr("left out: empty: expected kernel.cpp (contract cpu), "));
  EXPECT_EQ(report("result")["not_begun"], 1);
  std::ofstream{in("result/journal.jsonl"), std::ios::app} << "{\"torn";
  const ChildExit more = optimize({"--resume", in("result")});
  EXPECT_EQ(more.exit_code, 1) << more.err;
  EXPECT_THAT(more.out, HasSubstr("- a.cpp: not correct on get_inputs: wrong: set 1 ("));
  EXPECT_THAT(more.out, testing::ContainsRegex("elements differ, the first is .*\\[0.*\\]; likely: "
                                               "all are off by one constant offset; .*\\[0.*\\] is "
                                               ".*, expected .*factor or offset: 1e\\+06\\)\n"
                                               "- b.cpp: not correct"));
  EXPECT_EQ(more.err.find("a.cpp: get_inputs"), std::string::npos) << "judged again";
  const ChildExit taken =
      optimize({micro_task, "--candidates", in("kernels"), "--out", in("result")});
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_THAT(taken.err, HasSubstr("expected a new or empty folder"));
  EXPECT_THAT(taken.err, HasSubstr("to begin again, remove it or name another --out"));
  json settings = json::parse(read_text_file(in("result/settings.json"), 1U << 20U).value());
  json stack = json::parse(settings["stack"].get<std::string>());
  stack["cores"] = 9999;
  settings["stack"] = stack.dump();
  std::ofstream{in("result/settings.json")} << settings;
  const ChildExit elsewhere = optimize({"--resume", in("result")});
  EXPECT_EQ(elsewhere.exit_code, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("/cores: 9999 before, "));
}

TEST_F(OptimizeProgramTest, AnUnfitOperatorIsNamedOnceBeforeAnyKernelIsTried) {
  kernel("kernels/a.cpp", "y[r] = sum", "syntax error");
  kernel("kernels/b.cpp");
  const std::string random =
      "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
      "        return x + torch.rand(64, 64)\n"
      "def get_inputs():\n    return [torch.randn(64, 64)]\n"
      "def get_init_inputs():\n    return []\n";
  const ChildExit end = optimize(
      {file("random_op.py", random), "--candidates", in("kernels"), "--out", in("result")});
  EXPECT_EQ(end.exit_code, 2) << end.out << end.err;
  const std::string unfit = "the operator is unfit, so no kernel is tried: get_inputs: ";
  const size_t at = end.err.find(unfit);
  ASSERT_NE(at, std::string::npos) << end.err;
  EXPECT_EQ(end.err.find(unfit, at + 1), std::string::npos) << end.err;
  EXPECT_EQ(end.err.find("a.cpp"), std::string::npos) << end.err;
  EXPECT_FALSE(std::filesystem::exists(in("result"))) << "nothing was judged";
}

TEST_F(OptimizeProgramTest, CtrlCReportsWhatIsKeptAndHowToContinue) {
  kernel("kernels/a.cpp", "y[r] = sum", "y[r] = sum + 1");
  Child child =
      start({"optimize", micro_task, "--candidates", in("kernels"), "--out", in("result")});
  const Deadline deadline = Deadline::after(patience);
  while (!fs::exists(in("result/journal.jsonl")) && !deadline.passed()) {
    ASSERT_FALSE(child.finished(std::chrono::milliseconds{20}));
  }
  child.signal(SIGINT);
  const ChildExit end = child.wait(Deadline::after(std::chrono::seconds{60}));
  EXPECT_EQ(end.exit_code, 130) << end.err;
  EXPECT_THAT(end.err, HasSubstr("kept: the verdicts in " + in("result/journal.jsonl") +
                                 "\ncontinue with: ./warpsmith optimize --resume " + in("result")));
  EXPECT_THAT(end.out, HasSubstr("stopped: 0 of 1 candidates have a verdict"));
  EXPECT_EQ(end.out.find("no verdict: "), std::string::npos) << end.out;
  EXPECT_EQ(report("result")["stopped"], true);
}

TEST_F(OptimizeProgramTest, TheExportOfAPromotedKernelPassesItsOwnTest) {
  kernel("kernels/fast.cpp");
  kernel("kernels/off.cpp", "y[r] = sum", "y[r] = sum + 1");
  const ChildExit end = optimize(
      {micro_task, "--candidates", in("kernels"), "--out", in("result"), "--name", "row_sums"});
  if (lacks_stable_times(end)) GTEST_SKIP() << "the machine gives no stable times: " << end.out;
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_EQ(report("result")["promoted"]["name"], "fast.cpp");
  EXPECT_THAT(end.out, testing::ContainsRegex("kernel +shape +eager +compile"));
  EXPECT_THAT(end.out, testing::ContainsRegex("fast.cpp +get_inputs +[0-9.]+x \\([0-9.]+ to "));
  EXPECT_THAT(end.out, HasSubstr("promoted: fast.cpp\nexport: " + in("result/export") +
                                 "\n  test it:   ./warpsmith python " + in("result/export") +
                                 "/test_regression.py --time\n  import it: "));
  EXPECT_TRUE(fs::exists(in("result/kernel/kernel.cpp")));
  EXPECT_TRUE(fs::exists(in("result/export/row_sums/signature.json")));
  EXPECT_THAT(report("result")["profile_text"].get<std::string>(), HasSubstr("get_inputs: passed"));
  const ChildExit own =
      start_any({python_interpreter(), "-B", in("result/export/test_regression.py")})
          .wait(Deadline::after(patience));
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_THAT(own.out, HasSubstr("passed: get_inputs"));
}

}  // namespace
}  // namespace warpsmith::commands
