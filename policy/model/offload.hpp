// SPDX-License-Identifier: Apache-2.0
// Moves tensors from a GPU to host memory and back while the GPU computes: rows of a cache, and the
// layer inputs that a backward pass needs.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace warpsmith::policy {

/// Rows (n, …) in chunks of `chunk_rows`, so that later rows can reuse freed host memory. The
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

/// A second stream of a GPU; its work runs concurrently with the current stream. On a CPU, work
/// runs in place and nothing waits. Tensors that its work reads or writes must live until `join`
/// was called for that work: from then on the current stream's order covers them. Memory that its
/// work allocates may be used and freed after `join`: only later work of this stream reuses it, and
/// that starts after the current stream.
class SideStream {
 public:
  explicit SideStream(at::Device device);

  /// The end of one piece of work; empty on a CPU.
  using Mark = std::shared_ptr<c10::Event>;

  /// Queues `work` after everything that is on the current stream now.
  Mark run(const std::function<void()>& work) const;
  /// Makes the current stream wait for the mark. Does not block this thread.
  void join(const Mark& mark) const;

 private:
  at::Device device_;
  std::optional<c10::Stream> stream_;  // none on a CPU
};

/// The input of a layer (T, H), and the output of its attention (T, heads, d) if it was kept.
struct LayerInputs {
  at::Tensor x;
  at::Tensor output;
};

/// The layer inputs of one forward pass, in host memory until the backward pass needs them; last
/// in, first out. On a GPU the copies run on a separate stream: out while the next layer computes,
/// back while the layer after it does. At most two layers' tensors are on the GPU. Used by one
/// thread at a time.
class LayerStash {
 public:
  explicit LayerStash(at::Device device) : device_(device), stream_(device) {}

  void push(const LayerInputs& inputs);
  /// Returns the newest one and begins to bring back the one before.
  LayerInputs pop();

 private:
  struct Kept {
    LayerInputs on_device;  // during the copy to the host, and once it is back
    HostRows x, output;
    std::array<std::vector<int64_t>, 2> shapes;
    at::ScalarType type = at::kFloat;
    SideStream::Mark moved;  // the end of the latest copy
  };

  void free_newest();
  void fetch(Kept& kept);

  at::Device device_;
  SideStream stream_;
  std::vector<Kept> kept_;
};

}  // namespace warpsmith::policy
