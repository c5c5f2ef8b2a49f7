// SPDX-License-Identifier: Apache-2.0
// The stack that this program runs on, for the record of a run.
#pragma once

#include "runtime/run/stack_record.hpp"

namespace warpsmith::actors {

/// Host, GPUs, and the versions of what this is built with.
StackRecord full_stack();

}  // namespace warpsmith::actors
