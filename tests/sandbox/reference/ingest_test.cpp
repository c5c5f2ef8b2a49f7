// SPDX-License-Identifier: Apache-2.0
// Ingest of whole tasks: facts, kept distributions, the mutation gate.
#include "sandbox/reference/ingest.hpp"
#include "runtime/environment.hpp"

#include "support.hpp"

namespace warpsmith::sandbox::test {
namespace {

class IngestTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (python_interpreter().empty()) return;
    folder = std::make_unique<TemporaryFolder>();
    auto started =
        ReferenceWorker::start(worker_options(folder->path()), Deadline::after(seconds(60)));
    ASSERT_TRUE(started) << started.error().message;
    worker = std::make_unique<ReferenceWorker>(std::move(*started));
  }
  static void TearDownTestSuite() {
    worker.reset();
    folder.reset();
  }
  void SetUp() override { REQUIRE_TORCH(); }

  static Result<IngestRecord> ingest(const std::string& forward) {
    const Machine machine{.limits = {100, 10, 50}};
    const Task task = task_of("t", simple_code(forward));
    return ingest_task({*worker, machine, task, {}}, Deadline::after(seconds(120)));
  }

  static std::unique_ptr<TemporaryFolder> folder;
  static std::unique_ptr<ReferenceWorker> worker;
};
std::unique_ptr<TemporaryFolder> IngestTest::folder;
std::unique_ptr<ReferenceWorker> IngestTest::worker;

TEST_F(IngestTest, MeasuresAnHonestTask) {
  auto record = ingest("return torch.softmax(x * self.weight + self.bias, -1)");
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->refusal, "");
  EXPECT_GT(record->facts.eager_ms, 0);
  EXPECT_GT(record->facts.compile_ms, 0);
  EXPECT_EQ(record->facts.bytes_moved, 2.0 * 512 * 256 * 4 + 2 * 256 * 4);
  for (const DistributionFacts& facts : record->distributions) {
    SCOPED_TRACE(to_string(facts.distribution));
    EXPECT_TRUE(facts.kept);
    EXPECT_LT(facts.eager_error, 0.5);
  }
}

TEST_F(IngestTest, QuarantinesATaskWhoseBiasDoesNotMatter) {
  auto record = ingest("return x * self.weight + 0 * self.bias");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "mutation gate: wrong answers would pass: dropped_bias");
}

TEST_F(IngestTest, KeepsToNonNegativeInputsWhereTheTaskNeedsThem) {
  const std::string code = simple_code("return torch.log(x + 1) * self.weight + self.bias");
  std::string positive = code;
  positive.replace(positive.find("torch.randn(512"), 11, "torch.rand");
  const Machine machine{.limits = {100, 10, 50}};
  const Task task = task_of("t", positive);
  auto record = ingest_task({*worker, machine, task, {}}, Deadline::after(seconds(120)));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_EQ(record->rules[0].domain, Domain::non_negative);
}

TEST_F(IngestTest, RefusesWhatFloat32CannotCompute) {
  auto record = ingest("return torch.exp(x * 1000) * self.weight + self.bias");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->refusal, testing::HasSubstr("not finite"));
}

TEST(IngestRecordTest, ComesBackFromDiskAndDamageCountsAsAbsent) {
  TemporaryFolder folder;
  IngestRecord record;
  record.facts.eager_ms = 1.5;
  record.profiles = {{1.0F, 2.0F}};
  ASSERT_TRUE(write_record(folder.path(), "key", record));
  auto back = read_record(folder.path(), "key");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->facts.eager_ms, 1.5);
  EXPECT_EQ(back->profiles, record.profiles);
  std::filesystem::resize_file(folder.path() + "/key.facts", 70);
  EXPECT_FALSE(read_record(folder.path(), "key"));
}

}  // namespace
}  // namespace warpsmith::sandbox::test
