// SPDX-License-Identifier: Apache-2.0
#include "policy/model/layer_stash.hpp"

#include <ATen/ops/empty.h>

#include <utility>

namespace warpsmith::policy {
namespace {

LayerInputs contiguous(const LayerInputs& inputs) {
  LayerInputs all{inputs.x.detach().contiguous(), {}};
  if (inputs.output.defined()) all.output = inputs.output.detach().contiguous();
  return all;
}

}  // namespace

void LayerStash::push(const LayerInputs& inputs) {
  if (!kept_.empty()) let_go();
  Kept& kept = kept_.emplace_back();
  kept.on_device = contiguous(inputs);
  kept.type = inputs.x.scalar_type();
  kept.shapes[0] = inputs.x.sizes().vec();
  if (inputs.output.defined()) kept.shapes[1] = inputs.output.sizes().vec();
  kept.moved = stream_.run([&kept] {
    kept.x.append(kept.on_device.x);
    if (kept.on_device.output.defined()) kept.output.append(kept.on_device.output);
  });
}

/// The GPU's memory of the newest one may be used again, behind the copy.
void LayerStash::let_go() {
  stream_.join(kept_.back().moved);
  kept_.back().on_device = {};
}

void LayerStash::bring_back(Kept& kept) {
  const at::TensorOptions options = at::TensorOptions(device_).dtype(kept.type);
  kept.on_device.x = at::empty(kept.shapes[0], options);
  if (kept.output.size() > 0) kept.on_device.output = at::empty(kept.shapes[1], options);
  kept.moved = stream_.run([&kept] {
    kept.x.copy_to(kept.on_device.x);
    if (kept.output.size() > 0) kept.output.copy_to(kept.on_device.output);
  });
}

LayerInputs LayerStash::pop() {
  Kept last = std::move(kept_.back());
  kept_.pop_back();
  stream_.join(last.moved);
  if (!kept_.empty()) bring_back(kept_.back());
  return std::move(last.on_device);
}

}  // namespace warpsmith::policy
