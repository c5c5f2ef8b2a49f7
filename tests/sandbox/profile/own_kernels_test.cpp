// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/own_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace warpsmith::sandbox
