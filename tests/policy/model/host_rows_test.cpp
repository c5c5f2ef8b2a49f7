// SPDX-License-Identifier: Apache-2.0
#include "policy/model/host_rows.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

TEST(HostRowsTest, ComeBackInOrderAcrossChunks) {
  constexpr int64_t count = 2 * HostRows::chunk_rows + 100;
  const at::Tensor rows = at::arange(count * 6).view({count, 2, 3});
  HostRows kept;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 1},
                                    {1, HostRows::chunk_rows},
                                    {HostRows::chunk_rows, HostRows::chunk_rows + 50},
                                    {HostRows::chunk_rows + 50, count}}) {
    kept.append(rows.narrow(0, first, last - first));
  }
  EXPECT_EQ(kept.size(), count);
  const at::Tensor back = at::empty({count + 5, 2, 3}, rows.options());
  kept.copy_to(back);
  EXPECT_TRUE(at::equal(back.narrow(0, 0, count), rows));
}

}  // namespace
}  // namespace warpsmith::policy
