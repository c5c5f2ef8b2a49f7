// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using ::testing::ElementsAre;

TEST(ComputingLibrariesTest, ListsEachOnceInOrder) {
  EXPECT_THAT(
      computing_libraries("7f00-7f01 r-xp 0 00:1 1  /env/nvidia/cudnn/lib/libcudnn_ops.so.9\n"
                          "7f02-7f03 r--p 0 00:1 1  /env/nvidia/cudnn/lib/libcudnn_ops.so.9\n"
                          "7f04-7f05 r-xp 0 00:1 2  /tmp/candidate/cuda_extension.so\n"
                          "7f06-7f07 r-xp 0 00:1 3  /usr/lib/libc.so.6\n"
                          "7f08-7f09 rw-p 0 00:0 0  [heap]\n"),
      ElementsAre("libcudnn_ops.so.9"));
}

}  // namespace
}  // namespace warpsmith::sandbox
