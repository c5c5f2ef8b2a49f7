// SPDX-License-Identifier: Apache-2.0
#include "policy/model/host_rows.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace warpsmith::policy {
namespace {

at::Tensor make_chunk(const at::Tensor& like) {
  std::vector<int64_t> shape = like.sizes().vec();
  shape.front() = HostRows::chunk_rows;
  const at::TensorOptions host = at::TensorOptions(at::kCPU).dtype(like.scalar_type());
  return at::empty(shape, like.is_cuda() ? host.pinned_memory(true) : host);
}

}  // namespace

void HostRows::append(const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  for (int64_t done = 0; done < rows.size(0);) {
    const int64_t at = size_ % chunk_rows;
    if (at == 0) chunks_.push_back(make_chunk(rows));
    const int64_t count = std::min(chunk_rows - at, rows.size(0) - done);
    chunks_.back().narrow(0, at, count).copy_(rows.narrow(0, done, count), /*non_blocking=*/true);
    size_ += count;
    done += count;
  }
}

void HostRows::copy_to(const at::Tensor& to) const {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const int64_t first = static_cast<int64_t>(i) * chunk_rows;
    const int64_t count = std::min(chunk_rows, size_ - first);
    to.narrow(0, first, count).copy_(chunks_[i].narrow(0, 0, count), /*non_blocking=*/true);
  }
}

}  // namespace warpsmith::policy
