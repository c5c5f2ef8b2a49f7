// SPDX-License-Identifier: Apache-2.0
#include "actors/base/gpu_share.hpp"

#include <fmt/format.h>

#include "actors/base/actor_state.hpp"

namespace warpsmith::actors {
namespace {

std::string name_of(int gpu) {
  const auto driver = cuda::Driver::load();
  const auto gpus = driver ? driver->gpus() : tl::unexpected(driver.error());
  if (!gpus) throw ActorFailure(gpus.error());
  if (gpu >= std::ssize(*gpus)) {
    throw ActorFailure(
        {ErrorCode::unsupported,
         fmt::format("GPU {}: expected less than {}, the number of GPUs here", gpu, gpus->size())});
  }
  return gpu_device((*gpus)[static_cast<size_t>(gpu)]);
}

}  // namespace

std::optional<DeviceShare> open_share(const SharedGpu& shared) {
  if (shared.device.empty() && !shared.gpu) return std::nullopt;
  auto share = DeviceShare::open(shared.folder,
                                 shared.device.empty() ? name_of(*shared.gpu) : shared.device);
  if (!share) throw ActorFailure(share.error());
  return std::move(*share);
}

ShareHold::ShareHold(std::optional<DeviceShare>& share, std::chrono::milliseconds timeout)
    : share_(share) {
  if (!share_) return;
  if (!share_->hold(Deadline::after(timeout))) {
    throw ActorFailure({ErrorCode::timeout, "measurements have kept the GPU busy for too long"});
  }
}

ShareHold::~ShareHold() {
  if (share_) share_->give_back();
}

}  // namespace warpsmith::actors
