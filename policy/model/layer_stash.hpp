// SPDX-License-Identifier: Apache-2.0
// What the layers of one forward pass keep for the backward pass, in host memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

#include "policy/model/host_rows.hpp"
#include "policy/model/side_stream.hpp"

namespace warpsmith::policy {

/// The input of a layer (T, H), and the output of its attention (T, heads, d) if it was kept.
struct LayerInputs {
  at::Tensor x;
  at::Tensor output;
};

/// Last in, first out. On a GPU the copies run on a stream of their own: out while the next layer
/// computes, back while the layer after it does. At most two layers' tensors are on the GPU. Used
/// by one thread at a time.
class LayerStash {
 public:
  explicit LayerStash(at::Device device) : device_(device), stream_(device) {}

  void push(const LayerInputs& inputs);
  /// The newest one; begins to bring back the one before.
  LayerInputs pop();

 private:
  struct Kept {
    LayerInputs on_device;  // while it leaves, and once it comes back
    HostRows x, output;
    std::array<std::vector<int64_t>, 2> shapes;
    at::ScalarType type = at::kFloat;
    SideStream::Mark moved;  // the end of the latest copy
  };

  void let_go();
  void bring_back(Kept& kept);

  at::Device device_;
  SideStream stream_;
  std::vector<Kept> kept_;
};

}  // namespace warpsmith::policy
