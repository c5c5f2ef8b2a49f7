// SPDX-License-Identifier: Apache-2.0
// The launcher's checks of the plan that it receives.
#include "sandbox/launch/launcher_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/codec.hpp"
#include "sandbox/plan/match_kernels.hpp"
#include "tests/sandbox/launch/plans.hpp"
#include "tests/support/mutate.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::bound_to;
using ::testing::HasSubstr;
using testing::signature_of;
using testing::tensor;

constexpr const char* every_step = R"toml(
[scratch.t]
dtype = "f32"
shape = ["d0", "d2"]
[scratch.image_out]
dtype = "f32"
shape = [2, 4, 7, 7]
[[step]]
launch = "rows"
grid = ["d0", 2]
block = [32, 4]
cluster = [2]
shared = 64
args = ["x", "t", "d1", {f32 = 0.5}, {tensor_map = "t", shape = ["d2", "d0"], strides = ["4 * d2"], box = [8, 8]}]
[[step]]
gemm = "out"
a = "x"
b = "weight"
trans_b = true
m = "d0"
n = "d2"
k = "d1"
epilogue = "bias_relu"
bias = "bias"
[[step]]
conv = "image_out"
x = "image"
w = "filter"
[[step]]
memset = "t"
value = 7
[[step]]
copy = "t"
from = "out"
)toml";

TaskSignature signature() {
  return signature_of(
      {tensor("x", TensorRole::input, {96, 32}), tensor("image", TensorRole::input, {2, 3, 9, 9}),
       tensor("weight", TensorRole::parameter, {40, 32}),
       tensor("bias", TensorRole::parameter, {40}),
       tensor("filter", TensorRole::parameter, {4, 3, 3, 3}),
       tensor("out", TensorRole::output, {96, 40})},
      {96, 32, 40});
}

LauncherPlan whole() {
  LauncherPlan plan{.plan = bound_to(signature(), every_step),
                    .layout = make_layout(signature(), 3),
                    .artefact = "kernels"};
  plan.input_bytes = plan.layout.input_total();
  plan.output_bytes = plan.layout.output_total();
  return plan;
}

/// The error in a plan after `spoil`; empty if it is accepted.
template <class Spoil>
std::string complaint(Spoil spoil) {
  LauncherPlan plan = whole();
  spoil(plan);
  const auto valid = plan.validate();
  return valid ? "" : valid.error().message;
}

template <class T>
T& step(LauncherPlan& plan, size_t index) {
  return std::get<T>(plan.plan.steps[index].what);
}

TEST(LauncherPlanTest, SurvivesSerialization) {
  const LauncherPlan plan = whole();
  const ByteBuffer bytes = codec::pack(plan);
  const auto back = codec::unpack<LauncherPlan>(bytes);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(codec::pack(*back), bytes);
  EXPECT_EQ(back->plan.steps.size(), 5U);
}

TEST(LauncherPlanTest, EveryIndexHasItsBuffer) {
  EXPECT_EQ(complaint([](LauncherPlan&) {}), "");
  EXPECT_THAT(complaint([](LauncherPlan& p) { step<BoundMemset>(p, 3).out = 99; }),
              HasSubstr("plan.toml:29:1: memset of no such buffer"));
  EXPECT_NE(complaint([](LauncherPlan& p) { step<BoundCopy>(p, 4).from = 99; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { step<BoundConv>(p, 2).w = 99; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { step<BoundGemm>(p, 1).a.buffer = 99; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { step<BoundGemm>(p, 1).bias = 99; }), "");
  EXPECT_THAT(
      complaint([](LauncherPlan& p) { step<BoundLaunch>(p, 0).args[1] = BoundPointer{99}; }),
      HasSubstr("plan.toml:14:14: an argument is not a buffer"));
}

TEST(LauncherPlanTest, LibraryStepsStayWithinTheirBuffers) {
  const auto gemm = [](auto spoil) {
    return complaint([&](LauncherPlan& p) { spoil(step<BoundGemm>(p, 1)); });
  };
  EXPECT_NE(gemm([](BoundGemm& g) { g.k = 33; }), "");
  EXPECT_NE(gemm([](BoundGemm& g) { g.batch = 2; }), "");
  EXPECT_NE(gemm([](BoundGemm& g) { g.a.row = 1 << 20; }), "");
  EXPECT_NE(gemm([](BoundGemm& g) { g.a.stride = -1; }), "");
  EXPECT_NE(gemm([](BoundGemm& g) { g.out.buffer = g.a.buffer; }), "");
  EXPECT_NE(gemm([](BoundGemm& g) { g.bias.reset(); }), "");
  EXPECT_NE(gemm([](BoundGemm& g) { g.epilogue = static_cast<Epilogue>(77); }), "");
  const auto conv = [](auto spoil) {
    return complaint([&](LauncherPlan& p) { spoil(step<BoundConv>(p, 2)); });
  };
  EXPECT_NE(conv([](BoundConv& c) { c.stride = {2, 2}; }), "");
  EXPECT_NE(conv([](BoundConv& c) { c.stride = {0, 1}; }), "");
  EXPECT_NE(conv([](BoundConv& c) { c.padding.clear(); }), "");
  EXPECT_NE(conv([](BoundConv& c) { c.groups = 0; }), "");
}

TEST(LauncherPlanTest, TensorsLieWithinTheirMemories) {
  EXPECT_NE(complaint([](LauncherPlan& p) { p.layout.slots[0].offset += 1ULL << 40U; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.layout.slots[0].output = true; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.layout.slots.pop_back(); }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.layout.sets = 4; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.layout.sets = 0; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.output_bytes = 4096; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.plan.scratch_bytes = 1; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.plan.buffers[0].bytes += 4; }), "");
  EXPECT_NE(complaint([](LauncherPlan& p) { p.plan.buffers[0].shape = {-1, -1}; }), "");
}

TEST(LauncherPlanTest, SetsMayBeLargerThanFourGigabytes) {
  const auto huge = [](uint64_t stride) {
    return complaint([&](LauncherPlan& p) {
      p.layout.input_stride = stride;
      p.input_bytes = p.layout.sets * stride;
    });
  };
  EXPECT_EQ(huge(uint64_t{40} << 30U), "");
  EXPECT_THAT(huge(uint64_t{1} << 48U), HasSubstr("impossible sets or strides"));
  EXPECT_THAT(huge(uint64_t{1} << 63U), HasSubstr("impossible sets or strides"));
}

TEST(LauncherPlanTest, LaunchesStayWithinTheLimitsOfDevices) {
  const auto launch = [](auto spoil) {
    return complaint([&](LauncherPlan& p) { spoil(step<BoundLaunch>(p, 0)); });
  };
  EXPECT_THAT(launch([](BoundLaunch& l) { l.grid.y = 0; }),
              HasSubstr("plan.toml:9:10: impossible grid or block"));
  EXPECT_NE(launch([](BoundLaunch& l) { l.block = {1024, 2, 1}; }), "");
  EXPECT_NE(launch([](BoundLaunch& l) { l.cluster = Extent3{5, 1, 1}; }), "");
  EXPECT_NE(launch([](BoundLaunch& l) { l.arg_places.pop_back(); }), "");
  EXPECT_NE(launch([](BoundLaunch& l) { l.kernel = std::string("a\0b", 3); }), "");
  EXPECT_NE(launch([](BoundLaunch& l) { std::get<BoundTensorMap>(l.args[4]).box.clear(); }), "");
  EXPECT_NE(launch([](BoundLaunch& l) { std::get<BoundTensorMap>(l.args[4]).shape[1] = 97; }), "");
}

/// Binding must refuse everything that a candidate can write wrongly: a refusal here would count as
/// a failure of the machine.
TEST(LauncherPlanTest, AcceptsEveryBoundPlan) {
  RandomStream random(5, "bound");
  LauncherPlan plan = whole();
  CubinFacts cubin;
  cubin.kernels["rows"].parameters = {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {64, 128}};
  int bound = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = test::mutate(every_step, random);
    const auto read = read_plan(text);
    if (!read) continue;
    auto made = bind_variants(*read, signature(), {});
    if (!made || !match_kernels(*read, *made, cubin, {})) continue;
    ++bound;
    plan.plan = std::move(made->chosen);
    const auto valid = plan.validate();
    EXPECT_TRUE(valid) << valid.error().message << '\n' << text;
  }
  EXPECT_GT(bound, 100);
}

TEST(LauncherPlanTest, RefusesDamagedBytesUnlessTheyAreValid) {
  const ByteBuffer bytes = codec::pack(whole());
  RandomStream random(7, "launcher plan");
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string damaged = test::mutate({bytes.data(), bytes.size()}, random);
    const auto plan = codec::unpack<LauncherPlan>(damaged.data(), damaged.size());
    if (!plan) continue;
    ++accepted;
    EXPECT_TRUE(plan->validate().has_value());
  }
  RecordProperty("accepted", accepted);
  EXPECT_LT(accepted, 15'000);
}

}  // namespace
}  // namespace warpsmith::sandbox
