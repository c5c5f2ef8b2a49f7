// SPDX-License-Identifier: Apache-2.0
#include "policy/model/threads.hpp"

#include <ATen/Parallel.h>

namespace warpsmith::policy {

void use_threads(int count) {
  (void)at::get_num_threads();  // does what the first parallel work would do
  at::set_num_threads(count);
}

}  // namespace warpsmith::policy
