// SPDX-License-Identifier: Apache-2.0
// `warpsmith check` from the command line to its exit code. No GPU is needed.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "runtime/cuda/driver.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "tests/commands/program_fixture.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const char* const example = "configs/examples/rms_norm_linear";
const char* const cpu_task = "configs/tasks/cpu/train/square_mean.py";

class CheckProgramTest : public ProgramFixture {
 protected:
  static ChildExit check(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    return run(std::move(arguments));
  }

  /// What a call with bad input prints.
  static std::string refusal(std::vector<std::string> arguments) {
    const ChildExit end = check(std::move(arguments));
    EXPECT_EQ(end.exit_code, 2) << end.out << end.err;
    return end.err;
  }

  /// A copy of the example with `from` replaced by `to` in its plan.
  std::string example_with(const std::string& from, const std::string& to) const {
    const fs::path copy = folder() / "example";
    fs::remove_all(copy);
    fs::copy(example, copy, fs::copy_options::recursive);
    const fs::path plan = copy / "solution/plan.toml";
    std::string text = read_text_file(plan, 1U << 16U).value();
    text.replace(text.find(from), from.size(), to);
    std::ofstream{plan} << text;
    return copy.string();
  }
};

#define REQUIRE_TOOLCHAIN()                                                     \
  if (auto found = sandbox::find_cuda_toolchain(sandbox::built_with_toolkit(),  \
                                                python_interpreter().string()); \
      !found)                                                                   \
  GTEST_SKIP() << found.error().message

TEST_F(CheckProgramTest, ExplainsTheExampleWithoutAGpu) {
  REQUIRE_TOOLCHAIN();
  const ChildExit end = check({example, "--explain"});
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, StartsWith("extents d0 = 256, d1 = 1024, d2 = 512\n"));
  EXPECT_THAT(end.out, HasSubstr("\nscratch normed f32 [256, 1024] 1048576 bytes\n"));
  EXPECT_THAT(end.out, HasSubstr("launch rms_norm grid (256, 1, 1) block (256, 1, 1)\n"));
  EXPECT_THAT(end.out, HasSubstr("gemm y = normed [256, 1024] * linear.weight [512, 1024] "));
  EXPECT_THAT(end.out, HasSubstr("\nkernel rms_norm: "));
  EXPECT_THAT(end.out, AllOf(Not(HasSubstr("passed")), Not(HasSubstr("reward"))));
  EXPECT_EQ(end.err, "") << "progress is only for terminals";
}

TEST_F(CheckProgramTest, AnInvalidPlanIsReportedByItsPlace) {
  REQUIRE_TOOLCHAIN();
  const ChildExit end =
      check({example_with("grid = [\"d0\"]", "grid = [\"d0 / (d1 - 1024)\"]"), "--explain"});
  EXPECT_EQ(end.exit_code, 1) << end.err;
  EXPECT_EQ(end.out, "compile_error\n  plan.toml:11:13: division by zero\n");
}

TEST_F(CheckProgramTest, CompilingOnlyHasNoReward) {
  const std::string kernel = file(
      "kernel.cpp", "extern \"C\" void solve(const void* const*, void* const*, const long*) {}");
  const ChildExit cpu = check({"--compile-only", "--task", cpu_task, kernel});
  EXPECT_EQ(cpu.exit_code, 0) << cpu.err;
  EXPECT_THAT(cpu.out, StartsWith("compiled\n  contract cpu\n"));
  EXPECT_THAT(cpu.out, Not(HasSubstr("reward")));
  REQUIRE_TOOLCHAIN();
  const ChildExit device = check({"--compile-only", example});
  EXPECT_EQ(device.exit_code, 0) << device.err;
  EXPECT_THAT(device.out, StartsWith("compiled\n  contract device\n"));
}

TEST_F(CheckProgramTest, ContractHostIsRecognisedByItsFile) {
  const std::string model = file("fast.py", "class ModelNew:\n    pass\n");
  const ChildExit end = check({"--compile-only", "--task", cpu_task, model});
  EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, StartsWith("compiled\n  contract host\n"));
  const ChildExit broken =
      check({"--compile-only", "--task", cpu_task, file("broken.py", "class ModelNew(:\n")});
  EXPECT_EQ(broken.exit_code, 1) << broken.out << broken.err;
  EXPECT_THAT(broken.out, StartsWith("compile_error\n  SyntaxError: invalid syntax (broken.py, "
                                     "line 1)\n"));
  const ChildExit deep =
      check({"--compile-only", "--task", cpu_task,
             file("deep.py", "class ModelNew:\n  x = " + std::string(100000, '(') +
                                 std::string(100000, ')') + "\n")});
  EXPECT_EQ(deep.exit_code, 1) << deep.out << deep.err;
  EXPECT_THAT(deep.out, StartsWith("compile_error\n"));
  (void)file("sources/model_new.py", "class ModelNew:\n    pass\n");
  (void)file("sources/kernels/k.cu", "");
  const std::string for_cpus =
      file("cpu.py", "DEVICE = \"cpu\"\n" + read_text_file(cpu_task, 1U << 16U).value());
  const ChildExit sources = check({"--task", for_cpus, (folder() / "sources").string()});
  EXPECT_EQ(sources.exit_code, 2) << sources.out << sources.err;
  EXPECT_THAT(sources.err,
              HasSubstr("kernels/k.cu needs a GPU, but " + for_cpus + " has DEVICE = \"cpu\"; "));
  const ChildExit none =
      check({"--contract", "host", "--task", cpu_task, file("none.py", "x = 1\n")});
  EXPECT_EQ(none.exit_code, 1) << none.out << none.err;
  EXPECT_THAT(none.out, HasSubstr("none.py defines no class ModelNew"));
}

TEST_F(CheckProgramTest, WithoutAGpuItNamesTheAlternatives) {
  if (cuda::Driver::load()) GTEST_SKIP() << "this machine has a GPU's driver";
  const ChildExit end = check({example});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_THAT(end.err, AllOf(StartsWith("warpsmith: contract device: "),
                             HasSubstr("; --explain and --compile-only work without a GPU\n")));
}

TEST_F(CheckProgramTest, BadOptionsAreNamed) {
  EXPECT_EQ(refusal({example, "--contract", "cuda"}),
            "warpsmith: --contract cuda: expected cpu, device or host\n");
  EXPECT_THAT(refusal({""}), HasSubstr("check: expected a folder with reference.py and solution/"));
  EXPECT_EQ(
      refusal({"--task", cpu_task}),
      "warpsmith: check: the kernel is missing: expected its file, or a folder with it, after "
      "the task; for example: warpsmith check --task " +
          std::string(cpu_task) + " kernel.cpp\n");
  EXPECT_THAT(
      refusal({std::string(example) + "/solution/plan.toml"}),
      HasSubstr("plan.toml: expected a folder with reference.py and solution/, got a file"));
  EXPECT_THAT(refusal({example, "--contract", "cpu"}),
              HasSubstr("solution: expected kernel.cpp (contract cpu) in it, found none\n"));
  EXPECT_THAT(
      refusal({example, "--contract", "cpu", "--explain"}),
      HasSubstr(
          "--explain: only contract device has a plan (solution/plan.toml), got contract cpu"));
  EXPECT_EQ(refusal({example, "--compile-only", "--explain"}),
            "warpsmith: check: --compile-only has no effect with --explain: nothing is run\n");
  EXPECT_THAT(refusal({example, "--explain", "--profile", "kernels.json", "--numerics", "paper"}),
              HasSubstr("check: --numerics and --profile have no effect with --explain"));
  EXPECT_THAT(refusal({"--trace", "trace.json", "--task", cpu_task, file("kernel.cpp", "")}),
              HasSubstr("--profile, --trace: contract cpu does not use a GPU here"));
}

TEST_F(CheckProgramTest, BadSolutionsAreNamed) {
  for (const char* name : {"k.cu", "p.toml"}) {
    EXPECT_THAT(refusal({"--task", cpu_task, file(name, "")}),
                HasSubstr("contract device takes a folder with plan.toml and kernels.cu"));
  }
  (void)file("nested/plan.toml", "[[step]]\nmemset = \"y\"\n");
  fs::create_directory(folder() / "nested/kernels.cu");
  EXPECT_THAT(refusal({"--task", cpu_task, (folder() / "nested").string()}),
              HasSubstr("nested/kernels.cu: expected a file\n"));
  (void)file("large/plan.toml", "[[step]]\nmemset = \"y\"\n");
  (void)file("large/kernels.cu", std::string(100U << 20U, ' '));
  EXPECT_THAT(refusal({"--task", cpu_task, (folder() / "large").string()}),
              HasSubstr("the solution holds too much: allowed are 16 files and 262144 bytes, got 2 "
                        "files and 104857622 bytes, the largest kernels.cu of 104857600\n"));
  EXPECT_THAT(refusal({"--task", cpu_task, file("long.cpp", std::string((256U << 10U) + 1, ' '))}),
              HasSubstr("long.cpp: longer than the 262144 bytes allowed\n"));
  (void)file("linked/plan.toml", "[[step]]\nmemset = \"y\"\n");
  fs::create_symlink(file("elsewhere.cu", ""), folder() / "linked/kernels.cu");
  EXPECT_THAT(refusal({"--task", cpu_task, (folder() / "linked").string()}),
              HasSubstr("linked/kernels.cu: symbolic links are not followed"));
  fs::create_symlink("/etc/passwd", folder() / "linked.cpp");
  EXPECT_THAT(refusal({"--task", cpu_task, (folder() / "linked.cpp").string()}),
              HasSubstr("linked.cpp: symbolic links are not followed; copy the file\n"));
}

TEST_F(CheckProgramTest, SourcesThatAreNotTextAreNamed) {
  const auto said = [this](const std::string& text) {
    const ChildExit end = check({"--compile-only", "--task", cpu_task, file("kernel.cpp", text)});
    EXPECT_EQ(end.exit_code, 1) << end.err;
    return end.out;
  };
  EXPECT_THAT(said(" \n"), HasSubstr("kernel.cpp is empty"));
  EXPECT_THAT(said("\xEF\xBB\xBFint x;"), HasSubstr("kernel.cpp begins with a byte-order mark"));
  EXPECT_THAT(said("\xFF\xFEi"), HasSubstr("kernel.cpp is UTF-16"));
  EXPECT_THAT(said(std::string("int x;\0", 7)), HasSubstr("is no text: byte 6 is zero"));
}

TEST_F(CheckProgramTest, VariablesOfCompilersDoNotReachThem) {
  ::setenv("GCC_EXEC_PREFIX", "/nowhere/", 1);
  ::setenv("CPATH", "/nowhere", 1);
  const ChildExit end = check({"--compile-only", "--task", cpu_task,
                               file("kernel.cpp",
                                    "extern \"C\" void solve(const void* const*, "
                                    "void* const*, const long*) {}")});
  ::unsetenv("GCC_EXEC_PREFIX");
  ::unsetenv("CPATH");
  EXPECT_EQ(end.exit_code, 0) << end.out << end.err;
}

TEST_F(CheckProgramTest, EntriesThatAreNotFilesAreNamedInEveryContract) {
  const auto refusal = [](const fs::path& solution) {
    const ChildExit end = check({"--compile-only", "--task", cpu_task, solution.string()});
    EXPECT_EQ(end.exit_code, 2) << end.out << end.err;
    return end.err;
  };
  for (const char* name : {"kernel.cpp", "model_new.py", "plan.toml", "kernels.cu"}) {
    const fs::path pipe = folder() / "pipe" / name, inner = folder() / "inner" / name;
    (void)file("pipe/plan.toml", "[[step]]\nmemset = \"y\"\n");
    fs::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    fs::create_directories(inner);
    EXPECT_THAT(refusal(pipe.parent_path()), HasSubstr("expected a file\n")) << name;
    EXPECT_THAT(refusal(inner.parent_path()), HasSubstr(std::string(name) + ": expected a file\n"));
    fs::remove_all(pipe.parent_path());
    fs::remove_all(inner.parent_path());
  }
  fs::create_directory_symlink(fs::path(file("real/kernel.cpp", "")).parent_path(),
                               folder() / "link");
  EXPECT_THAT(refusal(folder() / "link"),
              HasSubstr("link: symbolic links are not followed; copy the folder\n"));
  fs::create_symlink("reference.py", folder() / "reference.py");
  const ChildExit loop = check({folder().string(), "--contract", "cpu"});
  EXPECT_EQ(loop.exit_code, 2) << loop.err;
}

/// Rows minus their means; `rows` is how many of them the kernel computes.
std::string centred_rows(const std::string& rows) {
  return "#include \"warpsmith.h\"\n"
         "extern \"C\" void solve(const void* const* in, void* const* out, const int64_t* dims) {\n"
         "  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n"
         "  for (int64_t r = 0; r < " +
         rows +
         "; ++r) {\n    const int64_t n = dims[1]; float sum = 0;\n"
         "    for (int64_t c = 0; c < n; ++c) sum += x[r * n + c];\n"
         "    for (int64_t c = 0; c < n; ++c) y[r * n + c] = x[r * n + c] - sum / (float)n;\n"
         "  }\n}\n";
}

TEST_F(CheckProgramTest, EveryDeclaredShapeIsJudgedUntilOneIsNotCorrect) {
  const std::string task = file("centred.py",
                                "import torch\n"
                                "class Model(torch.nn.Module):\n"
                                "    def forward(self, x):\n"
                                "        return x - x.mean(-1, keepdim=True)\n"
                                "def get_inputs():\n    return [torch.randn(256, 256)]\n"
                                "def get_inputs_tall():\n    return [torch.randn(320, 256)]\n"
                                "def get_inputs_last():\n    return [torch.randn(300, 200)]\n"
                                "def get_init_inputs():\n    return []\n");
  const auto judged = [&](const std::string& rows, const char* more) {
    return check({"--verify-only", more, "--task", task, file("kernel.cpp", centred_rows(rows))});
  };
  const ChildExit fixed = judged("256", "--keep=120");
  EXPECT_EQ(fixed.exit_code, 1) << fixed.out << fixed.err;
  EXPECT_THAT(fixed.out, StartsWith("get_inputs: passed\n"));
  EXPECT_THAT(fixed.out, HasSubstr("\nget_inputs_tall: nonfinite\n  set 1 ("));
  EXPECT_THAT(fixed.out, HasSubstr(": 16384 not written; 16384 of 81920 elements differ, the first "
                                   "is "));
  EXPECT_THAT(fixed.out, HasSubstr("[256, 0]; likely: the last 64 of 320 rows are not written or "
                                   "not computed\n  first wrong element: "));
  EXPECT_THAT(fixed.out, HasSubstr("[256, 0] is not written, expected "));
  EXPECT_THAT(fixed.out, HasSubstr("\nget_inputs_last: not judged, because a shape before it is "
                                   "not correct\n"));
  const ChildExit all = judged("dims[0]", "--json");
  EXPECT_EQ(all.exit_code, 0) << all.out << all.err;
  const auto shapes = nlohmann::json::parse(all.out)["declared_shapes"];
  ASSERT_EQ(shapes.size(), 3U);
  for (const auto& shape : shapes) EXPECT_EQ(shape["verdict"], "passed") << shape;
  EXPECT_EQ(shapes[2]["shape"], "get_inputs_last");
}

TEST_F(CheckProgramTest, CtrlCKeepsTheVerdictsThatThereAreAndNamesTheSizesWithout) {
  const std::string task = file("centred.py",
                                "import time\nimport torch\n"
                                "class Model(torch.nn.Module):\n"
                                "    def forward(self, x):\n"
                                "        return x - x.mean(-1, keepdim=True)\n"
                                "def get_inputs():\n    return [torch.randn(256, 256)]\n"
                                "def get_inputs_slow():\n    time.sleep(3600)\n"
                                "def get_inputs_last():\n    return [torch.randn(300, 200)]\n"
                                "def get_init_inputs():\n    return []\n");
  Child child = start({"check", "--verify-only", "--keep", "0", "--task", task,
                       file("kernel.cpp", centred_rows("dims[0]"))});
  const Deadline deadline = Deadline::after(patience);
  std::string told;
  while (told.find("#get_inputs_slow") == std::string::npos && !deadline.passed()) {
    ASSERT_FALSE(child.finished(std::chrono::milliseconds{20})) << told;
    told += child.take_output().err;
  }
  child.signal(SIGINT);
  const ChildExit end = child.wait(Deadline::after(std::chrono::seconds{60}));
  EXPECT_EQ(end.exit_code, 130) << end.err;
  EXPECT_THAT(end.out, StartsWith("get_inputs: passed\n"));
  EXPECT_THAT(end.err, HasSubstr("stopped: no verdict on get_inputs_slow, get_inputs_last\n"));
}

TEST_F(CheckProgramTest, AnExpiredTimeoutIsReportedAsTheUsers) {
  const std::string task = file("slow.py",
                                "import time\ntime.sleep(60)\nclass Model:\n    pass\n"
                                "def get_inputs():\n    return []\n"
                                "def get_init_inputs():\n    return []\n");
  const std::string plan = file("solution/plan.toml", "[[step]]\nmemset = \"y\"\n");
  const ChildExit end =
      check({"--explain", "--timeout", "2", "--task", task, fs::path(plan).parent_path().string()});
  EXPECT_EQ(end.exit_code, 3) << end.out << end.err;
  EXPECT_THAT(end.out, StartsWith("infra_deadline: the 2 s of --timeout ran out ("));
  EXPECT_THAT(end.out, AnyOf(HasSubstr("ran out (slow: compiling): "),
                             HasSubstr("ran out (starting the reference worker): "),
                             HasSubstr("ran out (slow: loading the task): ")));
  EXPECT_EQ(end.err, "") << "progress is only for terminals";
}

}  // namespace
}  // namespace warpsmith::commands
