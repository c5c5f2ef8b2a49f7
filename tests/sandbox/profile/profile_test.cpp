// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sandbox/profile/profile.hpp"
#include "tests/sandbox/profile/kernels.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::kernel;

TEST(OwnKernelsTest, RecognisesLibrariesByTheirNames) {
  for (const char* name :
       {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>()",
        "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_cublas", "nvjet_hsh_128x256_TNT",
        "cutlass_80_simt_sgemm_128x64_8x5_nn_align1", "triton_poi_fused_add_relu_0",
        "void cudnn::ops::nchwToNhwcKernel<float>", "void splitKreduce_kernel<32, 16>"}) {
    EXPECT_TRUE(is_library_kernel(name)) << name;
  }
  for (const char* name :
       {"gated_sum_kernel(float const*, float*, int)", "my_softmax", "triton_"}) {
    EXPECT_FALSE(is_library_kernel(name)) << name;
  }
}

TEST(OwnKernelsTest, FillsAndCopiesOfTorchAreMovingKernels) {
  EXPECT_TRUE(
      is_moving_kernel("void at::native::elementwise_kernel<128, 4, at::native::"
                       "direct_copy_kernel_cuda(at::TensorIteratorBase&)>"));
  EXPECT_FALSE(is_moving_kernel("void at::native::reduce_kernel<512, 1, float>"));
  EXPECT_FALSE(is_moving_kernel("my_direct_copy_kernel")) << "a candidate's own";
}

TEST(OwnKernelsTest, TheShareCountsTimeAndExcludesCopies) {
  Profile profile{.self_recorded = true};
  ProfiledKernel copy{.kind = cuda::RecordKind::copy, .name = "copy", .time_us = 2};
  profile.candidate.kernels = {kernel("my_softmax", 6), kernel("at::native::add", 2), copy};
  EXPECT_DOUBLE_EQ(own_share(profile).value(), 0.6);
  EXPECT_THAT(profile_text(profile),
              ::testing::HasSubstr("60 % of the candidate's device time in its own kernels"));
  profile.self_recorded = false;
  EXPECT_FALSE(own_share(profile)) << "a launcher recorded it";
  EXPECT_FALSE(own_share(Profile{.self_recorded = true}));
}

using Json = nlohmann::json;
using ::testing::HasSubstr;

Profile some_profile() {
  Profile profile{.limits = testing::hopper()};
  profile.machine.memory_gbytes_per_s = 4000;
  profile.machine.gflops_per_s = 50'000;
  ProfiledKernel norm = kernel("rms_norm", 8.25, 256, 256, 65, 32);
  norm.static_shared_bytes = 32;
  norm.local_bytes = 16;
  norm.counters = {
      .dram_read_bytes = 6e6, .dram_written_bytes = 2.25e6, .flops = 33e6, .warps_active = 0.351};
  ProfiledKernel gemm = kernel("cutlass::Kernel<gemm>", 12.5, 64, 384, 168, 210'000);
  gemm.start_us = 9;
  ProfiledKernel fill{.kind = cuda::RecordKind::fill, .name = "fill", .start_us = 30, .time_us = 1};
  fill.bytes = 2'000'000;
  profile.candidate.kernels = {norm, gemm, fill};
  profile.eager.kernels = {kernel("elementwise_kernel", 3, 1024), kernel("reduce_kernel", 5, 256),
                           kernel("elementwise_kernel", 4, 1024)};
  gemm.counters = {.dram_read_bytes = 1e6, .flops = 0, .tensor_flops = 5e9, .warps_active = 0.19};
  profile.candidate.kernels[1] = gemm;
  profile.eager.uncounted = "CUPTI error 35 (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)";
  profile.compiled.reason = "torch.compile refused";
  profile.timed.candidate_ms = 0.025;
  profile.timed.eager_ms = 0.05;
  profile.call_bytes = 5e6;
  profile.call_flops = 2e8;
  return profile;
}

TEST(ProfileTextTest, IsShortAndLongestFirst) {
  EXPECT_EQ(profile_text(some_profile()),
            "kernels of one call with cold caches, device time, longest first:\n"
            "candidate: 3 launches, 21.75 us\n"
            "  12.50 us  cutlass::Kernel<gemm> grid 64 block 384: 168 registers, 210000 B shared, "
            "occupancy 19 % by registers (19 % achieved), 0.48 waves; DRAM 1 MB, 80 GB/s (2 %); 0 "
            "TFLOP/s (0 %) and 400 on tensor cores\n"
            "  8.25 us  rms_norm grid 256 block 256: 65 registers, 32 B shared, 16 B local, "
            "occupancy 38 % by registers (35 % achieved), 0.65 waves; DRAM 8.25 MB, 1000 GB/s (25 "
            "%); 4 TFLOP/s (8 %)\n"
            "  1.00 us  fill 2 MB\n"
            "eager: 3 launches, 12.00 us\n"
            "  7.00 us  2 x elementwise_kernel grid 1024 block 256: 32 registers, 0 B shared, "
            "occupancy 100 %, 0.97 waves\n"
            "  5.00 us  reduce_kernel grid 256 block 256: 32 registers, 0 B shared, occupancy 100 "
            "%, 0.24 waves\n"
            "  no counters: CUPTI error 35 (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)\n"
            "torch.compile: torch.compile refused\n"
            "whole call: at least 5 MB in 0.0250 ms is 200 GB/s, 5 % of this GPU's measured 4000 "
            "(bytes of inputs, parameters and outputs)\n");
}

/// With names and numbers of the greatest length.
TEST(ProfileTextTest, StaysWithinItsBytes) {
  Profile profile = some_profile();
  ProfiledKernel longest = kernel("", 123456789.12, 2147483647, 1024, 255, 232448);
  longest.grid = {2147483647, 65535, 65535};
  longest.block = {1024, 1, 64};
  longest.local_bytes = 4'000'000'000;
  longest.counters = {1.23e15, 1.23e15, 1.23e16, 1.23e17, 0.999};
  for (CallKernels* party : {&profile.candidate, &profile.eager, &profile.compiled}) {
    party->kernels.clear();
    for (int i = 0; i < 512; ++i) {
      longest.name = std::string(150, 'k') + std::to_string(i % 20);
      party->kernels.push_back(longest);
    }
    party->uncounted = std::string(5000, 'u');
  }
  const std::string text = profile_text(profile);
  EXPECT_LE(text.size(), profile_text_bytes);
  EXPECT_THAT(text, HasSubstr("\ntorch.compile: 512 launches"));
  for (CallKernels* party : {&profile.candidate, &profile.eager, &profile.compiled}) {
    party->kernels.clear();
    party->reason = std::string(5000, 'r');
  }
  EXPECT_LE(profile_text(profile).size(), profile_text_bytes);
}

TEST(ProfileTextTest, OmitsACallThatWasNotTimed) {
  Profile profile = some_profile();
  profile.timed.candidate_ms.reset();
  EXPECT_THAT(profile_text(profile), ::testing::Not(HasSubstr("whole call")));
}

TEST(ProfileJsonTest, HoldsAllFactsAndNullWhereNothingWasMeasured) {
  const Json json = Json::parse(profile_json(some_profile()));
  const Json& norm = json["candidate"]["kernels"][0];
  EXPECT_EQ(norm["name"], "rms_norm");
  EXPECT_EQ(norm["grid"], Json({256, 1, 1}));
  EXPECT_EQ(norm["occupancy"]["blocks_per_multiprocessor"], 3);
  EXPECT_EQ(norm["occupancy"]["limited_by"], "registers");
  EXPECT_EQ(norm["local_bytes"], 16);
  EXPECT_TRUE(norm["bytes"].is_null());
  EXPECT_EQ(norm["counters"]["dram_written_bytes"], 2.25e6);
  EXPECT_DOUBLE_EQ(norm["counters"]["dram_gbytes_per_s"], 1000);
  EXPECT_DOUBLE_EQ(norm["counters"]["gflops_per_s"], 4000);
  const Json& gemm = json["candidate"]["kernels"][1];
  EXPECT_DOUBLE_EQ(gemm["counters"]["tensor_gflops_per_s"], 400'000);
  EXPECT_TRUE(json["candidate"]["uncounted"].is_null());
  EXPECT_TRUE(json["eager"]["kernels"][0]["counters"].is_null());
  EXPECT_THAT(json["eager"]["uncounted"].get<std::string>(), HasSubstr("PRIVILEGES"));
  const Json& fill = json["candidate"]["kernels"][2];
  EXPECT_EQ(fill["kind"], "fill");
  EXPECT_TRUE(fill["grid"].is_null() && fill["occupancy"].is_null());
  EXPECT_TRUE(json["eager"]["kernels"][0]["local_bytes"].is_null());
  EXPECT_EQ(json["compile"]["reason"], "torch.compile refused");
  EXPECT_TRUE(json["compile"]["total_us"].is_null());
  EXPECT_TRUE(json["call"]["compile_ms"].is_null());
  EXPECT_DOUBLE_EQ(json["call"]["gbytes_per_s"], 200);
  EXPECT_DOUBLE_EQ(json["call"]["gflops_per_s"], 8000);
  EXPECT_EQ(json["device"]["multiprocessors"], 132);
}

TEST(ProfileJsonTest, IsPartOfAVerdictsEvidence) {
  const std::string evidence = with_profile(R"({"seed": "7", "sets": []})", some_profile());
  EXPECT_EQ(Json::parse(evidence)["seed"], "7");
  const auto profile = profile_of_evidence(evidence);
  ASSERT_TRUE(profile);
  EXPECT_EQ(Json::parse(*profile), Json::parse(profile_json(some_profile())));
  EXPECT_FALSE(profile_of_evidence(R"({"seed": "7"})"));
  EXPECT_FALSE(profile_of_evidence("not JSON"));
}

TEST(ProfileTraceTest, HasAProcessPerPartyAndAnEventPerKernel) {
  const auto trace = profile_trace(profile_json(some_profile()));
  ASSERT_TRUE(trace) << trace.error().message;
  const Json json = Json::parse(*trace);
  std::vector<std::string> processes;
  std::vector<Json> complete;
  for (const Json& event : json["traceEvents"]) {
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["ph"] == "X") complete.push_back(event);
  }
  EXPECT_THAT(processes, ::testing::ElementsAre("candidate", "eager", "compile"));
  ASSERT_EQ(complete.size(), 6U);
  const Json& gemm = complete[1];
  EXPECT_EQ(gemm["name"], "cutlass::Kernel<gemm>");
  EXPECT_EQ(gemm["pid"], 1);
  EXPECT_DOUBLE_EQ(gemm["ts"], 9);
  EXPECT_DOUBLE_EQ(gemm["dur"], 12.5);
  EXPECT_EQ(gemm["args"]["registers"], 168);
  EXPECT_EQ(gemm["args"]["counters"]["tensor_flops"], 5e9);
  EXPECT_EQ(complete[3]["pid"], 2);
}

TEST(ProfileTraceTest, OtherJsonIsRefused) {
  for (const char* text : {"", "[]", R"({"candidate": {}})", R"({"candidate": 3})"}) {
    const auto trace = profile_trace(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code, ErrorCode::parse_failed);
  }
}

}  // namespace

}  // namespace warpsmith::sandbox
