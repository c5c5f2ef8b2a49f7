// SPDX-License-Identifier: Apache-2.0
#include "policy/model/norm.hpp"

#include <ATen/ops/rms_norm.h>

namespace warpsmith::policy {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return at::rms_norm(x, weight.sizes(), weight, eps);
}

}  // namespace warpsmith::policy
