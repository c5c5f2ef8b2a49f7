// SPDX-License-Identifier: Apache-2.0
// The hardware and software that this program runs on, for the record of a run.
#pragma once

#include "runtime/run/stack_record.hpp"

namespace warpsmith::commands {

/// The host, its GPUs, and the versions of the libraries that this program is built with.
StackRecord full_stack();

}  // namespace warpsmith::commands
