// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/own_kernels.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace warpsmith::sandbox {
namespace {

// Name parts as in torch 2.11 with CUDA 13.
constexpr std::array<std::string_view, 19> library_parts{
    "at::native",  "at::cuda",     "at_cuda_detail", "cublas",      "cudnn",
    "cutlass",     "nvjet",        "xmma_",          "sgemm",       "gemv2",
    "gemvNSP",     "splitKreduce", "convolve_",      "triton_poi_", "triton_red_",
    "triton_per_", "triton_tem_",  "pytorch_flash",  "fmha_"};

constexpr std::array<std::string_view, 4> moving_parts{"FillFunctor", "direct_copy_kernel",
                                                       "CatArrayBatchedCopy", "16_copy_kernel"};

bool has_any(std::string_view name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [name](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace

bool is_library_kernel(std::string_view name) {
  return has_any(name, library_parts);
}

bool is_moving_kernel(std::string_view name) {
  return is_library_kernel(name) && has_any(name, moving_parts);
}

std::optional<double> own_share(const Profile& profile) {
  const double all = total_us(profile.candidate);
  if (!profile.self_recorded || !(all > 0)) return std::nullopt;
  double own = 0;
  for (const ProfiledKernel& kernel : profile.candidate.kernels) {
    const bool launched = kernel.kind == cuda::RecordKind::kernel;
    if (launched && !is_library_kernel(kernel.name)) own += kernel.time_us;
  }
  return own / all;
}

}  // namespace warpsmith::sandbox
