// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor, kept in host memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace warpsmith::policy {

/// Rows (n, …) in chunks of `chunk_rows`, so that freed host memory fits whatever comes next. The
/// memory of a GPU's rows is pinned. Copies are queued on the current stream; those of a CPU are
/// done at once.
class HostRows {
 public:
  static constexpr int64_t chunk_rows = 2048;

  /// Appends contiguous rows; all have one shape but for n, one type and one device.
  void append(const at::Tensor& rows);
  /// Copies all rows to the first rows of `to`.
  void copy_to(const at::Tensor& to) const;

  int64_t size() const { return size_; }  // rows

 private:
  std::vector<at::Tensor> chunks_;  // (chunk_rows, …) each
  int64_t size_ = 0;
};

}  // namespace warpsmith::policy
