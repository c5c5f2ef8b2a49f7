// SPDX-License-Identifier: Apache-2.0
// Every bench, as small as possible: it runs, and its JSON has the documented figures.
#include "commands/bench/bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "commands/bench/faults.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test_support::TemporaryFolder;
using ::testing::HasSubstr;

class BenchTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("WARPSMITH_SANDBOX", WARPSMITH_TEST_SANDBOX, 1);
    ::setenv("XDG_CACHE_HOME", WARPSMITH_TEST_CACHE, 1);
    ASSERT_EQ(::sched_getaffinity(0, sizeof cores_, &cores_), 0);
  }
  /// A command that judges leaves the slot's cores; the next one needs all of them again.
  void TearDown() override { (void)::sched_setaffinity(0, sizeof cores_, &cores_); }

  /// The JSON that the command printed; expects it to succeed.
  static json run(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"warpsmith", "bench"});
    arguments.push_back("--json");
    testing::internal::CaptureStdout();
    const ExitCode code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(code, ExitCode::success);
    return json::parse(out, nullptr, /*allow_exceptions=*/false);
  }

  /// Adds one small task to the folder.
  static void add_task(const TemporaryFolder& folder) {
    fs::copy_file("configs/tasks/cpu/train/square_mean.py", folder.path() / "square_mean.py");
  }

  static bool has_python() {
    std::error_code error;
    return fs::exists(python_interpreter(), error);
  }

  cpu_set_t cores_{};
};

testing::AssertionResult has_keys(const json& object, const std::vector<const char*>& keys) {
  for (const char* key : keys) {
    if (!object.contains(key)) {
      return testing::AssertionFailure() << "no " << key << " in " << object.dump();
    }
  }
  return testing::AssertionSuccess();
}

TEST_F(BenchTest, EvaluateAccountsForItsWallTime) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const TemporaryFolder folder;
  add_task(folder);
  const std::string tasks = folder.path().string();
  const json out = run({"evaluate", "--tasks", tasks.c_str(), "--evaluations", "2"});
  ASSERT_TRUE(has_keys(out, {"evaluations", "seconds", "evaluations_per_s", "median_compile_ms",
                             "verdicts", "phases", "not_passed"}));
  ASSERT_TRUE(has_keys(out["phases"], {"compile", "start", "references", "timing", "other"}));
  const int noise = out["verdicts"].value("infra_noise", 0);
  if (noise == 2) GTEST_SKIP() << "this machine is too noisy to time anything";
  EXPECT_EQ(out["verdicts"].value("passed", 0) + noise, 2) << out["not_passed"];
  double shares = 0, each_ms = 0;
  for (const auto& [name, phase] : out["phases"].items()) {
    shares += phase["share"].get<double>();
    each_ms += phase["ms"].get<double>();
  }
  EXPECT_NEAR(shares, 1.0, 1e-9);
  EXPECT_LE((2 - noise) * each_ms, 1000 * out["seconds"].get<double>());
}

TEST_F(BenchTest, EvaluateJudgesRepeatedSourcesToo) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const TemporaryFolder folder;
  add_task(folder);
  const std::string tasks = folder.path().string();
  const json out = run({"evaluate", "--tasks", tasks.c_str(), "--evaluations", "3", "--styles",
                        "rows", "--repeat-sources"});
  ASSERT_TRUE(has_keys(out, {"repeat_sources", "verdicts"}));
  EXPECT_EQ(out["repeat_sources"], true);
  EXPECT_EQ(out["verdicts"].value("passed", 0) + out["verdicts"].value("infra_noise", 0), 3)
      << out["not_passed"];
}

TEST_F(BenchTest, PairsSayHowManyOverlap) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const TemporaryFolder folder;
  add_task(folder);
  const std::string task = (folder.path() / "square_mean.py").string();
  const json out = run({"pairs", "--pairs", "1", "--task", task.c_str()});
  ASSERT_TRUE(has_keys(out, {"pairs", "overlapping", "overlapping_bar", "each"}));
  EXPECT_EQ(out["each"].size(), 1U);
}

TEST_F(BenchTest, RepeatJudgesOneKernelSeveralTimes) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "reference.py")
      << "import torch\n"
         "class Model(torch.nn.Module):\n"
         "    def forward(self, x):\n"
         "        return x * 2 + 1\n"
         "def get_inputs():\n    return [torch.randn(256, 512)]\n"
         "def get_init_inputs():\n    return []\n";
  fs::create_directory(folder.path() / "solution");
  std::ofstream(folder.path() / "solution" / "kernel.cpp")
      << "extern \"C\" void solve(const void* const* in, void* const* out, const long* d) {\n"
         "  const float* x = (const float*)in[0];\n"
         "  float* y = (float*)out[0];\n"
         "  for (long i = 0; i < d[0] * d[1]; ++i) y[i] = x[i] * 2.0f + 1.0f;\n"
         "}\n";
  const std::string place = folder.path().string();
  const json out =
      run({"repeat", place.c_str(), "--times", "2", "--expect", "500.5", "--within", "500"});
  ASSERT_TRUE(has_keys(out, {"places"}));
  ASSERT_EQ(out["places"].size(), 1U);
  const json& one = out["places"][0];
  ASSERT_TRUE(has_keys(one, {"median_speedup_eager", "unexplained", "verdicts"}));
  EXPECT_EQ(one["median_speedup_eager_bar"], json::parse("[0.5, 1000.5]"));
  const bool is_met = one["median_speedup_eager"] >= 0.5;
  EXPECT_EQ(one["meets_bar"], is_met);
  ASSERT_EQ(one["verdicts"].size(), 2U);
  EXPECT_GE(one["verdicts"][0]["milestone"].get<int>(), 1);
}

TEST_F(BenchTest, TasksAreAcceptedOrRefusedWithTheReason) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const TemporaryFolder folder;
  add_task(folder);
  std::ofstream(folder.path() / "noise.py")
      << "import torch\n"
         "class Model(torch.nn.Module):\n"
         "    def forward(self, x):\n"
         "        return x + torch.rand_like(x)\n"
         "def get_inputs():\n    return [torch.randn(64, 64)]\n"
         "def get_init_inputs():\n    return []\n";
  std::ofstream(folder.path() / "notes.py") << "x = 1\n";
  const std::string tasks = folder.path().string();
  const char* slots = CPU_COUNT(&cores_) < 2 ? "1" : "2";
  const json out = run({"tasks", tasks.c_str(), "--slots", slots});
  ASSERT_TRUE(has_keys(out, {"tasks", "taken_in", "refused", "wrong_passed"}));
  EXPECT_EQ(out["taken_in"], 1);
  EXPECT_EQ(out["refused"], 2);
  // In the order of the files, whichever slot is done first; files without a task come first.
  EXPECT_NE(out["tasks"][0]["refusal"].get<std::string>().find("class Model"), std::string::npos);
  EXPECT_NE(out["tasks"][1]["refusal"].get<std::string>().find("random"), std::string::npos)
      << out["tasks"][1];
  EXPECT_GT(out["tasks"][2]["eager_ms"].get<double>(), 0);
}

TEST_F(BenchTest, TasksOfPublicReportsAreAcceptedOrRefusedByName) {
  const std::filesystem::path cases = "../shared/cases/tasks";
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << cases << " is not here";
  const TemporaryFolder folder;  // the cases folder may gain tasks of later reports
  const std::map<std::string, std::string> refusals{
      {"module_global", "forward reads SCALE"},
      {"yields_shapes", "get_inputs yields several cases"}};
  const std::set<std::string> insensitive{"long_dot", "out_half", "out_int8"};
  for (const char* name : {"batchnorm_train",
                           "cat_list",
                           "conv_instance_norm",
                           "crlf",
                           "dict_input",
                           "helper_class",
                           "int64_sum",
                           "jit_script",
                           "list_attr",
                           "list_of_params",
                           "linear_batch_norm_softmax",
                           "long_dot",
                           "masked_mean",
                           "module_fn",
                           "module_global",
                           "out_half",
                           "out_int8",
                           "positions",
                           "random_scalar",
                           "sign",
                           "tokens_per_expert",
                           "topk",
                           "tuple_outputs_same",
                           "unused_parameter",
                           "weight_norm",
                           "yields_shapes"}) {
    const std::string file = std::string(name) + ".py";
    ASSERT_TRUE(std::filesystem::copy_file(cases / file, folder.path() / file));
  }
  const std::string tasks = folder.path().string();
  const json out = run({"tasks", tasks.c_str()});
  ASSERT_TRUE(has_keys(out, {"tasks", "taken_in", "refused"}));
  EXPECT_EQ(out["refused"], refusals.size());
  for (const json& task : out["tasks"]) {
    const auto refusal = refusals.find(task["task"]);
    if (refusal == refusals.end()) {
      EXPECT_TRUE(task["refusal"].is_null()) << task;
      EXPECT_EQ(!task["insensitive"].is_null(), insensitive.contains(task["task"])) << task;
    } else {
      EXPECT_THAT(task["refusal"].get<std::string>(), HasSubstr(refusal->second));
    }
  }
}

TEST_F(BenchTest, FaultsChangeNoVerdictAndLeaveNothing) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  if (CPU_COUNT(&cores_) < 2) GTEST_SKIP() << "two slots need two cores";
  const TemporaryFolder folder;
  add_task(folder);
  const std::string tasks = folder.path().string();
  const json out = run({"faults", "--tasks", tasks.c_str(), "--evaluations", "2", "--faults", "4",
                        "--slots", "2", "--seed", "5"});
  ASSERT_TRUE(has_keys(out, {"honest", "honest_equal", "faults", "unexpected", "kinds", "zombies",
                             "processes_left", "groups_left", "files_left", "meets_bars"}));
  EXPECT_EQ(out["honest"], out["honest_equal"]) << out["differences"];
  EXPECT_GE(out["faults"].get<int64_t>(), 4);
  EXPECT_EQ(out["meets_bars"], true) << out.dump(1);
}

TEST_F(BenchTest, DeviceFaultsCompileUnlessThatIsTheFault) {
  const auto toolchain =
      sandbox::find_cuda_toolchain(sandbox::built_with_toolkit(), python_interpreter().string());
  if (!toolchain) GTEST_SKIP() << toolchain.error().message;
  const TemporaryFolder folder;
  auto compiler = sandbox::CudaCompiler::open(
      {{.program = WARPSMITH_TEST_SANDBOX, .cache_dir = folder.path()}, *toolchain},
      Deadline::after(std::chrono::minutes{1}));
  ASSERT_TRUE(compiler) << compiler.error().message;
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {256, 1024}, {"d0", "d1"}},
                       {"y", TensorRole::output, Dtype::f32, {256, 1024}, {"d0", "d1"}}};
  signature.dim_names = {"d0", "d1"};
  signature.dims = {256, 1024};
  const auto refusal = [&](const FileSet& files) -> std::optional<VerdictClass> {
    const auto plan = sandbox::device_plan(files);
    if (!plan) return plan.error().failure;
    auto compiled = compiler->compile(files, Deadline::after(std::chrono::minutes{1}));
    if (!compiled) throw std::runtime_error(compiled.error().message);
    if (compiled->failure) return compiled->failure;
    const auto candidate = sandbox::device_candidate(*plan, std::move(*compiled), signature,
                                                     PrecisionLane::fp32_strict);
    return candidate ? std::nullopt : candidate.error().failure;
  };
  EXPECT_EQ(refusal(honest_fault_files("device")), std::nullopt);
  for (const FaultKind& kind : fault_kinds("device")) {
    if (kind.kills) continue;
    const auto refused = refusal(kind.files);
    // A fault that only the device can show must compile.
    const bool at_compile_time = kind.expected.contains(VerdictClass::compile_error) ||
                                 kind.expected.contains(VerdictClass::banned_construct);
    EXPECT_TRUE(refused ? kind.expected.contains(*refused)
                        : !at_compile_time || kind.expected.contains(VerdictClass::launch_error))
        << kind.name << ": " << (refused ? to_string(*refused) : "compiles");
  }
}

TEST_F(BenchTest, TimingReportsTheMissingDriver) {
  if (cuda::Driver::load()) GTEST_SKIP() << "this machine has a GPU's driver";
  testing::internal::CaptureStderr();
  const std::vector<const char*> arguments{"warpsmith", "bench", "timing"};
  const ExitCode code = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_NE(code, ExitCode::success);
  EXPECT_TRUE(err.starts_with("warpsmith: contract device: ")) << err;
}

TEST_F(BenchTest, CommitMeasuresEachProcess) {
  const json out = run({"commit", "--processes", "2"});
  ASSERT_TRUE(has_keys(out, {"worst_raw_overhead_us", "worst_noop_us", "worst_loop_us", "each"}));
  EXPECT_EQ(out["each"].size(), 2U);
  // A loop of 1,000 us cannot take less, except for the granularity of the clock.
  EXPECT_GT(out["worst_loop_us"].get<double>(), 900);
}

TEST_F(BenchTest, DecodeMeasuresBothSides) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const json out = run({"decode", "--batch", "2", "--prompt-tokens", "8", "--new-tokens", "8"});
  ASSERT_TRUE(has_keys(out, {"model", "batches"}));
  ASSERT_EQ(out["batches"].size(), 1U);
  const json& batch = out["batches"][0];
  ASSERT_TRUE(has_keys(batch, {"decode_tokens_per_s", "peer_decode_tokens_per_s"}));
  EXPECT_NEAR(
      batch["decode_ratio"].get<double>(),
      batch["decode_tokens_per_s"].get<double>() / batch["peer_decode_tokens_per_s"].get<double>(),
      1e-9);
}

TEST_F(BenchTest, ParityComparesEngineLearnerAndTransformers) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const json out = run({"parity", "--tokens", "256"});
  ASSERT_TRUE(has_keys(out, {"model", "precisions"}));
  ASSERT_EQ(out["precisions"].size(), 1U);
  const json& fp32 = out["precisions"][0];
  EXPECT_EQ(fp32["tokens"], 256);
  EXPECT_LT(fp32["learner"]["max"].get<double>(), 1e-3);
  EXPECT_LT(fp32["transformers"]["mean"].get<double>(), 1e-4);
  EXPECT_EQ(fp32["greedy_same"], fp32["greedy"]);
}

TEST_F(BenchTest, ParityContinuesPromptsOfDemonstrations) {
  if (!has_python()) GTEST_SKIP() << "no Python environment";
  const TemporaryFolder folder;
  const std::string file = folder.path() / "talks.jsonl";
  std::ofstream(file) << R"({"task_id": "a", "messages": [{"role": "user", "content": "relu"}, )"
                      << R"({"role": "assistant", "content": "yes", "train": true}]})" << '\n';
  const json out = run({"parity", "--tokens", "256", "--demonstrations", file.c_str()});
  ASSERT_TRUE(has_keys(out, {"model", "precisions"}));
  const json& fp32 = out["precisions"][0];
  EXPECT_GT(fp32["tokens"], 0);
  EXPECT_LT(fp32["transformers"]["mean"].get<double>(), 1e-4);
  EXPECT_EQ(fp32["greedy_same"], fp32["greedy"]);
}

TEST_F(BenchTest, LearnCountsTrainedTokens) {
  const json out = run({"learn", "--steps", "1", "--trajectories", "2", "--action-tokens", "8"});
  ASSERT_TRUE(has_keys(out, {"parameters", "trained_tokens_per_s", "passes_tokens_per_s"}));
  EXPECT_GT(out["trained_tokens_per_s"].get<double>(), 0);
}

TEST(BenchTableTest, FiguresAreAlignedRight) {
  EXPECT_EQ(table_of({{"a", "1", {}}, {"long", "22", ">= 3"}}),
            "  a      1\n  long  22  bar >= 3\n");
}

}  // namespace
}  // namespace warpsmith::commands
