// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace warpsmith::policy {

/// Sets how many threads LibTorch uses for the work of the calling thread, at least 1. A plain
/// `at::set_num_threads` lasts only until the thread's first parallel work, which takes the number
/// that any thread has set last.
void use_threads(int count);

}  // namespace warpsmith::policy
