// SPDX-License-Identifier: Apache-2.0
// Bytes that one build writes and another one reads: packed records, and files and keys made of
// them. tests/golden/records/ holds the expected ones. If a change of the format is intended,
// WARPSMITH_WRITE_GOLDEN=1 writes them again.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "runtime/bytes.hpp"
#include "runtime/codec.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/run/segment_file.hpp"
#include "runtime/submission.hpp"
#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/launch/launcher_plan.hpp"
#include "sandbox/protocol/wire.hpp"
#include "synthesis/composition.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

using test_support::expect_golden;
using test_support::file_content;

const fs::path folder_of_records = "tests/golden/records";

constexpr size_t bytes_per_line = 32;

/// Two digits per byte, 32 bytes a line.
std::string hex(const ByteBuffer& bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
    if (i % bytes_per_line == bytes_per_line - 1 || i + 1 == bytes.size()) text += '\n';
  }
  return text;
}

ByteBuffer bytes_of_hex(const std::string& text) {
  ByteBuffer bytes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (size_t i = 0; i + 1 < line.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoul(line.substr(i, 2), nullptr, 16)));
    }
  }
  return bytes;
}

// --- Records with a different value in each field.

Task task() {
  return {.id = "row_sums",
          .source = "tasks/row_sums.py",
          .code = "import torch\n",
          .content_hash = "0a1b",
          .device = DeviceClass::cuda,
          .lane = PrecisionLane::tf32_allowed,
          .ops = {"relu", "sum"}};
}

TaskFacts facts() {
  TaskFacts facts;
  facts.signature.tensors = {{.name = "x",
                              .role = TensorRole::input,
                              .dtype = Dtype::f16,
                              .shape = {512, 768},
                              .symbols = {"d0", "d1"}},
                             {.name = "out",
                              .role = TensorRole::output,
                              .dtype = Dtype::boolean,
                              .shape = {},
                              .symbols = {}}};
  facts.signature.constants = {{.name = "scale", .value = "0.5"}};
  facts.signature.dim_names = {"d0", "d1"};
  facts.signature.dims = {512, 768};
  facts.eager_ms = 1.5;
  facts.compile_ms = 1.25;
  facts.bytes_moved = 1e6;
  facts.flops = 2e6;
  facts.floor_ms = 0.125;
  facts.roofline_ms = 0.25;
  return facts;
}

ShapeResult shape() {
  ShapeResult shape;
  shape.shape = "512x768";
  shape.candidate_ms = 0.5;
  shape.eager_ms = 1.5;
  shape.compile_ms = 1.25;
  shape.speedup_eager = 3;
  shape.speedup_compile = 2.5;
  shape.speedup_eager_interval = Interval{2.75, 3.25};
  shape.speedup_compile_interval = Interval{2.25, 2.625};
  shape.worst_error = 0.375;
  shape.gbytes_per_s = 12;
  shape.gflops_per_s = 24;
  shape.roofline_ms = 0.0625;
  shape.further = {
      {.name = "max-autotune", .ms = 1.125, .speedup = 2.125, .speedup_interval = Interval{2, 2.5}},
      {.name = "cuda-graph", .reason = "no GPU"}};
  shape.hidden = true;
  return shape;
}

Verdict verdict() {
  Verdict verdict;
  verdict.outcome = VerdictClass::too_fast;
  verdict.contract = "device";
  verdict.trust = TrustClass::paper;
  verdict.submission_hash = "c0ffee";
  verdict.shapes = {shape(), ShapeResult{}};
  verdict.feedback = "below the floor";
  verdict.jail = {{"seccomp", "filter"}, {"cgroup", "none"}};
  verdict.phase_ms = {{"compile", 125}, {"timing", 250}};
  verdict.device_held_ms = 62.5;
  verdict.evidence = "{\"seed\":1}";
  verdict.strict = StrictResult{.passed = true, .why = "within the bound"};
  verdict.weakness = "zeros, ones";
  return verdict;
}

Segment segment() {
  return {.trajectory = 7,
          .number = 2,
          .tokens = {11, 12, -13},
          .action_mask = {0, 1, 1},
          .log_probs = {0, -0.5F, -1.25F},
          .versions = {{}, {.incarnation = 3, .step = 4}, {.incarnation = 3, .step = 5}}};
}

Outcome outcome() {
  return {.reward = 2,
          .verdict = VerdictClass::oob_write,
          .source_hash = "beef",
          .turns = 5,
          .tool_calls = 6,
          .truncated = true,
          .speedup_eager = 1.75,
          .speedup_compile = 1.375};
}

Submission submission() {
  return {
      .task_id = "row_sums", .contract = "host", .files = {{"a.cpp", "int x;"}, {"b/c.cu", "\n"}}};
}

sandbox::IngestRecord ingest_record() {
  return {
      .facts = facts(),
      .rules = {{.parameter = true,
                 .drawn = true,
                 .domain = sandbox::Domain::unit,
                 .mean = 0.5,
                 .deviation = 0.25,
                 .non_negative = true},
                {}},
      .distributions = {{.distribution = sandbox::Distribution::sparse,
                         .kept = true,
                         .eager_error = 0.125,
                         .honest_error = 0.25,
                         .bf16_error = 12,
                         .tf32_error = 3}},
      .profiles = {{1, 2.5F}, {}},
      .further = {{.which = sandbox::Baseline::graphed, .seconds = 4, .ms = 0.5, .reason = "late"}},
      .worker_bytes = 1ULL << 33U,
      .refusal = "random",
      .strict_refusal = "not strict",
      .weakness = "zeros"};
}

sandbox::ShellRequest shell_request() {
  return {
      .workspace = "/w", .command = "ls", .timeout_ms = 5, .output_bytes = 6, .memory_bytes = 7};
}

sandbox::ShellResult shell_result() {
  return {.exit_code = 2,
          .signal = 9,
          .timed_out = true,
          .out_of_memory = false,
          .output_cut = true,
          .out = "o",
          .err = "e"};
}

sandbox::BufferLayout layout() {
  return {.slots = {{.offset = 4096, .bytes = 64}, {.offset = 8192, .bytes = 128, .output = true}},
          .input_stride = 16384,
          .output_stride = 32768,
          .sets = 3};
}

sandbox::BoundLaunch bound_launch() {
  using namespace sandbox;
  return {.kernel = "row_sums",
          .kernel_place = {.line = 3, .column = 10},
          .grid = {.x = 2, .y = 3, .z = 4},
          .block = {.x = 256, .y = 1, .z = 1},
          .cluster = Extent3{.x = 2, .y = 1, .z = 1},
          .shared = 1024,
          .cooperative = true,
          .args = {BoundPointer{.buffer = 1},
                   BoundScalar{.type = ScalarType::f64, .whole = -5, .real = 0.5},
                   BoundTensorMap{.buffer = 2,
                                  .shape = {768, 512},
                                  .strides = {3072},
                                  .box = {64, 8},
                                  .swizzle = Swizzle::b128}},
          .arg_places = {{.line = 4, .column = 9}}};
}

sandbox::BoundGemm bound_gemm() {
  using namespace sandbox;
  const auto matrix = [](uint32_t buffer) {
    return BoundMatrix{.buffer = buffer,
                       .rows = 4,
                       .columns = 5,
                       .row = 6,
                       .stride = 7,
                       .transposed = buffer == 2};
  };
  return {.out = matrix(1),
          .a = matrix(2),
          .b = matrix(3),
          .bias = 4,
          .m = 8,
          .n = 9,
          .k = 10,
          .batch = 11,
          .compute = ComputeType::tf32,
          .epilogue = Epilogue::bias_gelu,
          .alpha = 1.5,
          .beta = 0.5};
}

sandbox::LauncherPlan launcher_plan() {
  using namespace sandbox;
  LauncherPlan plan;
  plan.plan.buffers = {{.name = "x",
                        .dtype = Dtype::bf16,
                        .shape = {4, 5},
                        .bytes = 40,
                        .role = TensorRole::output,
                        .scratch = true}};
  plan.plan.scratch_bytes = 256;
  plan.plan.variant = 1;
  const BoundConv conv{.out = 1,
                       .x = 2,
                       .w = 3,
                       .stride = {1, 2},
                       .padding = {3},
                       .dilation = {4},
                       .groups = 5,
                       .compute = ComputeType::tf32};
  plan.plan.steps = {{.what = bound_launch(), .place = {.line = 1, .column = 2}},
                     {.what = bound_gemm(), .place = {.line = 5, .column = 6}},
                     {.what = conv, .place = {.line = 7, .column = 8}},
                     {.what = BoundMemset{.out = 1, .value = 255}, .place = {}},
                     {.what = BoundCopy{.out = 2, .from = 3}, .place = {}}};
  plan.layout = layout();
  plan.input_bytes = 1;
  plan.output_bytes = 2;
  plan.artefact = std::string(
      "\x7f"
      "ELF\0",
      5);
  return plan;
}

cuda::KernelRecord kernel_record() {
  cuda::KernelRecord record;
  record.kind = cuda::RecordKind::fill;
  record.name = "k";
  record.start_ns = 1;
  record.duration_ns = 2;
  record.grid = {3, 4, 5};
  record.block = {6, 7, 8};
  record.registers = 9;
  record.static_shared = 10;
  record.dynamic_shared = 11;
  record.local_bytes = 12;
  record.bytes = 13;
  record.in_graph = true;
  return record;
}

struct PackedRecord {
  std::string name;
  ByteBuffer bytes;
  std::function<Result<ByteBuffer>(const ByteBuffer&)> again;  // unpacks and packs
};

template <class T>
PackedRecord packed(std::string name, const T& record) {
  // Some records check values that are impossible here, so that only their bytes are compared.
  return {std::move(name), codec::pack(record), [](const ByteBuffer& bytes) -> Result<ByteBuffer> {
            T read{};
            codec::Reader reader{bytes.data(), bytes.size()};
            reader(read);
            if (reader.left() != 0) return fail(ErrorCode::parse_failed, "bytes are left over");
            return codec::pack(read);
          }};
}

std::vector<PackedRecord> runtime_records() {
  return {
      packed("task", task()),
      packed("task_facts", facts()),
      packed("segment", segment()),
      packed("outcome", outcome()),
      packed("trajectory",
             Trajectory{.id = 7, .task_id = "t", .segments = {segment()}, .outcome = outcome()}),
      packed("verdict", verdict()),
      packed("verdict_default", Verdict{}),
      packed("judgement_verdict", Judgement{verdict()}),
      packed("judgement_failure",
             Judgement{InfraFailure{.kind = InfraKind::disk, .detail = "full"}}),
      packed("submission", submission()),
      packed("best_submission", BestSubmission{.hash = "beef", .rank = 2.5}),
      packed("parsed_call",
             ParsedCall{.name = "write", .arguments = {{"path", "a"}, {"text", ""}}}),
      packed("kernel_record", kernel_record()),
      packed("kernel_counters", cuda::KernelCounters{.dram_read_bytes = 1,
                                                     .dram_written_bytes = 2,
                                                     .flops = 3,
                                                     .tensor_flops = 4,
                                                     .warps_active = 0.5})};
}

std::vector<PackedRecord> sandbox_records() {
  using namespace sandbox;
  return {
      packed("ingest_record", ingest_record()),
      packed("evaluate_request",
             EvaluateRequest{.task = task(), .submission = submission(), .want = Request::explain}),
      packed("shell_request", shell_request()),
      packed("shell_result", shell_result()),
      packed("job_request",
             JobRequest{
                 .action = JobAction::resume, .id = 2, .most_jobs = 3, .shell = shell_request()}),
      packed("job_report", JobReport{.state = JobState::over, .result = shell_result()}),
      packed("health_report", HealthReport{.jail = {{"seccomp", "on"}}, .facts = {{"pid", "1"}}}),
      packed("wire_request",
             WireRequest{.kind = RequestKind::job, .number = 2, .left_ms = 3, .body = "body"}),
      packed("wire_answer", WireAnswer{.number = 2,
                                       .progress = true,
                                       .failed = true,
                                       .code = ErrorCode::peer_lost,
                                       .body = "why"}),
      packed("runner_plan", RunnerPlan{.layout = layout(), .dims = {512, 768}}),
      packed("launcher_plan", launcher_plan())};
}

std::vector<PackedRecord> message_records() {
  using namespace actors;
  const PolicyVersion version{.incarnation = 3, .step = 4};
  const PreparedTask prepared{.task = task(), .facts = facts()};
  return {
      packed("task_outcome", TaskOutcome{.task_id = "t", .outcome = outcome()}),
      packed(
          "generate_call",
          GenerateCall{
              .session = 1, .turn = 2, .whole = true, .new_tokens = {3}, .credit = 4, .step = 5}),
      packed("token_chunk", TokenChunk{.session = 1,
                                       .turn = 2,
                                       .tokens = {3},
                                       .log_probs = {-0.5F},
                                       .versions = {version},
                                       .finish = FinishReason::context}),
      packed("tool_call", ToolCall{.trajectory = 1,
                                   .turn = 2,
                                   .name = "n",
                                   .arguments = {{"k", "v"}},
                                   .task = prepared,
                                   .repeat = true}),
      packed("tool_answer", ToolAnswer{.trajectory = 1,
                                       .turn = 2,
                                       .text = "t",
                                       .needs_sandbox = true,
                                       .submission = submission(),
                                       .request = Request::profile}),
      packed("admission", Admission{.granted = true,
                                    .trajectory = 1,
                                    .task = task(),
                                    .segments = {segment()},
                                    .resumed = true,
                                    .version = version,
                                    .best = {.hash = "h", .rank = 2}}),
      packed("closed", Closed{.trajectory = 1, .outcome = outcome()}),
      packed("dropped", Dropped{.trajectory = 1, .reason = DropReason::no_answer, .detail = "d"}),
      packed("step_done",
             StepDone{.version = version, .trained = {1, 2}, .metrics = {{"loss", 0.5}}}),
      packed("ledger_counts", LedgerCounts{.admitted = 1,
                                           .trained = 2,
                                           .dropped = {{"stale", 3}},
                                           .in_flight = 4,
                                           .open = 5,
                                           .closed = 6,
                                           .exhausted = true}),
      packed("weights_ready", WeightsReady{.version = version}),
      packed("weight_shard", WeightShard{.version = version,
                                         .index = 1,
                                         .count = 2,
                                         .name = "w",
                                         .shape = {3, 4},
                                         .offset = 5,
                                         .bytes = {6, 7},
                                         .checksum = 8}),
      packed("actor_status", ActorStatus{.name = "n",
                                         .phase = "p",
                                         .handled = 1,
                                         .busy_s = 2,
                                         .alive_s = 3,
                                         .queued = 4,
                                         .gauges = {{"g", 5}}}),
      packed("failure_report",
             FailureReport{.actor = "a", .code = ErrorCode::stale, .message = "m"}),
      packed("observation",
             Observation{.source = "s", .values = {{"v", 1}}, .texts = {{"t", "u"}}}),
      packed("event", Event{.kind = "k", .actor = "a", .text = "t"}),
      packed("composition", synthesis::Composition{.index = 1,
                                                   .reason = "r",
                                                   .detail = "d",
                                                   .id = "i",
                                                   .code = "c",
                                                   .hash = "h",
                                                   .ops = {"o"},
                                                   .eager_ms = 2,
                                                   .steps = {{"load", 3}}})};
}

std::vector<PackedRecord> all_records() {
  std::vector<PackedRecord> all = runtime_records();
  for (auto more : {sandbox_records(), message_records()}) {
    for (PackedRecord& one : more) all.push_back(std::move(one));
  }
  return all;
}

fs::path record_file(const std::string& name) {
  return folder_of_records / (name + ".hex");
}

TEST(GoldenRecordsTest, PackedRecordsKeepTheirBytes) {
  for (const PackedRecord& one : all_records())
    expect_golden(record_file(one.name), hex(one.bytes));
}

TEST(GoldenRecordsTest, EarlierBytesAreReadWhole) {
  for (const PackedRecord& one : all_records()) {
    const ByteBuffer earlier = bytes_of_hex(file_content(record_file(one.name)));
    const auto again = one.again(earlier);
    ASSERT_TRUE(again) << one.name << ": " << again.error().message;
    EXPECT_EQ(hex(*again), hex(earlier)) << one.name;
  }
}

TEST(GoldenRecordsTest, EveryGoldenFileBelongsToARecord) {
  std::set<std::string> known{"segment_file", "ingest_file"};
  for (const PackedRecord& one : all_records()) known.insert(one.name);
  for (const auto& entry : fs::directory_iterator{folder_of_records}) {
    if (entry.path().extension() != ".hex") continue;
    EXPECT_TRUE(known.contains(entry.path().stem())) << entry.path() << " belongs to no record";
  }
}

// --- Files and keys made of records.

ByteBuffer file_bytes(const fs::path& file) {
  const std::string text = file_content(file);
  return {text.begin(), text.end()};
}

TEST(GoldenRecordsTest, ASegmentFileKeepsItsBytes) {
  const test_support::TemporaryFolder folder;
  auto log = SegmentLog::open(folder.path()).value();
  for (const std::string_view payload : {"first", "", "the third payload"}) {
    ASSERT_TRUE(log.append(payload));
  }
  ASSERT_TRUE(log.sync());
  const fs::path file = segment_file_path(folder.path(), 1);
  EXPECT_EQ(file.filename(), "000001.seg");
  expect_golden(record_file("segment_file"), hex(file_bytes(file)));
}

TEST(GoldenRecordsTest, AFileOfIngestFactsKeepsItsBytes) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(sandbox::write_record(folder.path(), "key", ingest_record()));
  expect_golden(record_file("ingest_file"), hex(file_bytes(folder.path() / "key.facts")));
  const auto read = sandbox::read_record(folder.path(), "key");
  ASSERT_TRUE(read);
  EXPECT_EQ(hex(codec::pack(*read)), hex(codec::pack(ingest_record())));
}

TEST(GoldenRecordsTest, HashesAndKeysKeepTheirValues) {
  using namespace sandbox;
  const auto key = [](const IngestOptions& options) {
    return record_key(task(), "machine", "stack", options);
  };
  std::ostringstream text;
  text << "checksum64(\"abc\") " << checksum64("abc") << '\n'
       << "sha256_hex(\"abc\") " << sha256_hex("abc") << '\n'
       << "source_hash " << source_hash(submission().files) << '\n'
       << "wire_version " << wire_version << '\n'
       << "ingest key " << key({}) << '\n'
       << "ingest key, verified " << key({.scope = IngestScope::verified}) << '\n'
       << "ingest key, paper and max-autotune "
       << key({.numerics = Numerics::paper, .further = {Baseline::tuned}}) << '\n';
  expect_golden(folder_of_records / "hashes_and_keys.txt", text.str());
}

}  // namespace
}  // namespace warpsmith
