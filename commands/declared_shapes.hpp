// SPDX-License-Identifier: Apache-2.0
// The sizes of inputs that a task's file declares; `check` and `optimize` judge each. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/task.hpp"

namespace warpsmith::commands {

/// One size of the inputs, as a separate task.
struct DeclaredShape {
  std::string function;  // which declares it: "get_inputs", "get_ragged_inputs", "get_inputs_NAME"
  Task task;             // the operator with this function instead of `get_inputs`
};

/// The shapes that an operator's file declares: `get_inputs` first, then the others in the order of
/// the file. The judge times `get_inputs`, so the two names are exchanged in the text of the
/// others.
std::vector<DeclaredShape> declared_shapes(const Task& task);

}  // namespace warpsmith::commands
