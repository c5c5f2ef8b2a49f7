// SPDX-License-Identifier: Apache-2.0
// Wire records: round trips, and mutated bytes, which are rejected or stay within bounds.
#include "sandbox/protocol/wire.hpp"

#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::sandbox {
namespace {

EvaluateRequest sample_request() {
  EvaluateRequest request;
  request.task.id = "softmax";
  request.task.code = std::string(300, 'p');
  request.submission.files = {{"kernel.cpp", "int x;"}};
  request.want = Request::profile;
  return request;
}

TEST(WireTest, RecordsSurviveTheRoundTrip) {
  const auto request = unpack_body<EvaluateRequest>(pack_body(sample_request()));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->task.code.size(), 300U);
  EXPECT_EQ(request->submission.files.at("kernel.cpp"), "int x;");
  EXPECT_EQ(request->want, Request::profile);
  const Judgement infra = InfraFailure{InfraKind::noise, "n"};
  const auto judgement = unpack_body<Judgement>(pack_body(infra));
  ASSERT_TRUE(judgement);
  EXPECT_EQ(std::get<InfraFailure>(*judgement).detail, "n");
}

TEST(WireTest, OptionsAndVerdictsCarryFurtherBaselines) {
  SandboxOptions options;
  options.baselines = {"max-autotune", "cuda-graph"};
  const auto read = unpack_body<SandboxOptions>(pack_body(options));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->baselines, options.baselines);
  Verdict verdict;
  verdict.shapes.resize(1);
  verdict.shapes[0].further = {
      {.name = "max-autotune", .ms = 0.5, .speedup = 2, .speedup_interval = Interval{1.9, 2.1}},
      {.name = "cuda-graph", .reason = "it cannot be captured"}};
  const auto judgement = unpack_body<Judgement>(pack_body(Judgement{verdict}));
  ASSERT_TRUE(judgement);
  const auto& further = std::get<Verdict>(*judgement).shapes.at(0).further;
  ASSERT_EQ(further.size(), 2U);
  EXPECT_EQ(further[0].speedup_interval->high, 2.1);
  EXPECT_EQ(further[1].reason, "it cannot be captured");
  EXPECT_FALSE(further[1].ms);
}

TEST(WireTest, OptionsCarryNumericsAndCores) {
  SandboxOptions options;
  options.settings.numerics = Numerics::paper;
  options.settings.require_cgroups = true;
  options.cores = {1, 5};
  const auto read = unpack_body<SandboxOptions>(pack_body(options));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->settings.numerics, Numerics::paper);
  EXPECT_TRUE(read->settings.require_cgroups);
  EXPECT_EQ(read->cores, options.cores);
}

TEST(WireTest, RefusesForeignVersionsAndKinds) {
  WireRequest request;
  request.version = 9;
  EXPECT_FALSE(unpack_body<WireRequest>(pack_body(request)));
  request.version = wire_version;
  request.kind = static_cast<RequestKind>(77);
  EXPECT_FALSE(unpack_body<WireRequest>(pack_body(request)));
}

TEST(WireTest, MutatedBytesNeverCrashTheReader) {
  RandomStream random{7, "wire"};
  WireRequest request;
  request.kind = RequestKind::evaluate;
  request.body = pack_body(sample_request());
  const std::string good = pack_body(request);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random.below(bytes.size())] = static_cast<char>(random());
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size()));
    const auto read = unpack_body<WireRequest>(bytes);
    if (read) accepted += unpack_body<EvaluateRequest>(read->body) ? 1 : 0;
  }
  EXPECT_LT(accepted, 2000);
}

}  // namespace
}  // namespace warpsmith::sandbox
