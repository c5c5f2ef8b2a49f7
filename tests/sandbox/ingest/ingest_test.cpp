// SPDX-License-Identifier: Apache-2.0
// Ingest of whole tasks: facts, kept distributions, the mutation gate.
#include "sandbox/ingest/ingest.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/environment.hpp"
#include "sandbox/ingest/ingest_session.hpp"
#include "tests/sandbox/ingest/ingest_fixture.hpp"
#include "tests/sandbox/support/task_texts.hpp"

namespace warpsmith::sandbox::test {
namespace {

/// A worker that refuses every task for lack of memory.
constexpr const char* full_worker = R"(
from frames import Peer
peer = Peer(3)
while True:
    load = peer.receive()["op"] == "load"
    no = {"ok": False, "refused": True, "passing": True, "error": "the task needs 9 GB"}
    peer.send(no if load else {"ok": True})
)";

TEST_F(IngestTest, ALackOfMemoryIsNotRecorded) {
  const TemporaryFolder own;
  std::ofstream(own.path() / "main.py") << full_worker;
  auto options = worker_options(own.path());
  options.folder = own.path();
  auto full = ReferenceWorker::start(options, Deadline::after(seconds(60)));
  ASSERT_TRUE(full) << full.error().message;
  const Machine machine{.limits = {100, 10, 50}};
  const Task task = task_of("t", simple_code("return x"));
  const auto record =
      ingest_task({*full, machine, task, SandboxSettings{}}, Deadline::after(seconds(20)));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(record.error().message, "the task needs 9 GB");
}

TEST_F(IngestTest, MeasuresAnHonestTask) {
  auto record = ingest("return torch.softmax(x * self.weight + self.bias, -1)");
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->refusal, "");
  EXPECT_GT(record->facts.eager_ms, 0);
  EXPECT_GT(record->facts.compile_ms, 0);
  EXPECT_TRUE(holds_precompiled_header(folder->path() / "inductor/headers")) << "for later workers";
  EXPECT_EQ(record->facts.bytes_moved, 2.0 * 512 * 256 * 4 + 2 * 256 * 4);
  // The time to write the outputs at 100 GB/s, halved.
  EXPECT_DOUBLE_EQ(record->facts.floor_ms, 0.5 * 512 * 256 * 4 / 1e8);
  // All tensors at 10 GB/s take longer than the operations at 50 GFLOP/s.
  EXPECT_DOUBLE_EQ(record->facts.roofline_ms, record->facts.bytes_moved / 1e7);
  for (const DistributionFacts& facts : record->distributions) {
    SCOPED_TRACE(to_string(facts.distribution));
    EXPECT_TRUE(facts.kept);
    EXPECT_LT(facts.eager_error, 0.5);
  }
}

/// A CPU has no CUDA graphs: the record says so, and max-autotune is still timed.
TEST_F(IngestTest, TimesFurtherBaselinesAndRecordsWhyOthersAreMissing) {
  const Machine machine{.limits = {100, 10, 50}};
  const Task task = task_of("t", simple_code("return torch.relu(x @ x.T) * self.weight.sum() + "
                                             "self.bias.sum() + x.mean()"));
  FurtherBaselines further({Baseline::tuned, Baseline::graphed});
  const auto record = ingest_task(
      {.worker = *worker, .machine = machine, .task = task, .settings = {}, .further = &further},
      Deadline::after(seconds(300)));
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->refusal, "");
  ASSERT_EQ(record->further.size(), 2U);
  EXPECT_EQ(record->further[0].which, Baseline::tuned);
  EXPECT_EQ(record->further[0].reason, "");
  EXPECT_GT(record->further[0].ms, 0);
  EXPECT_GT(record->further[0].seconds, 0);
  EXPECT_EQ(record->further[1].reason, "a CPU has no graphs");
  EXPECT_EQ(record->further[1].ms, 0);
  EXPECT_EQ(further.left(), std::vector{Baseline::tuned});
}

TEST(IngestTimesTest, ABaselineMustTakeLongerThanTheClocksNoise) {
  EXPECT_EQ(objection_to_times(0.02, 0.01).value(), "");
  EXPECT_EQ(objection_to_times(0.02, 0.0002).value(),
            "a call takes less than a microsecond: too little to time");
  EXPECT_EQ(objection_to_times(-0.0002, 0.04).value(),
            "a call takes less than a microsecond: too little to time");
  const auto wrong = objection_to_times(0.02, -5.2);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::infrastructure);
  EXPECT_EQ(wrong.error().message, "a baseline took 5.2 ms less than an empty call");
}

/// A task of rows with the body `forward`, all of one half type.
std::string halves_code(const std::string& type, const std::string& forward) {
  return "import torch\nimport torch.nn as nn\n"
         "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.weight = nn.Parameter(torch.rand(256) + 0.5)\n"
         "        self.bias = nn.Parameter(torch.randn(256))\n"
         "        self.to(torch." +
         type +
         ")\n"
         "    def forward(self, x):\n"
         "        " +
         forward +
         "\n"
         "def get_inputs():\n    return [torch.randn(512, 256).to(torch." +
         type + ")]\ndef get_init_inputs():\n    return []\n";
}

constexpr const char* rms_norm =
    "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) * self.weight + self.bias";

TEST_F(IngestTest, AcceptsTasksWithHalvesAndDetectsBfloat16InFloat16) {
  const std::string norm = "return nn.functional.layer_norm(x, (256,), self.weight, self.bias)";
  const std::string softmax = "return torch.softmax(x * self.weight + self.bias, -1)";
  const std::string gelu = "return nn.functional.gelu(x + self.bias) * self.weight";
  const std::vector<std::pair<std::string, std::string>> tasks{
      {"float16", norm},  {"float16", softmax},  {"float16", gelu}, {"float16", rms_norm},
      {"bfloat16", norm}, {"bfloat16", softmax}, {"bfloat16", gelu}};
  for (const auto& [type, forward] : tasks) {
    SCOPED_TRACE(::testing::Message() << type << ": " << forward);
    const auto record = verified(halves_code(type, forward));
    ASSERT_TRUE(record) << record.error().message;
    ASSERT_EQ(record->refusal, "");
    double bf16 = 0;
    for (const DistributionFacts& facts : record->distributions) {
      const bool may_overflow =
          facts.distribution == Distribution::wide || facts.distribution == Distribution::huge;
      EXPECT_TRUE(facts.kept || (type == "float16" && may_overflow))
          << to_string(facts.distribution) << ": " << facts.honest_error;
      if (!facts.kept) continue;
      bf16 = std::max(bf16, facts.bf16_error);
    }
    EXPECT_TRUE(type == "bfloat16" || bf16 > 2) << bf16;
  }
}

constexpr const char* linear_code = R"(
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(256, 64)

    def forward(self, x):
        return self.linear(x)

def get_inputs():
    return [torch.randn(128, 256)]

def get_init_inputs():
    return []
)";

/// TF32's error in a product passes only in the lane that allows TF32.
TEST_F(IngestTest, TheLaneSetsTheBoundOfProducts) {
  for (const auto lane : {PrecisionLane::fp32_strict, PrecisionLane::tf32_allowed}) {
    const bool allowed = lane == PrecisionLane::tf32_allowed;
    const auto record = ingest_code(linear_code, lane, IngestScope::verified);
    ASSERT_TRUE(record) << record.error().message;
    ASSERT_EQ(record->refusal, "");
    double tf32 = 0, bf16 = 0;
    for (const DistributionFacts& facts : record->distributions) {
      EXPECT_TRUE(facts.kept) << to_string(facts.distribution);
      tf32 = std::max(tf32, facts.tf32_error);
      bf16 = std::max(bf16, facts.bf16_error);
    }
    EXPECT_EQ(tf32 < 1, allowed) << tf32;
    EXPECT_GT(bf16, 1.5);
  }
}

/// One term of 256 changes a norm of dense rows by half of bfloat16's rounding. Rows with a huge
/// element show it.
TEST_F(IngestTest, AcceptsATaskWhoseDenseSetsRoundOneTermAway) {
  for (const int width : {128, 192, 256, 512}) {
    std::string code = halves_code("bfloat16", rms_norm);
    for (size_t at = code.find("256"); at != std::string::npos; at = code.find("256", at + 3)) {
      code.replace(at, 3, std::to_string(width));
    }
    const auto record = ingest_code(code);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->refusal, "") << width;
  }
}

/// No set shows the last term: its share equals an honest rounding error.
TEST_F(IngestTest, NamesWhatATaskWithHalvesRoundsAwayOnAllSets) {
  const auto record =
      verified(halves_code("bfloat16",
                           "return torch.cumsum(torch.sigmoid(x), -1).mean(-1, keepdim=True) * "
                           "self.weight + self.bias"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_THAT(record->facts.insensitive, testing::HasSubstr("short_reduction"));
}

/// With float32 outputs, the timed sets by themselves must catch every mutant.
TEST_F(IngestTest, NamesWhatTheDenseSetsOfFloat32Hide) {
  const auto record = ingest_code(
      "import torch\nimport torch.nn as nn\n"
      "class Model(nn.Module):\n"
      "    def forward(self, x):\n"
      "        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3)\n"
      "def get_inputs():\n    return [torch.randn(32, 32768)]\n"
      "def get_init_inputs():\n    return []\n");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_THAT(record->facts.insensitive, testing::StartsWith("in timed calls short_reduction ("));
}

/// Inputs of wide range show TF32 products; the mean of many outputs hides them in timed outputs.
TEST_F(IngestTest, NamesProductsWhoseTimedOutputsMayBeOfLowerPrecision) {
  const auto record = ingest_code(
      "import torch\nimport torch.nn as nn\n"
      "class Model(nn.Module):\n"
      "    def __init__(self):\n"
      "        super().__init__()\n"
      "        self.l = nn.Linear(16, 16)\n"
      "    def forward(self, x):\n        return (self.l(x) ** 3).mean(0)\n"
      "def get_inputs():\n    return [torch.randn(65536, 16)]\n"
      "def get_init_inputs():\n    return []\n");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_THAT(record->facts.insensitive, testing::StartsWith("in timed calls tf32 ("));
}

/// The reference multiplies by a diagonal matrix.
TEST_F(IngestTest, AcceptsATaskWithWorkThatACleverKernelAvoids) {
  auto record = ingest_code(diagonal_product_code);
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->refusal, "");
  EXPECT_GT(record->facts.flops, 2.0 * 256 * 256 * 256 - 1);
  EXPECT_DOUBLE_EQ(record->facts.floor_ms, 0.5 * 256 * 256 * 4 / 1e8);
  EXPECT_DOUBLE_EQ(record->facts.roofline_ms, record->facts.flops / 5e7);
}

TEST_F(IngestTest, DrawsIntegerInputsAndKeepsIntegerBuffers) {
  auto record = verified(embedding_code);
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->refusal, "");
  EXPECT_TRUE(record->rules[0].drawn);
  EXPECT_FALSE(record->rules[1].drawn);
  EXPECT_TRUE(record->rules[2].drawn);
}

TEST_F(IngestTest, ABiasWithoutEffectIsNoWrongAnswer) {
  for (const char* forward : {"return x * self.weight + 0 * self.bias",
                              "return nn.functional.layer_norm((x + self.bias).T, (512,)).T"}) {
    const auto record = verified(simple_code(forward));
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->refusal, "");
    EXPECT_EQ(record->facts.insensitive.find("dropped_bias"), std::string::npos)
        << record->facts.insensitive;
  }
}

TEST_F(IngestTest, EqualTasksGetEqualAnswers) {
  const std::string code = simple_code("return ((x + self.bias - x * self.weight) ** 2).mean()");
  const auto one = ingest_code(code), other = ingest_code("# the same\n" + code);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->refusal, "");
  EXPECT_EQ(one->facts.insensitive, other->facts.insensitive);
}

TEST_F(IngestTest, AConstantOutputIsNoted) {
  const auto record = verified(simple_code("return torch.zeros_like(x), x + self.bias"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_THAT(record->facts.insensitive,
              testing::StartsWith("output 0 does not depend on the inputs"));
}

TEST_F(IngestTest, KeepsInputsNonNegativeIfTheTaskNeedsThat) {
  const std::string code = simple_code("return torch.log(x + 1) * self.weight + self.bias");
  std::string positive = code;
  positive.replace(positive.find("torch.randn(512"), 11, "torch.rand");
  auto record = ingest_code(positive);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_EQ(record->rules[0].domain, Domain::non_negative);
}

TEST_F(IngestTest, RefusesWhatFloat32CannotCompute) {
  auto record = verified(simple_code("return torch.exp(x * 1000) * self.weight + self.bias"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->refusal, testing::HasSubstr("of 5 distributions: normal (not finite)"));
}

/// The root of a cancelled sum is zero or, with the least error, not a number.
TEST_F(IngestTest, RefusesWhatRoundingDecides) {
  auto record = verified(simple_code("return torch.sqrt(x.abs() - x.abs()) + x"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->refusal, testing::HasSubstr("normal (nothing bounds "));
}

TEST_F(IngestTest, AcceptsTasksThatMaskWithInfinity) {
  auto record = ingest(
      "mask = torch.ones(256, 256).triu(1).bool(); s = (x[:256] @ x[256:].T * 0.06)"
      ".masked_fill(mask, float('-inf')); return torch.softmax(s, -1) * self.weight + self.bias");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
}

TEST_F(IngestTest, HonestOrdersKeepToKeywordArguments) {
  auto record = verified(scaled_addmm_code);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
}

TEST_F(IngestTest, ReportsTheTasksExceptionAndTheWorkerContinues) {
  auto record = ingest_code(raising_code);
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, ErrorCode::infrastructure);
  EXPECT_THAT(record.error().message,
              testing::HasSubstr("the call raised an error: ValueError: too large (task.py, line"));
  EXPECT_TRUE(worker->load(task_of("t", diagonal_product_code), Deadline::after(seconds(60))));
}

TEST(IngestRecordTest, TheKeyDependsOnTheWantedBaselinesAndTheNumerics) {
  const Task task = task_of("t", "code");
  const std::string none = record_key(task, "machine", "stack", {});
  const std::string tuned = record_key(task, "machine", "stack", {.further = {Baseline::tuned}});
  EXPECT_NE(none, tuned);
  EXPECT_NE(tuned, record_key(task, "machine", "stack",
                              {.further = {Baseline::tuned, Baseline::graphed}}));
  EXPECT_NE(none, record_key(task, "machine", "stack", {.numerics = Numerics::paper}));
}

TEST(IngestRecordTest, AFailedWriteLeavesNothingBehind) {
  IngestRecord record;
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "key.facts/taken");
  const auto taken = write_record(folder.path(), "key", record);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::io_failed);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(IngestRecordTest, TheNextWriterRemovesWhatAKilledOneLeft) {
  TemporaryFolder folder;
  const auto write = [&] {
    const rlimit most{32, 32};  // bytes of a file: the next one ends the process
    (void)::setrlimit(RLIMIT_FSIZE, &most);
    (void)write_record(folder.path(), "key", IngestRecord{});
    ::_exit(0);
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGXFSZ), "");
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  ASSERT_TRUE(write_record(folder.path(), "other", IngestRecord{}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(IngestRecordTest, IsReadBackAndADamagedOneCountsAsAbsent) {
  TemporaryFolder folder;
  IngestRecord record;
  record.facts.eager_ms = 1.5;
  record.profiles = {{1.0F, 2.0F}};
  ASSERT_TRUE(write_record(folder.path(), "key", record));
  auto back = read_record(folder.path(), "key");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->facts.eager_ms, 1.5);
  EXPECT_EQ(back->profiles, record.profiles);
  std::filesystem::resize_file(folder.path() / "key.facts", 70);
  EXPECT_FALSE(read_record(folder.path(), "key"));
}

}  // namespace
}  // namespace warpsmith::sandbox::test
