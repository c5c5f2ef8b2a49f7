// SPDX-License-Identifier: Apache-2.0
#include "policy/model/offload.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <utility>

namespace warpsmith::policy {
namespace {

at::Tensor make_chunk(const at::Tensor& like) {
  std::vector<int64_t> shape = like.sizes().vec();
  shape.front() = HostRows::chunk_rows;
  const at::TensorOptions host = at::TensorOptions(at::kCPU).dtype(like.scalar_type());
  return at::empty(shape, like.is_cuda() ? host.pinned_memory(true) : host);
}

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl{device.type()}.getStream(device);
}

LayerInputs contiguous(const LayerInputs& inputs) {
  LayerInputs all{inputs.x.detach().contiguous(), {}};
  if (inputs.output.defined()) all.output = inputs.output.detach().contiguous();
  return all;
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

SideStream::SideStream(at::Device device) : device_(device) {
  if (device.is_cpu()) return;
  stream_ = c10::impl::VirtualGuardImpl{device.type()}.getStreamFromGlobalPool(device);
}

SideStream::Mark SideStream::run(const std::function<void()>& work) const {
  if (!stream_) {
    work();
    return nullptr;
  }
  c10::Event begin{device_.type()};
  begin.record(current_stream(device_));
  begin.block(*stream_);
  {
    const c10::StreamGuard guard{*stream_};
    work();
  }
  auto end = std::make_shared<c10::Event>(device_.type());
  end->record(*stream_);
  return end;
}

void SideStream::join(const Mark& mark) const {
  if (mark) mark->block(current_stream(device_));
}

void LayerStash::push(const LayerInputs& inputs) {
  if (!kept_.empty()) free_newest();
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

/// Frees the GPU memory of the newest inputs for work after their copy.
void LayerStash::free_newest() {
  stream_.join(kept_.back().moved);
  kept_.back().on_device = {};
}

void LayerStash::fetch(Kept& kept) {
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
  if (!kept_.empty()) fetch(kept_.back());
  return std::move(last.on_device);
}

}  // namespace warpsmith::policy
