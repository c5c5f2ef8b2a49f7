// SPDX-License-Identifier: Apache-2.0
#include "policy/model/side_stream.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace warpsmith::policy {
namespace {

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl{device.type()}.getStream(device);
}

}  // namespace

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

}  // namespace warpsmith::policy
